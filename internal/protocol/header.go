package protocol

import "encoding/binary"

// HeaderSize is the length of every header in bytes. A frame is a header and size-256 bytes of body.
const HeaderSize = 256

// MaxFrameSizeDefault is the largest frame, header included, that a server accepts by default.
const MaxFrameSizeDefault = 64 << 20

// Command is the kind of a frame (offset 60).
type Command uint8

// Commands. Clients send CommandRequest only; servers answer with CommandReply or CommandEviction. The
// others travel between replicas.
const (
	CommandReserved              Command = 0
	CommandPing                  Command = 1
	CommandPong                  Command = 2
	CommandPingClient            Command = 3
	CommandPongClient            Command = 4
	CommandRequest               Command = 5
	CommandPrepare               Command = 6
	CommandPrepareOk             Command = 7
	CommandReply                 Command = 8
	CommandCommit                Command = 9
	CommandStartViewChange       Command = 10
	CommandDoViewChange          Command = 11
	CommandStartView             Command = 12
	CommandEviction              Command = 13
	CommandReplicaHello          Command = 14
	CommandReplicaChallenge      Command = 15
	CommandReplicaFinish         Command = 16
	CommandRequestStartView      Command = 17
	CommandRequestPrepares       Command = 18
	CommandRepairPrepare         Command = 19
	CommandRepairDone            Command = 20
	CommandRangeEvicted          Command = 21
	CommandRequestStateTransfer  Command = 22
	CommandStateTransferTarget   Command = 23
	CommandRequestStateChunk     Command = 24
	CommandStateChunk            Command = 25
	CommandForwardRegister       Command = 26
	CommandForwardRegisterResult Command = 27
	CommandForwardLogout         Command = 28
	CommandForwardLogoutResult   Command = 29
	CommandNodeHeartbeat         Command = 30
	CommandForwardRequest        Command = 31
	CommandForwardReply          Command = 32
)

var le = binary.LittleEndian

// Header is the first half that all 256-byte headers share; the second half belongs to the command.
//
//	off size field
//	  0   16 checksum        0 on client frames
//	 16   16 checksum_body   0 on client frames
//	 32   16 cluster
//	 48    4 size            whole frame, header included
//	 52    4 view
//	 56    4 release         0
//	 60    1 command
//	 61    1 replica
//	 62   66 reserved        zero; 64..72 holds the partition incarnation on replica frames
type Header [HeaderSize]byte

// Checksum is the frame seal or the identity of a prepare, by command.
func (h *Header) Checksum() Uint128 { return ReadUint128(h[0:]) }

// SetChecksum stores the seal or identity.
func (h *Header) SetChecksum(v Uint128) { v.Put(h[0:]) }

// ChecksumBody is the hash of the body, or 0 where the command defines none.
func (h *Header) ChecksumBody() Uint128 { return ReadUint128(h[16:]) }

// SetChecksumBody stores the hash of the body.
func (h *Header) SetChecksumBody(v Uint128) { v.Put(h[16:]) }

// Cluster is the cluster id; clients send 0.
func (h *Header) Cluster() Uint128 { return ReadUint128(h[32:]) }

// SetCluster stores the cluster id.
func (h *Header) SetCluster(v Uint128) { v.Put(h[32:]) }

// Size is the length of the whole frame in bytes.
func (h *Header) Size() uint32 { return le.Uint32(h[48:]) }

// SetSize stores the length of the whole frame in bytes.
func (h *Header) SetSize(v uint32) { le.PutUint32(h[48:], v) }

// View is the view number of the sender, or of the primary that prepared the operation.
func (h *Header) View() uint32 { return le.Uint32(h[52:]) }

// SetView stores the view number.
func (h *Header) SetView(v uint32) { le.PutUint32(h[52:], v) }

// Release is always 0 today.
func (h *Header) Release() uint32 { return le.Uint32(h[56:]) }

// SetRelease stores the release.
func (h *Header) SetRelease(v uint32) { le.PutUint32(h[56:], v) }

// Command is the kind of the frame.
func (h *Header) Command() Command { return Command(h[60]) }

// SetCommand stores the kind of the frame.
func (h *Header) SetCommand(v Command) { h[60] = byte(v) }

// Replica is the id of the sending replica, or of the primary that prepared the operation.
func (h *Header) Replica() uint8 { return h[61] }

// SetReplica stores the replica id.
func (h *Header) SetReplica(v uint8) { h[61] = v }

// Revision is the incarnation (created revision) of the partition that a replica frame belongs to; 0 on
// the metadata plane and on client frames.
func (h *Header) Revision() uint64 { return le.Uint64(h[64:]) }

// SetRevision stores the incarnation of the partition.
func (h *Header) SetRevision(v uint64) { le.PutUint64(h[64:], v) }

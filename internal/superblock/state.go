package superblock

import (
	"encoding/binary"
	"fmt"

	"github.com/galgolog/galgo/internal/protocol"
)

// stateBytes is the length of the payload. It is part of the format: no other length is read.
const stateBytes = 74

// State is what a replica must still know after a crash.
//
//	off size field
//	  0   16 cluster
//	 16    1 replica id
//	 17    1 replica count
//	 18    4 view
//	 22    4 log view             at most view
//	 26    8 commit max           a lower bound, for reports
//	 34    8 checkpoint op        metadata; 0 in a partition
//	 42   16 checkpoint checksum  metadata; 0 in a partition
//	 58    8 offset frontier      partition; 0 in metadata
//	 66    8 offset reserved      partition; 0 in metadata
type State struct {
	Cluster            protocol.Uint128
	ReplicaID          uint8
	ReplicaCount       uint8
	View               uint32
	LogView            uint32 // never above View
	CommitMax          uint64
	CheckpointOp       uint64 // op of the snapshot that the metadata group was restored from or wrote last
	CheckpointChecksum protocol.Uint128
	OffsetFrontier     uint64 // next offset after the data known to exist
	OffsetReserved     uint64 // end of the offsets that may have been handed out
}

var le = binary.LittleEndian

// append adds the payload to b.
func (s *State) append(b []byte) []byte {
	b = appendUint128(b, s.Cluster)
	b = append(b, s.ReplicaID, s.ReplicaCount)
	b = le.AppendUint32(b, s.View)
	b = le.AppendUint32(b, s.LogView)
	b = le.AppendUint64(b, s.CommitMax)
	b = le.AppendUint64(b, s.CheckpointOp)
	b = appendUint128(b, s.CheckpointChecksum)
	b = le.AppendUint64(b, s.OffsetFrontier)
	return le.AppendUint64(b, s.OffsetReserved)
}

func appendUint128(b []byte, v protocol.Uint128) []byte {
	return le.AppendUint64(le.AppendUint64(b, v.Lo), v.Hi)
}

// decodeState reads a payload of exactly stateBytes.
func decodeState(b []byte) (State, error) {
	if len(b) != stateBytes {
		return State{}, &LengthError{Found: len(b), Supported: stateBytes}
	}
	s := State{
		Cluster:            protocol.ReadUint128(b[0:]),
		ReplicaID:          b[16],
		ReplicaCount:       b[17],
		View:               le.Uint32(b[18:]),
		LogView:            le.Uint32(b[22:]),
		CommitMax:          le.Uint64(b[26:]),
		CheckpointOp:       le.Uint64(b[34:]),
		CheckpointChecksum: protocol.ReadUint128(b[42:]),
		OffsetFrontier:     le.Uint64(b[58:]),
		OffsetReserved:     le.Uint64(b[66:]),
	}
	return s, s.validate()
}

// validate refuses a record that would make every peer drop this replica's votes.
func (s *State) validate() error {
	if s.LogView > s.View {
		return &LogViewError{View: s.View, LogView: s.LogView}
	}
	return nil
}

// CheckIdentity compares the record with what the node was configured as. A difference is an
// *IdentityError naming the field.
func (s *State) CheckIdentity(cluster protocol.Uint128, replicaID, replicaCount uint8) error {
	switch {
	case s.Cluster != cluster:
		return &IdentityError{Field: "cluster", Expected: cluster.String(), Found: s.Cluster.String()}
	case s.ReplicaID != replicaID:
		return &IdentityError{Field: "replica id", Expected: fmt.Sprint(replicaID), Found: fmt.Sprint(s.ReplicaID)}
	case s.ReplicaCount != replicaCount:
		return &IdentityError{Field: "replica count", Expected: fmt.Sprint(replicaCount), Found: fmt.Sprint(s.ReplicaCount)}
	}
	return nil
}

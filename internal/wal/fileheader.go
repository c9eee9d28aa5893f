package wal

import (
	"github.com/zeebo/xxh3"

	"github.com/galgolog/galgo/internal/protocol"
)

const (
	fileMagic       = 0x4C415747 // bytes "GWAL"
	fileVersion     = 1
	fileHeaderBytes = 64
	fileHashOff     = 56
	counterMax      = 1 << 62 // beyond what any life can count to, so that sums never wrap
)

// fileHeader heads journal.wal and, twice, journal.mirror:
//
//	off size field
//	  0    4 magic   "GWAL"
//	  4    2 version 1
//	  6    2 zero
//	  8   16 cluster
//	 24    1 replica
//	 25    3 zero
//	 28    4 slots   mirror: number of header slots; journal: 0
//	 32    8 epoch   random, not 0; of the journal
//	 40    8 counter journal: batch before the first record; mirror: number of the head, the higher counts
//	 48    8 acked   mirror: acked head; journal: 0
//	 56    8 XXH3-64 of bytes 0 to 56
type fileHeader struct {
	cluster   protocol.Uint128
	replica   uint8
	slots     uint32
	epoch     uint64
	counter   uint64
	ackedHead uint64
}

func (h *fileHeader) encode() []byte {
	b := make([]byte, fileHeaderBytes)
	le.PutUint32(b, fileMagic)
	le.PutUint16(b[4:], fileVersion)
	h.cluster.Put(b[8:])
	b[24] = h.replica
	le.PutUint32(b[28:], h.slots)
	le.PutUint64(b[32:], h.epoch)
	le.PutUint64(b[40:], h.counter)
	le.PutUint64(b[48:], h.ackedHead)
	le.PutUint64(b[fileHashOff:], xxh3.Hash(b[:fileHashOff]))
	return b
}

// decodeFileHeader reads a header of 64 bytes. Damage is a *HeaderError, another version a *VersionError;
// both name file.
func decodeFileHeader(file string, b []byte) (fileHeader, error) {
	damaged := func(reason string) (fileHeader, error) {
		return fileHeader{}, &HeaderError{File: file, Reason: reason}
	}
	switch {
	case len(b) != fileHeaderBytes:
		return damaged("too short")
	case le.Uint32(b) != fileMagic:
		return damaged("magic does not fit")
	case le.Uint64(b[fileHashOff:]) != xxh3.Hash(b[:fileHashOff]):
		return damaged("hash does not fit")
	case le.Uint16(b[4:]) != fileVersion:
		return fileHeader{}, &VersionError{File: file, Found: le.Uint16(b[4:]), Supported: fileVersion}
	case le.Uint16(b[6:]) != 0 || b[25]|b[26]|b[27] != 0:
		return damaged("reserved bytes are set")
	}
	h := fileHeader{
		cluster: protocol.ReadUint128(b[8:]), replica: b[24], slots: le.Uint32(b[28:]),
		epoch: le.Uint64(b[32:]), counter: le.Uint64(b[40:]), ackedHead: le.Uint64(b[48:]),
	}
	if h.epoch == 0 {
		return damaged("epoch is 0")
	}
	if h.counter > counterMax {
		return damaged("counter is out of range")
	}
	return h, nil
}

// checkOwner refuses files of another cluster or replica.
func (h *fileHeader) checkOwner(file string, o *Options) error {
	if h.cluster != o.Cluster || h.replica != o.Replica {
		return &OwnerError{
			File: file, Cluster: h.cluster, Replica: h.replica, ExpectedCluster: o.Cluster, ExpectedReplica: o.Replica,
		}
	}
	return nil
}

package shardlog

import (
	"fmt"

	"github.com/zeebo/xxh3"

	"github.com/galgolog/galgo/internal/protocol"
)

const (
	fileMagic       = 0x534C5747 // bytes "GWLS"
	headMagic       = 0x44485747 // bytes "GWHD"
	formatVersion   = 1
	fileHeaderBytes = 4096
	headBytes       = 64
)

// fileHeader is the first page of a file; records begin behind it:
//
//	 off size field
//	   0    4 magic    "GWLS"
//	   4    2 version  1
//	   6    2 shard
//	   8   16 cluster
//	  24    1 replica
//	  25    7 zero
//	  32    8 number   equals the name
//	  40    8 epoch    random, not 0, of this use of the file
//	  48    8 life
//	  56   16 boot id  of the machine, zero when not known
//	  72    8 number of the predecessor, 0 for the first file of the log
//	  80    8 byte at which the records of the predecessor end, 0 without one
//	  88    8 unproven life
//	  96    8 last batch before this file
//	 104 3984 zero
//	4088    8 XXH3-64 of bytes 0 to 4088
type fileHeader struct {
	shard        uint16
	cluster      protocol.Uint128
	replica      uint8
	number       uint64
	epoch        uint64
	life         uint64
	bootID       [16]byte
	prevNumber   uint64
	prevEnd      uint64
	unprovenLife uint64
	prevBatch    uint64
}

func (h *fileHeader) encode() []byte {
	b := make([]byte, fileHeaderBytes)
	le.PutUint32(b, fileMagic)
	le.PutUint16(b[4:], formatVersion)
	le.PutUint16(b[6:], h.shard)
	h.cluster.Put(b[8:])
	b[24] = h.replica
	copy(b[56:], h.bootID[:])
	for off, v := range map[int]uint64{
		32: h.number, 40: h.epoch, 48: h.life, 72: h.prevNumber, 80: h.prevEnd, 88: h.unprovenLife, 96: h.prevBatch,
	} {
		le.PutUint64(b[off:], v)
	}
	le.PutUint64(b[fileHeaderBytes-8:], xxh3.Hash(b[:fileHeaderBytes-8]))
	return b
}

// decodeFileHeader reads the header of file. A damaged one is a plain error that says what is wrong, one of
// another version a *VersionError.
func decodeFileHeader(file string, b []byte) (fileHeader, error) {
	if len(b) != fileHeaderBytes || le.Uint32(b) != fileMagic {
		return fileHeader{}, fmt.Errorf("has no header")
	}
	if le.Uint64(b[fileHeaderBytes-8:]) != xxh3.Hash(b[:fileHeaderBytes-8]) {
		return fileHeader{}, fmt.Errorf("has a damaged header")
	}
	if v := le.Uint16(b[4:]); v != formatVersion {
		return fileHeader{}, &VersionError{File: file, Found: v, Supported: formatVersion}
	}
	u64 := func(off int) uint64 { return le.Uint64(b[off:]) }
	h := fileHeader{
		shard: le.Uint16(b[6:]), cluster: protocol.ReadUint128(b[8:]), replica: b[24], number: u64(32), epoch: u64(40),
		life: u64(48), bootID: [16]byte(b[56:72]), prevNumber: u64(72), prevEnd: u64(80), unprovenLife: u64(88),
		prevBatch: u64(96),
	}
	switch {
	case zeroOrError(b[25:32]) != nil || zeroOrError(b[104:fileHeaderBytes-8]) != nil:
		return h, fmt.Errorf("has reserved bytes set in its header")
	case h.epoch == 0 || h.number == 0 || h.life == 0:
		return h, fmt.Errorf("has a header without epoch, number or life")
	case max(h.number, h.life, h.unprovenLife, h.prevBatch, h.prevEnd) > counterMax || h.prevNumber >= h.number:
		return h, fmt.Errorf("has numbers out of range in its header")
	case h.prevNumber > 0 && h.prevEnd < fileHeaderBytes:
		return h, fmt.Errorf("says that its predecessor ends at byte %d", h.prevEnd)
	}
	return h, nil
}

// head tells which files a log consists of:
//
//	off size field
//	  0    4 magic   "GWHD"
//	  4    2 version 1
//	  6    2 shard
//	  8    8 newest  number of the active file
//	 16    8 epoch   of the active file
//	 24    8 oldest  number of the oldest file still needed
//	 32    8 life    of the process that wrote it
//	 40    8 unproven life
//	 48    8 zero
//	 56    8 XXH3-64 of bytes 0 to 56
type head struct {
	shard        uint16
	newest       uint64
	epoch        uint64
	oldest       uint64
	life         uint64
	unprovenLife uint64
}

func (h *head) encode() []byte {
	b := make([]byte, headBytes)
	le.PutUint32(b, headMagic)
	le.PutUint16(b[4:], formatVersion)
	le.PutUint16(b[6:], h.shard)
	le.PutUint64(b[8:], h.newest)
	le.PutUint64(b[16:], h.epoch)
	le.PutUint64(b[24:], h.oldest)
	le.PutUint64(b[32:], h.life)
	le.PutUint64(b[40:], h.unprovenLife)
	le.PutUint64(b[56:], xxh3.Hash(b[:56]))
	return b
}

// decodeHead reads a head, with errors as decodeFileHeader.
func decodeHead(file string, b []byte) (head, error) {
	if len(b) != headBytes || le.Uint32(b) != headMagic || le.Uint64(b[56:]) != xxh3.Hash(b[:56]) {
		return head{}, fmt.Errorf("is damaged")
	}
	if v := le.Uint16(b[4:]); v != formatVersion {
		return head{}, &VersionError{File: file, Found: v, Supported: formatVersion}
	}
	h := head{
		shard: le.Uint16(b[6:]), newest: le.Uint64(b[8:]), epoch: le.Uint64(b[16:]), oldest: le.Uint64(b[24:]),
		life: le.Uint64(b[32:]), unprovenLife: le.Uint64(b[40:]),
	}
	if le.Uint64(b[48:]) != 0 || h.oldest == 0 || h.oldest > h.newest || max(h.newest, h.life, h.unprovenLife) > counterMax {
		return h, fmt.Errorf("has values out of range")
	}
	return h, nil
}

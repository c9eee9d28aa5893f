package shardlog

import (
	"errors"
	"fmt"
	"io"

	"github.com/zeebo/xxh3"

	"github.com/galgolog/galgo/internal/batch"
	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/wal"
)

// checkPrepare verifies that h can head a prepare of the group and is what its identity says.
func checkPrepare(h *protocol.PrepareHeader, group protocol.GroupID, payloadBytes int64) error {
	c := h.Common()
	switch {
	case c.Command() != protocol.CommandPrepare:
		return fmt.Errorf("command is %d", c.Command())
	case int64(c.Size()) != payloadBytes:
		return fmt.Errorf("its header says %d bytes, it has %d", c.Size(), payloadBytes)
	case h.Op() == 0 || h.Op() > counterMax:
		return fmt.Errorf("op is %d", h.Op())
	case protocol.GroupID(h.Group()) != group:
		return fmt.Errorf("its header names group %s", protocol.GroupID(h.Group()))
	case !h.VerifyIdentity():
		return errors.New("identity checksum does not fit")
	}
	return nil
}

// checkBody verifies the body of a prepare whose header passed checkPrepare. The header of a batch is bound by
// the body checksum, its messages by the checksum of the batch.
func checkBody(h *protocol.PrepareHeader, body []byte) error {
	hashed := body
	if h.Operation() == protocol.OpSendMessages {
		if code := batch.VerifyStored(body); code != protocol.Success {
			return fmt.Errorf("batch does not verify: code %d", code)
		}
		hashed = body[:batch.HeaderSize]
	}
	if h.Common().ChecksumBody() != protocol.Uint128From64(xxh3.Hash(hashed)) {
		return errors.New("body checksum does not fit")
	}
	return nil
}

// checkPayload verifies what can be known about the payload of any kind by itself.
func checkPayload(kind wal.Kind, group protocol.GroupID, payload []byte) error {
	var err error
	switch kind {
	case wal.KindPrepare:
		h := (*protocol.PrepareHeader)(payload)
		if err = checkPrepare(h, group, int64(len(payload))); err == nil {
			err = checkBody(h, payload[protocol.HeaderSize:])
		}
	case wal.KindCheckpoint, wal.KindInstalled:
		_, err = DecodeCheckpoint(payload)
	case wal.KindTruncate:
		_, err = decodeTruncate(payload)
	case wal.KindAdopted:
		_, err = decodeAdopted(payload)
	case wal.KindLocal:
		_, err = decodeLocal(payload)
	case wal.KindAccepted:
		_, err = decodeAccepted(payload)
	}
	return err
}

// recordReader reads the records of one use of a file.
type recordReader struct {
	wal.Window
	epoch uint64
}

// errBeyond is why a record that does not fit does not count.
var errBeyond = errors.New("it does not fit into the file")

// head reads the head at pos and verifies its hash. What passes was written by the owner of the log in this use
// of the file. reason says why it does not count; err is a *KindError or an error of reading.
func (r *recordReader) head(pos int64) (h wal.RecordHead, reason, err error) {
	b, err := r.Bytes(pos, wal.RecordHeadBytes)
	if errors.Is(err, io.EOF) {
		return h, errBeyond, nil
	}
	if err != nil {
		return h, nil, err
	}
	h, reason = wal.DecodeRecordHead(b, r.epoch)
	var unknown *wal.KindError
	isUnknown := errors.As(reason, &unknown)
	if reason != nil && !isUnknown {
		return h, reason, nil
	}
	hashed := int64(h.PayloadBytes)
	if h.Kind == wal.KindPrepare {
		hashed = protocol.HeaderSize
	}
	if pos+wal.RecordHeadBytes+hashed > r.Size {
		return h, errBeyond, nil
	}
	if b, err = r.Bytes(pos, wal.RecordHeadBytes+int(hashed)); err != nil {
		return h, nil, err
	}
	switch {
	case !wal.VerifyRecordHash(b, b[wal.RecordHeadBytes:]):
		return h, errors.New("hash of the record head does not fit"), nil
	case isUnknown:
		return h, nil, &KindError{File: r.Name, Position: pos, Found: h.Kind}
	}
	return h, nil, nil
}

// record reads the record at pos and verifies all of it. The payload is valid until the next call.
func (r *recordReader) record(pos int64) (h wal.RecordHead, payload []byte, reason, err error) {
	h, reason, err = r.head(pos)
	if reason != nil || err != nil {
		return h, nil, reason, err
	}
	if pos+h.Span() > r.Size {
		return h, nil, errBeyond, nil
	}
	b, err := r.Bytes(pos, wal.RecordHeadBytes+int(h.PayloadBytes))
	if err != nil {
		return h, nil, nil, err
	}
	payload = b[wal.RecordHeadBytes:]
	return h, payload, checkPayload(h.Kind, protocol.GroupID(h.Group), payload), nil
}

// mayBegin reports whether the bytes at pos look like a record of this use of the file, cheaply.
func (r *recordReader) mayBegin(pos int64) (bool, error) {
	b, err := r.Bytes(pos, wal.RecordHeadBytes)
	if errors.Is(err, io.EOF) {
		return false, nil
	}
	return err == nil && wal.IsRecordOf(b, r.epoch), err
}

// next finds the next position at or behind pos, in steps of the alignment, where accept says yes to an intact
// head; -1 when there is none.
func (r *recordReader) next(pos int64, accept func(pos int64, h *wal.RecordHead) (bool, error)) (int64, error) {
	for ; pos+wal.RecordHeadBytes <= r.Size; pos += wal.RecordAlign {
		likely, err := r.mayBegin(pos)
		if err != nil {
			return -1, err
		}
		if !likely {
			continue
		}
		h, reason, err := r.head(pos)
		if err != nil {
			return -1, err
		}
		if reason != nil {
			continue
		}
		if yes, err := accept(pos, &h); yes || err != nil {
			return pos, err
		}
	}
	return -1, nil
}

// provenSynced reports whether a record behind pos was built when batch was known to be synced.
func (r *recordReader) provenSynced(pos int64, batch uint64) (bool, error) {
	at, err := r.next(pos, func(_ int64, h *wal.RecordHead) (bool, error) { return h.Synced >= batch, nil })
	return at >= 0, err
}

// resume finds the next record behind damage that verifies whole and belongs to batch or a later one; -1 for none.
func (r *recordReader) resume(pos int64, batch uint64) (int64, error) {
	return r.next(pos, func(pos int64, h *wal.RecordHead) (bool, error) {
		if h.Batch < batch {
			return false, nil
		}
		_, _, reason, err := r.record(pos)
		return reason == nil && err == nil, err
	})
}

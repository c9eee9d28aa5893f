package wal

import (
	"errors"
	"fmt"

	"github.com/zeebo/xxh3"

	"github.com/galgolog/galgo/internal/protocol"
)

// EntryMaxBytes is the largest entry, header included, that the format allows.
const EntryMaxBytes = 64 << 20

// Entry is one prepared operation: a sealed header and its body. The journal keeps neither.
type Entry struct {
	Header *protocol.PrepareHeader
	Body   []byte
}

// checkHeader verifies that h can head an entry of the metadata journal and is what its identity says.
func checkHeader(h *protocol.PrepareHeader) error {
	c := h.Common()
	switch {
	case c.Command() != protocol.CommandPrepare:
		return fmt.Errorf("command is %d", c.Command())
	case c.Size() < protocol.HeaderSize || c.Size() > EntryMaxBytes:
		return fmt.Errorf("size is %d", c.Size())
	case h.Op() == 0:
		return errors.New("op is 0")
	case h.Operation().IsPartition():
		return fmt.Errorf("%s is an operation of a partition", h.Operation())
	case !h.VerifyIdentity():
		return errors.New("identity checksum does not fit")
	}
	return nil
}

// checkBody verifies the body of a header that passed checkHeader.
func checkBody(h *protocol.PrepareHeader, body []byte) error {
	switch {
	case int(h.Common().Size()) != protocol.HeaderSize+len(body):
		return fmt.Errorf("size is %d with a body of %d bytes", h.Common().Size(), len(body))
	case h.Common().ChecksumBody() != protocol.Uint128From64(xxh3.Hash(body)):
		return errors.New("body checksum does not fit")
	}
	return nil
}

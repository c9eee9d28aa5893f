package vsr

import (
	"errors"
	"fmt"
)

// ErrUnreconcilable says that an append failed on a primary after its prepare may have reached a peer or
// became committed: memory is ahead of the log and only a restart can derive the truth again.
var ErrUnreconcilable = errors.New("log frontier unreconcilable")

// ErrSuperblockWedged says that too many superblock writes in a row have failed.
var ErrSuperblockWedged = errors.New("superblock wedged")

// ErrViewsExhausted says that the view counter cannot be raised any more.
var ErrViewsExhausted = errors.New("view counter exhausted")

// DivergedError says that this replica has applied another operation than the group at an op. Only the state
// of another replica can help.
type DivergedError struct{ Op uint64 }

func (e *DivergedError) Error() string {
	return fmt.Sprintf("op %d was applied here with another content than in the group; "+
		"the state of this replica must be replaced by that of another one", e.Op)
}

// ChainError says that a recovered entry does not continue the log.
type ChainError struct {
	Op   uint64 // op of the entry
	Want uint64 // op that was expected; equal to Op when the parent does not match
}

func (e *ChainError) Error() string {
	if e.Op != e.Want {
		return fmt.Sprintf("recovered log: op %d where op %d is next", e.Op, e.Want)
	}
	return fmt.Sprintf("recovered log: op %d does not chain to the op before", e.Op)
}

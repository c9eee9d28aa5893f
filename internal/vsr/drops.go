package vsr

import "strconv"

// DropReason says why a frame or a completion was not acted upon. The zero value means that it was.
type DropReason uint8

// Drop reasons: first those of CheckFrame, which belong to a link, then those of a Replica.
const (
	DropNone           DropReason = iota
	DropSize                      // size field, frame and limit do not agree
	DropCommand                   // not a command that replicas exchange
	DropSeal                      // frame seal or identity does not verify
	DropBodyChecksum              // body checksum does not verify
	DropInvalid                   // a field breaks the rule of its command
	DropReserved                  // a reserved byte is not zero
	DropCluster                   // frame of another cluster
	DropSender                    // sender id out of range, our own, or not the peer of the link
	DropGroup                     // frame of another group
	DropRevision                  // frame of another incarnation of the partition
	DropUnsupported               // command that this replica does not act upon
	DropBroken                    // the replica has stopped or is broken
	DropStatus                    // not in a status that acts on the command
	DropRole                      // addressed to a role that this replica does not have
	DropOldView                   // view below ours
	DropNewerView                 // view above ours; the view was noted
	DropApplied                   // operation already applied
	DropDivergent                 // another identity than the one held at this op
	DropGap                       // operation beyond the next one
	DropParent                    // operation that does not chain to the head
	DropWindow                    // no room between what is applied and the head
	DropDuplicate                 // acknowledgement already counted
	DropUnknownOp                 // acknowledgement of an op that is not in flight
	DropStaleHeartbeat            // heartbeat counter not above the last one
	DropCompletion                // completion that nobody waits for
	DropUnasked                   // answer to a request that is not under way
	DropStale                     // StartView that may be older than what this replica has acknowledged
	dropReasons
)

var dropNames = [dropReasons]string{
	"none", "size", "command", "seal", "body checksum", "invalid", "reserved", "cluster", "sender", "group",
	"revision", "unsupported", "broken", "status", "role", "old view", "newer view", "applied", "divergent",
	"gap", "parent", "window", "duplicate", "unknown op", "stale heartbeat", "completion",
	"unasked", "stale",
}

// String returns the label of the reason, for counters.
func (d DropReason) String() string {
	if d < dropReasons {
		return dropNames[d]
	}
	return "drop reason " + strconv.Itoa(int(d))
}

// Dropped returns how many frames and completions this replica has dropped for a reason.
func (r *Replica) Dropped(reason DropReason) uint64 {
	if reason >= dropReasons {
		return 0
	}
	return r.drops[reason]
}

func (r *Replica) drop(reason DropReason) { r.drops[reason]++ }

// Package metadata is the replicated state machine of the metadata group: streams, topics, partitions,
// users, permissions, personal access tokens, consumer groups and the table of client sessions.
//
// State is the owner's side. It implements vsr.StateMachine and vsr.Sessions, is called by one owner at a
// time and has no locks. Apply is total: every committed operation, whatever its body, ends in a success or
// in a rejection that all replicas compute alike. It reads no clock, draws no random number and lets no map
// order decide anything: what is random or slow (password hashes, token secrets, the set of partitions with
// uncommitted polls) is made by Admit before an operation is proposed and travels in its body.
//
// View is the readers' side: an immutable picture of everything but the client table, made by State.View
// in O(1). Entities are immutable and shared between pictures; a change copies the entity, its parents and
// a path of tree nodes. Any number of goroutines may read a View for as long as they like.
//
// Ids. Streams, topics, users and group members take the lowest free number, partitions continue after the
// highest existing one, consumer groups count up and never reuse a number while their topic lives. All of
// it is a function of the replicated state, so a restored replica allocates like the others.
//
// Permissions are evaluated inside Apply, in log order, against the state just before the operation, and by
// the serving node for reads and partition operations. Access is one table for both.
//
// What the host has to act on comes out of State.Drain (partitions touched, sessions ended, memberships
// lost) and View.Handovers. They are wake-ups: the View is the truth, and a host that lost one compares its
// groups with the View.
package metadata

// Package vsr is the consensus core: one Replica is one member of one group and speaks Viewstamped
// Replication (Liskov and Cowling, 2012) with the corrections that docs/replication.md lists.
//
// The package is sans-IO. Inputs arrive by method call (Propose, Step, Tick, Done, Resume), everything
// that must happen outside comes back as Effects. It starts no goroutine, reads no clock, draws no random
// number, opens no file or socket, and no map iteration decides an output: the same inputs in the same
// order give the same effects.
//
// Durable before visible: whatever may only leave once a record is durable stays inside the Replica until
// the completion of that record comes back, carrying the values that were written. The host cannot send it
// early because it does not have it.
//
// A Replica is called by one owner at a time and has no locks. It imports neither the metadata nor the
// partition state machine; StateMachine and Sessions are what it needs of them.
package vsr

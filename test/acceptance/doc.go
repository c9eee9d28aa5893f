// Package acceptance holds the behaviours that users of the protocol rely on, one test each, asked of a real
// server over TCP.
package acceptance

// Package server puts a whole server together from a configuration: a node on a data directory, the sessions
// of its clients and the doors they come through. The command line runs it; tests start it in-process.
package server

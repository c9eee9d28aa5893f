// Package process runs the real server as a process: it builds the program once, starts it on a data
// directory of its own and on free loopback ports, waits until it says where it listens, and stops, kills and
// restarts it. Black-box suites see nothing of the server but its ports, its files, its log and its exit code.
//
// A test package calls Main from its TestMain. Every server belongs to a test: it is killed when the test
// ends, a failing test shows the end of its log and how to run it again, and a server that panicked fails its
// test whatever the test itself found.
package process

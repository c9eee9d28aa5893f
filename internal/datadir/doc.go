// Package datadir owns the data directory as a whole: where things lie in it, that one process at a time uses
// it, and the runtime file that tells others where the server listens. The formats of what lies in it belong
// to the packages that write them.
//
// Open takes the directory for this process with an advisory lock that the operating system releases when the
// process ends, however it ends. Everything that changes the directory happens after that: wiping it included.
package datadir

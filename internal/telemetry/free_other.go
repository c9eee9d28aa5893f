//go:build !(linux || darwin)

package telemetry

// freeBytes does not know this operating system.
func freeBytes(string) (uint64, bool) { return 0, false }

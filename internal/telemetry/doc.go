// Package telemetry is how a running server speaks to people and tools: structured log lines on standard
// output and in a rotated file, and a registry of counters, gauges and histograms.
//
// Logging wraps log/slog. Lines have one fixed form (described in line.go) because programs search them. A line
// is formatted by the goroutine that logs and written by another one, so that a reader of standard output who
// stopped reading, or a slow disk, never holds up consensus; when too many lines wait, the newest are dropped
// and counted. Close writes what waits.
//
// Metrics are updated with one or a few atomic operations and never allocate. The registry lists them in a
// stable order; what exports them lives elsewhere.
package telemetry

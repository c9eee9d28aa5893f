// Package bench measures: the machine (Calibrate) and a running server (the workloads), in the same
// minutes and with the same arithmetic, so that a result is a ratio and not a number that only today's
// machine explains.
//
// Calibrate starts a stand-in broker in a process of its own that does the least a broker can do:
// receive, hash, append to a file in 256 KiB chunks, acknowledge; or read and answer. Its rows are the
// ceiling that a workload is divided by.
//
// The workloads are those of the protocol's reference benchmark, with its options and defaults
// (pinned-producer, pinned-consumer, ...), and four of our own: single messages with one in flight,
// single messages pipelined, and two that send at a fixed rate and count latency from the moment a send
// was due, so that a stall of the server is charged to every message it delayed.
//
// Every workload reports two sets of figures. The wall-clock figures are bytes and messages over the time
// from first to last, with percentiles over all samples. The reference figures are computed as the
// reference benchmark does (mean of smoothed 10 ms buckets summed over actors, means of the actors'
// percentiles), because published numbers of that benchmark can only be compared with those. MB and GB
// are 10^6 and 10^9 bytes of payload.
package bench

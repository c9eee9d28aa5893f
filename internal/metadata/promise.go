package metadata

// Promise is what the acknowledgement of a message means on a topic. It follows from the options and never changes
// in the life of a topic.
type Promise uint8

// Promises.
const (
	// PromiseWritten: the message is in the log file, in the page cache of the machine.
	PromiseWritten Promise = iota
	// PromiseSynced: the log was fsynced after the message was written.
	PromiseSynced
)

// Promise returns what an acknowledgement means on a topic with these options.
func (o *TopicOptions) Promise() Promise {
	if o.EnforceFsync() {
		return PromiseSynced
	}
	return PromiseWritten
}

// StandardPromise is the promise of a topic that asks for nothing.
func StandardPromise() Promise {
	o := standardOptions()
	return o.Promise()
}

// String is the promise in one word, for labels: "written" or "synced".
func (p Promise) String() string {
	if p == PromiseSynced {
		return "synced"
	}
	return "written"
}

// Words is the promise in a sentence for people, without a full stop. Everything that shows a topic shows these
// words; docs/durability.md has the table behind them.
func (p Promise) Words() string {
	if p == PromiseSynced {
		return "acknowledged after fsync: survives a killed process and a loss of power"
	}
	return "acknowledged once written to the page cache: survives a killed process, not a loss of power"
}

// Promises counts the topics of each promise.
func (v *View) Promises() (written, synced int) {
	for s := range v.Streams() {
		for t := range s.Topics() {
			if t.Options.Promise() == PromiseSynced {
				synced++
			} else {
				written++
			}
		}
	}
	return written, synced
}

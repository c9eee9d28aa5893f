package telemetry

import (
	"errors"
	"io"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// linesWaitingMax bounds the lines that wait to be written; beyond it new ones are dropped and counted.
const linesWaitingMax = 8192

// Logging owns the log output of the process. It starts in buffering mode: lines wait until Start says where
// they go. It is safe for use from any goroutine.
type Logging struct {
	filter  atomic.Pointer[Filter]
	console io.Writer
	color   bool

	mu      sync.Mutex // guards the fields below, for a few lines at a time
	waiting []record
	dropped int
	started bool
	closed  bool

	wake chan struct{} // holds at most one token: there is something to do
	done chan struct{} // closed when the writer has ended
	file *logFile      // owned by the writer
}

// NewLogging makes a logging that buffers. Console is standard output; with color it gets ANSI colours.
// Everything is kept until Start applies the filter.
func NewLogging(console io.Writer, color bool) *Logging {
	l := &Logging{console: console, color: color, wake: make(chan struct{}, 1), done: make(chan struct{})}
	l.filter.Store(&Filter{base: LevelTrace, lowest: LevelTrace})
	return l
}

// Logger gives a logger that writes here.
func (l *Logging) Logger() *slog.Logger { return slog.New(&handler{logging: l, thread: "main"}) }

// Start opens the file, if there is one, writes what was buffered and goes on writing until Close. A nil file
// means standard output only. It may be called once.
func (l *Logging) Start(filter Filter, file *FileOptions) error {
	if file != nil {
		opened, err := openLogFile(*file)
		if err != nil {
			return err
		}
		l.file = opened
	}
	l.filter.Store(&filter)
	l.mu.Lock()
	kept := l.waiting[:0]
	for _, r := range l.waiting {
		if filter.Allows(r.target, r.level) {
			kept = append(kept, r)
		}
	}
	l.waiting, l.started = kept, true
	l.mu.Unlock()
	l.signal()
	go l.write()
	return nil
}

// put queues a line, or drops it when too many wait.
func (l *Logging) put(r record) {
	l.mu.Lock()
	if l.closed || len(l.waiting) >= linesWaitingMax {
		l.dropped++
		l.mu.Unlock()
		return
	}
	l.waiting = append(l.waiting, r)
	l.mu.Unlock()
	l.signal()
}

func (l *Logging) signal() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// take hands over everything that waits.
func (l *Logging) take(reuse []record) (lines []record, dropped int, closed bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	lines, dropped, closed = l.waiting, l.dropped, l.closed
	clear(reuse)
	l.waiting, l.dropped = reuse[:0], 0
	return lines, dropped, closed
}

// write is the writer: the only goroutine that touches the destinations.
func (l *Logging) write() {
	defer close(l.done)
	maintenance := time.NewTicker(l.file.checkInterval())
	defer maintenance.Stop()
	var lines []record
	var out []byte
	for {
		select {
		case <-l.wake:
		case now := <-maintenance.C:
			if warning := l.file.maintain(now); warning != "" {
				l.put(l.own(slog.LevelWarn, warning))
			}
			continue
		}
		var dropped int
		var closed bool
		lines, dropped, closed = l.take(lines)
		if dropped > 0 {
			r := l.own(slog.LevelWarn, "log lines were dropped because the output is slow")
			r.fields = " count=" + strconv.Itoa(dropped)
			r.console = r.fields
			lines = append(lines, r)
		}
		out = l.writeLines(lines, out[:0])
		if closed {
			return
		}
	}
}

// writeLines writes one batch to both destinations. Failures have nowhere to be reported and are ignored: the
// server outlives its log.
func (l *Logging) writeLines(lines []record, out []byte) []byte {
	for i := range lines {
		out = lines[i].appendConsole(out, l.color)
	}
	_, _ = l.console.Write(out)
	if l.file == nil {
		return out
	}
	now := time.Now()
	for i := range lines {
		out = lines[i].appendPlain(out[:0])
		l.file.line(out, now)
	}
	l.file.flush()
	return out
}

// own is a line of the logging itself.
func (l *Logging) own(level slog.Level, message string) record {
	return record{at: time.Now(), level: level, thread: "main", target: module + "::telemetry", message: message}
}

// ErrStalled says that the destination of the log did not take what was left to write.
var ErrStalled = errors.New("log output stalled")

// closeTimeout bounds how long a reader of standard output that stopped reading can hold up the end.
const closeTimeout = 2 * time.Second

// Close writes what waits and closes the file; lines that come later are lost. What was only buffered, because
// Start was never called, is lost too. It gives ErrStalled after two seconds without success.
func (l *Logging) Close() error {
	l.mu.Lock()
	started, again := l.started, l.closed
	l.closed = true
	l.mu.Unlock()
	if !started || again {
		return nil
	}
	l.signal()
	stalled := time.NewTimer(closeTimeout)
	defer stalled.Stop()
	select {
	case <-l.done:
		return l.file.close()
	case <-stalled.C:
		return ErrStalled
	}
}

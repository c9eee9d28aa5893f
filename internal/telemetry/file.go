package telemetry

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// FileOptions say where the log file is and how it is kept small.
type FileOptions struct {
	Path          string        // of the live file; archives are Path.1, Path.2, the lowest number is the newest
	MaxFileBytes  uint64        // the file is rotated before a line would exceed it; 0: one file without a limit
	MaxTotalBytes uint64        // live file and archives; 0: no limit
	CheckInterval time.Duration // between two clean-ups; 0: one hour
	Retention     time.Duration // archives that were not written for so long are deleted; 0: never
	FreeBytesWarn uint64        // a warning below so much free space; 0: 10 MB
}

const (
	rotationInterval   = time.Hour
	archivesMax        = 100_000
	freeBytesWarnUsual = 10_000_000
	logFileMode        = 0o640
	logBufferBytes     = 64 << 10
)

// logFile is the live log file. It belongs to the writer of Logging; a nil *logFile is no file.
type logFile struct {
	options FileOptions
	file    *os.File
	out     *bufio.Writer
	size    uint64
	since   time.Time // of the live file
}

func openLogFile(o FileOptions) (*logFile, error) {
	f := &logFile{options: o}
	if err := f.open(time.Now()); err != nil {
		return nil, fmt.Errorf("log file open: %w", err)
	}
	f.clean(time.Now())
	return f, nil
}

func (f *logFile) open(now time.Time) error {
	file, err := os.OpenFile(f.options.Path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, logFileMode)
	if err != nil {
		return err
	}
	info, err := file.Stat()
	if err != nil {
		return errors.Join(err, file.Close())
	}
	f.file, f.size, f.since = file, uint64(info.Size()), now
	f.out = bufio.NewWriterSize(file, logBufferBytes)
	return nil
}

// line adds a line, rotating first where it would not fit or an hour has passed.
func (f *logFile) line(text []byte, now time.Time) {
	limit := f.options.MaxFileBytes
	full := f.size > 0 && f.size+uint64(len(text)) > limit
	old := f.size > 0 && now.Sub(f.since) >= rotationInterval
	if limit > 0 && (full || old) {
		f.rotate()
	}
	if f.file == nil && f.open(now) != nil {
		return
	}
	n, _ := f.out.Write(text)
	f.size += uint64(n)
}

func (f *logFile) flush() {
	if f.file != nil {
		_ = f.out.Flush()
	}
}

// rotate shifts the archives by one, the live file becoming the first. The next line opens a new live file,
// and where that fails the line after it tries again.
func (f *logFile) rotate() {
	f.flush()
	if f.file != nil {
		_ = f.file.Close()
		f.file = nil
	}
	keep := f.archivesKept()
	numbers := f.archives()
	for _, n := range slices.Backward(numbers) {
		if n >= keep {
			_ = os.Remove(f.archive(n))
			continue
		}
		_ = os.Rename(f.archive(n), f.archive(n+1))
	}
	_ = os.Rename(f.options.Path, f.archive(1))
	f.size = 0
}

// archivesKept is how many archives fit into the total beside a full live file, but at least one.
func (f *logFile) archivesKept() int {
	if f.options.MaxTotalBytes == 0 {
		return archivesMax
	}
	files := f.options.MaxTotalBytes / max(f.options.MaxFileBytes, 1)
	return int(min(max(files, 2)-1, archivesMax))
}

func (f *logFile) archive(n int) string { return f.options.Path + "." + strconv.Itoa(n) }

// archives lists the numbers of the archives, the newest first.
func (f *logFile) archives() []int {
	entries, err := os.ReadDir(filepath.Dir(f.options.Path))
	if err != nil {
		return nil
	}
	var numbers []int
	for _, entry := range entries {
		text, ok := strings.CutPrefix(entry.Name(), filepath.Base(f.options.Path)+".")
		if n, err := strconv.ParseUint(text, 10, 31); ok && err == nil && n > 0 && strconv.FormatUint(n, 10) == text {
			numbers = append(numbers, int(n))
		}
	}
	slices.Sort(numbers)
	return numbers
}

// maintain cleans up and looks at the free space. The result is a warning, or empty.
func (f *logFile) maintain(now time.Time) string {
	if f == nil {
		return ""
	}
	f.clean(now)
	threshold := f.options.FreeBytesWarn
	if threshold == 0 {
		threshold = freeBytesWarnUsual
	}
	free, ok := freeBytes(filepath.Dir(f.options.Path))
	if ok && free < threshold {
		return fmt.Sprintf("only %d bytes are free for logs", free)
	}
	return ""
}

// clean deletes archives that are too old, then the oldest ones until the total fits. The live file stays.
func (f *logFile) clean(now time.Time) {
	total := f.size
	kept := f.archives()
	sizes := make(map[int]uint64, len(kept))
	kept = slices.DeleteFunc(kept, func(n int) bool {
		info, err := os.Stat(f.archive(n))
		if err != nil {
			return true
		}
		if f.options.Retention > 0 && now.Sub(info.ModTime()) > f.options.Retention {
			return remove(f.archive(n))
		}
		sizes[n] = uint64(info.Size())
		total += sizes[n]
		return false
	})
	if f.options.MaxTotalBytes == 0 {
		return
	}
	for _, n := range slices.Backward(kept) {
		if total <= f.options.MaxTotalBytes {
			return
		}
		if remove(f.archive(n)) {
			total -= sizes[n]
		}
	}
}

// remove says whether the file is gone.
func remove(path string) bool {
	err := os.Remove(path)
	return err == nil || errors.Is(err, fs.ErrNotExist)
}

func (f *logFile) checkInterval() time.Duration {
	if f == nil || f.options.CheckInterval <= 0 {
		return time.Hour
	}
	return f.options.CheckInterval
}

func (f *logFile) close() error {
	if f == nil || f.file == nil {
		return nil
	}
	return errors.Join(f.out.Flush(), f.file.Close())
}

package session

import (
	"archive/zip"
	"bytes"
	"cmp"
	"compress/flate"
	"io"
	"os"
	"runtime"
	"slices"
	"time"

	"github.com/galgolog/galgo/internal/metadata"
	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/protocol/command"
)

// clients lists the connections of this node, ascending by id.
func (s *Server) clients() []*metadata.ConnectedClient {
	var all []*metadata.ConnectedClient
	s.each(func(ss *session) { all = append(all, ss.connected()) })
	slices.SortFunc(all, func(a, b *metadata.ConnectedClient) int { return cmp.Compare(a.ID, b.ID) })
	return all
}

// stats collects the statistics of command 10.
func (s *Server) stats(view *metadata.View) command.Stats {
	sum := view.Totals(s)
	u := s.usage.read(s.o.DataPath)
	host, err := os.Hostname()
	if err != nil {
		host = "unknown_hostname"
	}
	s.mu.Lock()
	clients := len(s.conns)
	s.mu.Unlock()
	return command.Stats{
		ProcessID: uint32(os.Getpid()), CPUUsage: u.cpu, TotalCPUUsage: u.totalCPU, MemoryUsage: u.resident,
		TotalMemory: u.totalMemory, Available: u.availableMemory, RunTime: uint64(time.Since(s.started).Microseconds()),
		StartTime: uint64(s.started.UnixMicro()), ReadBytes: u.readBytes, WrittenBytes: u.writtenBytes,
		MessagesBytes: sum.SizeBytes, Streams: uint32(view.StreamsCount()), Topics: uint32(view.TopicsCount()),
		Partitions: uint32(view.PartitionsCount()), Segments: sum.SegmentsCount, Messages: sum.MessagesCount,
		Clients: uint32(clients), Groups: uint32(view.GroupsCount()), Hostname: host, OSName: runtime.GOOS,
		OSVersion: u.osVersion, Kernel: u.kernel, ServerVersion: protocol.ServerVersion,
		ServerVersionNumber: protocol.ServerVersionNumber, Threads: u.threads, FreeDisk: u.freeDisk, TotalDisk: u.totalDisk,
	}
}

// Sections and compressions of a diagnostic archive.
const (
	sectionAll         = 100
	compressionStored  = 1
	compressionDeflate = 2
	compressionMax     = 6
)

// allSections is what section 100 stands for.
var allSections = []byte{1, 2, 3, 5, 6}

// makeArchive builds the ZIP of command 11, one at a time. A section that cannot be collected is left out.
func (s *Server) makeArchive(req command.Snapshot) ([]byte, protocol.Code) {
	sections := req.Sections
	for _, sec := range sections {
		if sec == sectionAll && len(sections) > 1 || sec != sectionAll && (sec < 1 || sec > 6) {
			return nil, protocol.CodeInvalidCommand
		}
	}
	if req.Compression < compressionStored || req.Compression > compressionMax {
		return nil, protocol.CodeInvalidCommand
	}
	if len(sections) == 1 && sections[0] == sectionAll {
		sections = allSections
	}
	if !s.archive.TryLock() {
		return nil, protocol.CodeSnapshotFileCompletionFailed
	}
	defer s.archive.Unlock()
	var buf bytes.Buffer
	z := zip.NewWriter(&buf)
	z.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) { return flate.NewWriter(w, flate.BestSpeed) })
	method := zip.Deflate
	if req.Compression == compressionStored {
		method = zip.Store
	}
	for _, sec := range sections {
		if s.o.Archive == nil {
			break
		}
		name, content, err := s.o.Archive(sec)
		if err != nil {
			s.o.Log.Warn("archive section left out", "section", sec, "error", err)
			continue
		}
		w, err := z.CreateHeader(&zip.FileHeader{Name: name, Method: method, Modified: time.Now()})
		if err == nil {
			_, err = w.Write(content)
		}
		if err != nil {
			return nil, protocol.CodeSnapshotFileCompletionFailed
		}
	}
	if err := z.Close(); err != nil || buf.Len()+protocol.HeaderSize > s.o.MaxFrameBytes {
		return nil, protocol.CodeSnapshotFileCompletionFailed
	}
	return buf.Bytes(), protocol.Success
}

package segment

import (
	"fmt"
	"path"
	"strconv"
	"strings"
)

// Suffixes of the files of a partition directory.
const (
	logSuffix     = ".log"
	indexSuffix   = ".index"
	anchorSuffix  = ".anchor"
	stagingSuffix = ".staging"
)

// nameDigits is the width of a start offset in a name; it holds any 64-bit number.
const nameDigits = 20

// LogName is the name of the log of the segment that begins at offset start.
func LogName(start uint64) string { return stem(start) + logSuffix }

// IndexName is the name of the index beside that log.
func IndexName(start uint64) string { return stem(start) + indexSuffix }

// AnchorName is the name of the anchor beside that log.
func AnchorName(start uint64) string { return stem(start) + anchorSuffix }

// LogStagingName and IndexStagingName are what a received segment is called until it is installed.
// Recovery removes such files.
func LogStagingName(start uint64) string   { return LogName(start) + stagingSuffix }
func IndexStagingName(start uint64) string { return IndexName(start) + stagingSuffix }

func stem(start uint64) string { return fmt.Sprintf("%0*d", nameDigits, start) }

// parseStem reads a start offset. Only the form that stem writes is taken: any other spelling would name a
// second file for the same segment.
func parseStem(s string) (uint64, bool) {
	if len(s) != nameDigits || strings.TrimLeft(s, "0123456789") != "" {
		return 0, false
	}
	v, err := strconv.ParseUint(s, 10, 64)
	return v, err == nil
}

func logPath(dir string, start uint64) string    { return path.Join(dir, LogName(start)) }
func indexPath(dir string, start uint64) string  { return path.Join(dir, IndexName(start)) }
func anchorPath(dir string, start uint64) string { return path.Join(dir, AnchorName(start)) }

package bench

import (
	"fmt"
	"os"
	"strconv"
	"testing"

	"go.uber.org/goleak"
)

// TestMain lets this test binary play the stand-in process.
func TestMain(m *testing.M) {
	if len(os.Args) == 6 && os.Args[1] == standInCommand {
		pollBytes, err := strconv.ParseInt(os.Args[5], 10, 64)
		if err == nil {
			err = runStandIn(os.Args[3], pollBytes, os.Stdin, os.Stdout)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	// A stand-in built with the race detector would rest a second before it leaves.
	os.Setenv("GORACE", "atexit_sleep_ms=0 "+os.Getenv("GORACE"))
	goleak.VerifyTestMain(m)
}

package cli

import (
	"github.com/spf13/cobra"

	"github.com/galgolog/galgo/internal/bench"
)

// newBench is the measuring tool.
func newBench(*program) *cobra.Command { return bench.Command() }

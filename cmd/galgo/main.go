// Command galgo is the server and its command line.
package main

import (
	"os"

	"github.com/galgolog/galgo/internal/cli"
)

func main() { os.Exit(cli.Main(os.Args, os.Stdout, os.Stderr)) }

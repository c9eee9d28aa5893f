// Command galgo is the server and its command line.
package main

import (
	"os"

	"github.com/galgolog/galgo/internal/cli"
	"github.com/galgolog/galgo/internal/server"
)

func main() {
	os.Exit(cli.Main(os.Args, os.Stdout, os.Stderr, cli.WithServe(server.Serve, server.Build)))
}

// Package cli is the command line of galgo: one file for each subcommand, put together by Root.
//
// Without a subcommand, and under the name iggy-server, the program is the server. Results go to standard
// output and diagnostics to standard error, one line each. Exit codes are those in exit.go.
//
// A subcommand is a function that takes the environment of the program and returns a *cobra.Command; it is
// registered by its line in subcommands.
package cli

// Package config turns the configuration file, the environment and the command line into one checked tree.
//
// Every key is one row of a table (keys_*.go) that carries its type, default, range and explanation. The same
// row drives loading, checking, the printed effective configuration and docs/configuration.md, so that none
// of them can disagree. Relations between keys are rows of the rules tables (rules*.go).
//
// Sources, later ones win: compiled defaults, one TOML file, IGGY_* variables, GALGO_* variables. Values are
// parsed by the type of their key whatever the source. All problems are reported at once, as Refusals, each
// with its key, its source and what to do. Unknown keys and variables are warnings with a suggestion, except
// inside [cluster], where a misspelt key could split a cluster and therefore refuses the boot.
//
// The package reads files and looks at nothing else of the machine. A loaded Config is not changed any more
// and may be read from any goroutine.
package config

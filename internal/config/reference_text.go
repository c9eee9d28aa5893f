package config

const referenceIntro = `# Configuration

This page is generated from the table of keys; run ` + "`go test ./internal/config -rewrite`" + ` after changing it.
` + "`galgo config default`" + ` prints the defaults as a file, ` + "`galgo config check`" + ` checks what the server would use.

## Sources

Later ones win.

1. The defaults below.
2. One TOML file: ` + "`--config`" + `, else the variable ` + "`GALGO_CONFIG_PATH`" + ` or ` + "`IGGY_CONFIG_PATH`" + `, else ` + "`./galgo.toml`" + `.
   The file of the flag must exist; a missing file of the variable is a warning.
3. Environment variables with the prefix ` + "`IGGY_`" + `.
4. Environment variables with the prefix ` + "`GALGO_`" + `.

A file named by ` + "`GALGO_ENV_PATH`" + ` or ` + "`IGGY_ENV_PATH`" + `, else ` + "`./.env`" + `, adds variables that the process does not have.

The variable of a key is its path in capitals with underscores: ` + "`system.memory_pool.size`" + ` is ` + "`GALGO_SYSTEM_MEMORY_POOL_SIZE`" + `.
Elements of a list have their index in the name: ` + "`GALGO_CLUSTER_NODES_0_PORTS_TCP`" + `. One such variable replaces the
whole list of the file. Lists of strings are written ` + "`[a, \"b,c\"]`" + `. An empty variable counts as unset.

Unknown keys and variables are warnings with a suggestion; inside ` + "`[cluster]`" + ` unknown keys refuse the start. A start that
is refused names every problem at once, one line each, with the key, its source and what to do, and exits 1.

## Values

A *duration* is one or more whole numbers with a unit (` + "`30s`, `1h 30m`, `7 days`" + `) or ` + "`0`, `unlimited`, `disabled`, `none`" + ` for zero;
units go from ns, us, ms, s, m, h over days and weeks to months (30.44 days) and years (365.25 days).
A *size* is a number of bytes or a number with a unit: ` + "`KB MB GB TB PB EB`" + ` are powers of 1000, ` + "`KiB MiB GiB TiB PiB EiB`" + ` powers
of 1024. A lower-case ` + "`b`" + ` counts bits, which draws a warning. An *expiry* is a duration or ` + "`never_expire`" + `.
`

const referenceRoster = `
An enabled cluster has 1 to 32 nodes with unique names, ids from 0 without gaps and unique ` + "`ip:port`" + ` pairs. Two nodes may not
tell any client the same host and port. Replica addresses that are not all loopback need ` + "`cluster.auth`" + `, unless
` + "`cluster.insecure`" + ` is true. ` + "`--replica-id`" + ` names the node; outside a cluster it is 0 or absent.

Folders are below the data directory and distinct. TLS is refused by builds that do not have it.
`

const referenceOutside = `
## Variables without a key

Each exists with both prefixes.

| Variable | Meaning |
| --- | --- |
| ` + "`CONFIG_PATH`, `ENV_PATH`" + ` | see above |
| ` + "`DISPLAY_CONFIG`" + ` | anything but ` + "`1` or `true`" + ` keeps the effective configuration out of the log |
| ` + "`ROOT_USERNAME`, `ROOT_PASSWORD`" + ` | the first user, 3 to 50 and 3 to 100 bytes, both or neither. A single node without them makes a password up and shows it once; the first start of a cluster node without them is refused |
| ` + "`RUST_LOG`" + ` (no prefix) | the log filter, wins over ` + "`system.logging.level`" + ` |
| ` + "`NO_COLOR`" + ` (no prefix) | no colours on standard output |
`

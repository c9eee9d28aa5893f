package config

import (
	"bytes"
	"fmt"
	"strings"
)

// Setting is one key with its value as people may see it.
type Setting struct{ Key, Value string }

// Settings lists every key with its value, lists of tables included, in the order of the documentation.
// Secrets are masked.
func (c *Config) Settings() []Setting {
	settings := make([]Setting, 0, len(keyTable))
	for i := range keyTable {
		settings = append(settings, Setting{keyTable[i].path, keyTable[i].shown(c)})
	}
	for i := range c.HTTP.JWT.TrustedIssuers {
		settings = elementSettings(settings, issuersPath, i, issuerKeys, &c.HTTP.JWT.TrustedIssuers[i])
	}
	if !c.Cluster.Enabled {
		return settings
	}
	for i := range c.Cluster.Nodes {
		n := &c.Cluster.Nodes[i]
		settings = elementSettings(settings, nodesPath, i, nodeKeys, n)
		for j := range n.AdvertisedAddresses {
			at := fmt.Sprintf("%s[%d].%s", nodesPath, i, advertisedName)
			settings = elementSettings(settings, at, j, advertisedKeys, &n.AdvertisedAddresses[j])
		}
	}
	return settings
}

func elementSettings[C any](settings []Setting, list string, index int, keys []key[C], element *C) []Setting {
	for i := range keys {
		settings = append(settings, Setting{elementPath(list, index, keys[i].path), keys[i].at.text(element)})
	}
	return settings
}

// TOML writes the whole effective configuration as a file that Load reads back to the same Config. Secrets
// are left out.
func (c *Config) TOML() []byte {
	w := tomlWriter{}
	writeTables(&w, "", keyTable, c)
	for i := range c.HTTP.JWT.TrustedIssuers {
		w.element(issuersPath)
		writeTables(&w, issuersPath, issuerKeys, &c.HTTP.JWT.TrustedIssuers[i])
	}
	for i := range c.Cluster.Nodes {
		n := &c.Cluster.Nodes[i]
		w.element(nodesPath)
		writeTables(&w, nodesPath, nodeKeys, n)
		for j := range n.AdvertisedAddresses {
			w.element(nodesPath + "." + advertisedName)
			writeTables(&w, nodesPath+"."+advertisedName, advertisedKeys, &n.AdvertisedAddresses[j])
		}
	}
	return w.out.Bytes()
}

// DefaultTOML is the configuration file that says what is compiled in, with the explanation of every key.
// Keys that are absent by default are commented out.
func DefaultTOML() []byte {
	w := tomlWriter{explain: true}
	w.out.WriteString("# The defaults of galgo. Keep what you change, leave out the rest.\n")
	cfg := Default()
	writeTables(&w, "", keyTable, cfg)
	for i := range cfg.Cluster.Nodes {
		w.explain = i == 0
		w.element(nodesPath)
		writeTables(&w, nodesPath, nodeKeys, &cfg.Cluster.Nodes[i])
	}
	return w.out.Bytes()
}

// tomlWriter writes keys below the headers of their tables.
type tomlWriter struct {
	out     bytes.Buffer
	table   string
	explain bool
}

func (w *tomlWriter) header(table string) {
	if table == w.table {
		return
	}
	w.table = table
	fmt.Fprintf(&w.out, "\n[%s]\n", table)
}

func (w *tomlWriter) element(list string) {
	w.table = list
	fmt.Fprintf(&w.out, "\n[[%s]]\n", list)
}

// writeTables writes the rows in an order in which no table is opened twice: the row order, with the keys of a
// table before those of the tables in it.
func writeTables[C any](w *tomlWriter, base string, keys []key[C], c *C) {
	for _, table := range tablesOf(keys) {
		full := strings.Trim(base+"."+table, ".")
		for i := range keys {
			k := &keys[i]
			if tableOf(k.path) == table {
				writeKey(w, full, k, c)
			}
		}
	}
}

func writeKey[C any](w *tomlWriter, table string, k *key[C], c *C) {
	literal := k.at.toml(c)
	if k.secret && !w.explain || literal == "" && !w.explain || literal == "" && k.def == "" {
		return
	}
	name := k.path[strings.LastIndexByte(k.path, '.')+1:]
	w.header(table)
	if w.explain {
		fmt.Fprintf(&w.out, "# %s\n", k.note())
	}
	if literal == "" {
		fmt.Fprintf(&w.out, "# %s = %s\n", name, quote(k.def))
		return
	}
	fmt.Fprintf(&w.out, "%s = %s\n", name, literal)
}

// note is the explanation of a row with its range.
func (k *key[C]) note() string {
	note := k.doc
	if accepts := k.accepts(); accepts != "" && accepts != "not empty" {
		note += " (" + accepts + ")"
	}
	if k.ignored != "" {
		note += "; accepted without effect: " + k.ignored
	}
	return note
}

func tableOf(path string) string {
	return path[:max(strings.LastIndexByte(path, '.'), 0)]
}

// tablesOf lists the tables of the rows in the order of their first row.
func tablesOf[C any](keys []key[C]) []string {
	var tables []string
	for i := range keys {
		if table := tableOf(keys[i].path); !contains(tables, table) {
			tables = append(tables, table)
		}
	}
	return tables
}

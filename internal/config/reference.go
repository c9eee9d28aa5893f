package config

import (
	"bytes"
	"fmt"
	"strings"
)

// Reference is the documentation of every key as Markdown: the text of docs/configuration.md.
func Reference() []byte {
	var out bytes.Buffer
	out.WriteString(referenceIntro)
	for _, table := range tablesOf(keyTable) {
		fmt.Fprintf(&out, "\n## `[%s]`\n\n", table)
		referenceTable(&out, table)
	}
	referenceList(&out, nodesPath, "the members of a cluster; the default has two example nodes on 127.0.0.1", nodeKeys)
	referenceList(&out, nodesPath+"[]."+advertisedName,
		"what clients of certain networks are told; the longest prefix wins, then `advertised_address`, then `ip`; at most 16",
		advertisedKeys)
	referenceList(&out, issuersPath, "foreign issuers whose tokens are accepted", issuerKeys)
	out.WriteString("\n## Rules between keys\n\n| Key | Checked when | Rule |\n| --- | --- | --- |\n")
	for i := range ruleTable {
		r := &ruleTable[i]
		fmt.Fprintf(&out, "| `%s` | %s | %s |\n", r.key, codeOr(r.when, "always"), r.says)
	}
	out.WriteString(referenceRoster)
	out.WriteString("\n## Removed keys\n\nTheir presence refuses the start, in a file or in the environment.\n\n" +
		"| Key | Use instead |\n| --- | --- |\n")
	for _, removed := range removedKeys {
		fmt.Fprintf(&out, "| `%s` | %s |\n", removed.path, orText(removed.instead, "nothing"))
	}
	out.WriteString(referenceOutside)
	return out.Bytes()
}

func referenceTable(out *bytes.Buffer, table string) {
	out.WriteString("| Key | Type | Default | Accepted | Meaning |\n| --- | --- | --- | --- | --- |\n")
	for i := range keyTable {
		k := &keyTable[i]
		if tableOf(k.path) != table {
			continue
		}
		accepted := k.accepts()
		if k.when != "" && accepted != "" {
			accepted += " (checked when `" + k.when + "`)"
		}
		fmt.Fprintf(out, "| `%s` | %s | %s | %s | %s |\n", k.path[strings.LastIndexByte(k.path, '.')+1:],
			k.at.kind, referenceDefault(k), accepted, referenceMeaning(k))
	}
}

func referenceDefault[C any](k *key[C]) string {
	text := k.def
	switch {
	case k.unset:
		return "unset (" + text + ")"
	case text == "":
		return "empty"
	}
	return "`" + text + "`"
}

func referenceMeaning[C any](k *key[C]) string {
	meaning := k.doc
	if k.secret {
		meaning += "; secret, never written or logged"
	}
	if k.ignored != "" {
		meaning += "; **accepted without effect**: " + k.ignored
	}
	if k.ours {
		meaning += "; galgo only"
	}
	return strings.ReplaceAll(meaning, "|", "\\|")
}

func referenceList[C any](out *bytes.Buffer, path, what string, keys []key[C]) {
	fmt.Fprintf(out, "\n## `[[%s]]`\n\nA list: %s.\n\n| Field | Type | Required | Meaning |\n| --- | --- | --- | --- |\n",
		strings.ReplaceAll(path, "[]", ""), what)
	for i := range keys {
		k := &keys[i]
		required := "no"
		if k.required {
			required = "yes"
		}
		fmt.Fprintf(out, "| `%s` | %s | %s | %s |\n", k.path, k.at.kind, required, k.doc)
	}
}

func codeOr(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return "`" + text + "`"
}

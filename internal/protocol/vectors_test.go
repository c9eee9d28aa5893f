package protocol_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// vector is one golden vector: bytes, and what they mean.
type vector struct {
	Name        string
	Direction   string
	Description string
	Code        uint32
	Operation   uint8
	Len         *int
	Hex         string
	Fields      fields
	bytes       []byte

	Algorithm string // of hashes.json
	Digest    string
	Note      string
	InputHex  string `json:"input_hex"`
}

// fields maps the names used in the vectors to values that marshal to the JSON found there.
type fields map[string]any

// vectorFiles says how many vectors each file has. A file or a vector more or less fails the test, so that
// none can be added without being proven.
var vectorFiles = map[string]int{
	"session.json": 13, "metadata.json": 5, "partition.json": 19, "malformed.json": 11, "commands.json": 81, "hashes.json": 10,
}

func vectorsOf(t *testing.T, file string) []vector {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	var doc struct{ Vectors []vector }
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&doc); err != nil {
		t.Fatal(err)
	}
	for i := range doc.Vectors {
		v := &doc.Vectors[i]
		if v.bytes, err = hex.DecodeString(v.Hex); err != nil {
			t.Fatalf("%s: %v", v.Name, err)
		}
		if v.Len != nil && *v.Len != len(v.bytes) {
			t.Errorf("%s: %d bytes, says %d", v.Name, len(v.bytes), *v.Len)
		}
	}
	return doc.Vectors
}

// proveAll runs prove on every vector of a file and counts them.
func proveAll(t *testing.T, file string, prove func(t *testing.T, v vector)) {
	t.Helper()
	proven := 0
	for _, v := range vectorsOf(t, file) {
		t.Run(v.Name, func(t *testing.T) { prove(t, v) })
		proven++
	}
	if proven != vectorFiles[file] {
		t.Errorf("%s: %d vectors proven of %d", file, proven, vectorFiles[file])
	}
}

// expect compares every field that the vector lists with the decoded one. sdk_error is the text of a client
// library; the tests of replies use whether there is one.
func (v vector) expect(t *testing.T, got fields) {
	t.Helper()
	for name, want := range v.Fields {
		if name == "sdk_error" {
			continue
		}
		value, ok := got[name]
		if !ok {
			t.Errorf("field %s is not decoded", name)
		} else if g, w := asJSON(t, value), asJSON(t, want); g != w {
			t.Errorf("field %s: %s, want %s", name, g, w)
		}
	}
}

// expectBytes compares what was encoded with the vector.
func (v vector) expectBytes(t *testing.T, got []byte) {
	t.Helper()
	if !bytes.Equal(got, v.bytes) {
		t.Errorf("encoded\n%x\nwant\n%x", got, v.bytes)
	}
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func (f fields) add(more fields) fields {
	for k, v := range more {
		f[k] = v
	}
	return f
}

func TestVectors_EveryFileIsKnown(t *testing.T) {
	names, err := filepath.Glob("testdata/*.json")
	if err != nil {
		t.Fatal(err)
	}
	if len(names) != len(vectorFiles) {
		t.Errorf("%d files, %d known", len(names), len(vectorFiles))
	}
	for _, name := range names {
		if _, ok := vectorFiles[filepath.Base(name)]; !ok {
			t.Errorf("%s is not proven", name)
		}
	}
}

func TestVectors_EveryCodecIsUsed(t *testing.T) {
	used := map[string]bool{}
	for file := range vectorFiles {
		for _, v := range vectorsOf(t, file) {
			used[v.Name] = true
		}
	}
	for _, codecs := range []map[string]codec{frameBodies, replyBodies} {
		for name := range codecs {
			if !used[name] {
				t.Errorf("codec %s has no vector", name)
			}
		}
	}
}

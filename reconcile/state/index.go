package state

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"maps"
	"slices"
	"strings"

	"aisync.dev/aisync/reconcile/fsys"
)

// Index stands in for record files that need not be read: it holds the part of
// each that other owners read. It is a cache, valid for a file while its stamp
// is the indexed one, and rebuilt from the files if it is missing or damaged.
// Its file has a first line, then for each record file a line "name TAB stamp"
// and, for each part, a line "key TAB value", both in JSON.
type Index struct {
	bytes  []byte // of its file; nil where there is none that counts
	files  map[string]Indexed
	values map[string][]json.RawMessage // of files, by key; nil: to be made
}

// Indexed is what an index holds of one file.
type Indexed struct {
	Stamp string // see fsys.Stamp
	lines []string
}

// indexHead is the first line of an index.
type indexHead struct {
	FormatVersion int    `json:"format_version"`
	CRC32         uint32 `json:"crc32"` // of all lines after it
}

// indexVersion is the format of the index. One of another version is made anew.
const indexVersion = 1

// ReadIndex reads the index of d. A damaged one counts as none.
func (d *Dir) ReadIndex() *Index {
	x := &Index{files: map[string]Indexed{}}
	b, err := d.r.ReadFile(d.index())
	if err != nil {
		return x
	}
	first, rest, _ := bytes.Cut(b, []byte("\n"))
	var head indexHead
	if json.Unmarshal(first, &head) != nil || head.FormatVersion != indexVersion || head.CRC32 != crc32.ChecksumIEEE(rest) {
		return x
	}
	x.bytes = b
	name := ""
	for line := range strings.Lines(string(rest)) {
		line = strings.TrimSuffix(line, "\n")
		f := x.files[name]
		if strings.HasPrefix(line, `"`) {
			f.lines = append(f.lines, line)
		} else {
			name, f.Stamp, _ = strings.Cut(line, "\t")
			f.lines = nil
		}
		x.files[name] = f
	}
	return x
}

// Stamp returns the indexed stamp of the file name, "" if x does not stand in
// for it.
func (x *Index) Stamp(name string) string { return x.files[name].Stamp }

// Names returns the files that x stands in for, sorted.
func (x *Index) Names() []string { return slices.Sorted(maps.Keys(x.files)) }

// Drop forgets the file name, which was read or is no longer as it was indexed.
func (x *Index) Drop(name string) {
	if _, ok := x.files[name]; ok {
		delete(x.files, name)
		x.values = nil
	}
}

// byKey returns what the files hold, by key in JSON.
func (x *Index) byKey() map[string][]json.RawMessage {
	if x.values == nil {
		x.values = map[string][]json.RawMessage{}
		for _, f := range x.files {
			for _, line := range f.lines {
				key, value, _ := strings.Cut(line, "\t")
				x.values[key] = append(x.values[key], json.RawMessage(value))
			}
		}
	}
	return x.values
}

// Values returns what all files hold under key, in no order.
func (x *Index) Values(key string) []json.RawMessage {
	quoted, err := json.Marshal(key)
	if err != nil {
		return nil // no text that was indexed
	}
	return x.byKey()[string(quoted)]
}

// Keys returns the keys that begin with prefix, in no order.
func (x *Index) Keys(prefix string) []string {
	var keys []string
	for quoted := range x.byKey() {
		var key string
		if json.Unmarshal([]byte(quoted), &key) == nil && strings.HasPrefix(key, prefix) {
			keys = append(keys, key)
		}
	}
	return keys
}

// Add puts what is to be found under key into f.
func (f *Indexed) Add(key string, value any) error {
	k, err := json.Marshal(key)
	if err != nil {
		return err
	}
	v, err := json.Marshal(value)
	f.lines = append(f.lines, string(k)+"\t"+string(v))
	return err
}

// WriteIndex sets the index of d to the files that x stands in for, and fresh,
// each of which is on disk. It writes nothing if nothing changed. A kill leaves
// the old index, with old stamps.
func (d *Dir) WriteIndex(w fsys.FS, x *Index, fresh map[string]Indexed) error {
	files := maps.Clone(x.files)
	maps.Copy(files, fresh)
	if len(files) == 0 && x.bytes == nil {
		return nil
	}
	var rest strings.Builder
	for _, name := range slices.Sorted(maps.Keys(files)) {
		rest.WriteString(name + "\t" + files[name].Stamp + "\n")
		for _, line := range files[name].lines {
			rest.WriteString(line + "\n")
		}
	}
	head, err := json.Marshal(indexHead{indexVersion, crc32.ChecksumIEEE([]byte(rest.String()))})
	if err != nil {
		return fmt.Errorf("index records: %w", err)
	}
	b := append(append(head, '\n'), rest.String()...)
	if bytes.Equal(b, x.bytes) {
		return nil
	}
	if err := writeOver(w, d.index(), b); err != nil {
		return fmt.Errorf("index records: %w", err)
	}
	x.bytes = b
	return nil
}

package file

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"aisync.dev/aisync/internal/merge"
	"aisync.dev/aisync/reconcile"
)

// TestEveryFormatMeetsWhatPeopleHave puts one leaf into documents as they are
// found, in every format that has names. Either all that was there is still
// there, or nothing was written and the message says where, why, and what next.
func TestEveryFormatMeetsWhatPeopleHave(t *testing.T) {
	type sample struct{ json, toml, yaml string }
	names := []struct {
		format merge.Format
		file   string
		of     func(sample) string
	}{
		{merge.JSON, "settings.json", func(s sample) string { return s.json }},
		{merge.JSONC, "settings.jsonc", func(s sample) string { return s.json }},
		{merge.TOML, "config.toml", func(s sample) string { return s.toml }},
		{merge.YAML, "config.yaml", func(s sample) string { return s.yaml }},
	}
	for _, tt := range []struct {
		name  string
		is    sample
		fault string // "": it is written; else the message, a regular expression
	}{
		{"comments", sample{"// a\n{\"mine\": 1, /* b */ \"x\": [1]} // c\n", "# a\nmine = 1 # b\n\n[x] # c\n", "# a\nmine: 1 # b\nx: # c\n  - 1\n"}, ""},
		{"byte order mark", sample{"\xef\xbb\xbf{\"mine\": 1}\n", "\xef\xbb\xbfmine = 1\n", "\xef\xbb\xbfmine: 1\n"}, ""},
		{"carriage returns", sample{"{\r\n  \"mine\": 1\r\n}\r\n", "mine = 1\r\n", "mine: 1\r\n"}, ""},
		{"empty", sample{"", "", ""}, ""},
		{"blank", sample{"\n\n", "\n\n", "\n\n"}, ""},
		{"only comments", sample{"// mine\n", "# mine\n", "# mine\n"}, ""},
		{"huge numbers", sample{`{"mine": 123456789012345678901234567890, "e": 1e400}`, "mine = 9223372036854775807\ne = 1e308\n", "mine: 123456789012345678901234567890\ne: 1.0e+400\n"}, ""},
		{"escapes", sample{`{"mi\u006ee": "\u00e9\ud83d\ude00\/"}`, `"mi\u006ee" = "\u00e9\U0001F600"` + "\n", `"mi\x6ee": "\u00e9\U0001F600"` + "\n"}, ""},
		{"no last line end", sample{`{"mine": 1}`, "mine = 1", "mine: 1"}, ""},
		{"a name twice", sample{"{\"a\": 1,\n\"a\": 2}", "a = 1\na = 2\n", "a: 1\na: 2\n"}, `:2:1: .*(twice|already defined|defined).*correct it there and run again; nothing was changed`},
		{"our name twice", sample{"{\"ours\": 1,\n\"ours\": 2}", "ours = 1\nours = 2\n", "ours: 1\nours: 2\n"}, `:2:1: .*(twice|already defined|defined).*nothing was changed`},
		{"broken", sample{"{\n  \"a\": ]\n}", "x = 1\na = ]\n", "x: 1\na: ]\n"}, `:2:\d+: invalid (JSON|TOML|YAML): .*correct it there and run again; nothing was changed`},
		{"cut off", sample{"{\"a\": \"b", "a = \"b", "a: \"b"}, `:1:\d+: invalid (JSON|TOML|YAML): .*nothing was changed`},
		{"no object", sample{"[1]", "", "- 1\n"}, `:1:1: the document is (an array|a sequence), want (an object|a mapping)`},
		{"another shape", sample{`{"x": "text"}`, "x = \"text\"\n", "x: text\n"}, `:1:\d+: /x is a string, want (an object|a table|a mapping)`},
		{"UTF-16", sample{"\xff\xfe{\x00", "\xff\xfea\x00", "\xff\xfea\x00"}, `:1:1: the document is UTF-16; save it as UTF-8`},
		{"no text", sample{"{\"a\": \"\x00\"}", "a = \"\x00\"\n", "a: \x00\n"}, `:1:\d+: the document contains a zero byte`},
	} {
		for _, f := range names {
			before := f.of(tt.is)
			if before == "" && tt.fault != "" {
				continue // this format has no such fault
			}
			t.Run(tt.name+" in "+f.file, func(t *testing.T) {
				m := newMachine(t)
				m.put(t, f.file, before)
				key := reconcile.LeafKey("/ours")
				if tt.name == "another shape" {
					key = "/x/ours"
				}
				c := m.decide(f.file, string(f.format), act(key, reconcile.Create, Value(merge.Value(`"text"`)), nil))
				if tt.fault != "" {
					if c.Before.Presence != reconcile.Blocked || !regexp.MustCompile("^"+regexp.QuoteMeta(f.file)+tt.fault).MatchString(c.Before.Reason) {
						t.Errorf("%v, %q; want %q", c.Before.Presence, c.Before.Reason, tt.fault)
					}
					if _, err := (Provider{}).Apply(t.Context(), c, m.env); err == nil {
						t.Error("it was written all the same")
					}
					if got := m.get(t, f.file); got != before {
						t.Errorf("it was %q, is %q", before, got)
					}
					return
				}
				out := m.apply(t, c)
				full := m.get(t, f.file)
				rest := full
				for _, line := range strings.FieldsFunc(before, func(r rune) bool { return r == '\n' || r == '\r' || r == '}' }) {
					i := strings.Index(rest, line)
					if i < 0 {
						t.Fatalf("line %q of\n%q\nis not, or not in its place, in\n%q", line, before, full)
					}
					rest = rest[i+len(line):]
				}
				if strings.Contains(before, "\r\n") && strings.Count(full, "\r\n") != strings.Count(full, "\n") {
					t.Errorf("its line ends became mixed: %q", full)
				}
				again := m.decide(f.file, string(f.format), act(key, reconcile.None, Value(merge.Value(`"text"`)), &reconcile.LeafRecord{Private: out.LeafPrivate[key]}))
				if want := Value(merge.Value(`"text"`)).Fingerprint(); again.Before.Live[key] != want {
					t.Errorf("it reads back as %q, want %q", again.Before.Live[key], want)
				}
				m.apply(t, m.decide(f.file, string(f.format), act(key, reconcile.Delete, nil, &reconcile.LeafRecord{Private: out.LeafPrivate[key]})))
				if got := m.get(t, f.file); got != before {
					t.Errorf("it was %q, and after all %q", before, got)
				}
			})
		}
	}
}

func TestALinkAndAReadOnlyFileAreLeftAlone(t *testing.T) {
	for _, f := range []string{"a.json", "a.jsonc", "a.toml", "a.yaml", "a.md"} {
		m := newMachine(t)
		key, body := reconcile.LeafKey("/ours"), Value(merge.Value("1"))
		if f == "a.md" {
			key, body = "line:ours", Line("")
		}
		m.put(t, "else-"+f, "")
		if err := os.Symlink("else-"+f, filepath.Join(m.dir, f)); err != nil {
			t.Fatal(err)
		}
		c := m.decide(f, "", act(key, reconcile.Create, body, nil))
		if c.Before.Presence != reconcile.Blocked || c.Before.Reason != f+" is a link to else-"+f+", and aisync would replace all of that file; remove the link, or take the file out of the spec" {
			t.Errorf("%s: %v, %q", f, c.Before.Presence, c.Before.Reason)
		}
		if _, err := (Provider{}).Apply(t.Context(), c, m.env); err == nil || m.get(t, "else-"+f) != "" {
			t.Errorf("%s: written through the link: %v", f, err)
		}

		if err := os.Chmod(filepath.Join(m.dir, "else-"+f), 0o444); err != nil {
			t.Fatal(err)
		}
		locked := m.decide("else-"+f, "", act(key, reconcile.Create, body, nil))
		if !locked.Before.ReadOnly || !strings.Contains(locked.Before.Reason, "else-"+f+" is read-only (mode 0444); make it writable") {
			t.Errorf("%s: %+v", f, locked.Before)
		}
		if _, err := (Provider{}).Apply(t.Context(), locked, m.env); !errors.Is(err, reconcile.ErrStale) || m.get(t, "else-"+f) != "" {
			t.Errorf("%s: a read-only file is written: %v", f, err)
		}
	}
}

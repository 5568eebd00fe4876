package schema

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/schema/spec"
)

// extended loads entries of catalog: runtimes.
func extended(t *testing.T, entries string) (*spec.Spec, error) {
	t.Helper()
	return hostSpec(t, "package aisync\n\nhosts: here: runtimes: claude: {}\ncatalog: runtimes: {\n"+entries+"\n}\n", Options{})
}

// An entry can extend each embedded one: it takes over what it leaves out, but
// for what is true of one program only.
func TestExtendedEntryInherits(t *testing.T) {
	var entries strings.Builder
	for _, r := range catalog.Runtimes() {
		fmt.Fprintf(&entries, "\t\"own-%s\": extends: %q\n", r.ID, r.ID)
	}
	s, err := extended(t, entries.String())
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Catalog.Runtimes) != len(catalog.Runtimes()) {
		t.Fatalf("%d entries", len(s.Catalog.Runtimes))
	}
	for i, want := range catalog.Runtimes() {
		got := s.Catalog.Runtimes[i]
		if got.ID != "own-"+want.ID || got.Extends != want.ID {
			t.Fatalf("entry %d is %s, of %s", i, got.ID, got.Extends)
		}
		got.ID, got.Pos, got.Extends = want.ID, want.Pos, ""
		want.Aliases, want.Preferred, want.ForModels, want.Detect = nil, false, false, got.Detect
		for j := range want.Parts {
			want.Parts[j].Evidence, want.Parts[j].Version = "", ""
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s:\n%s", want.ID, diff)
		}
	}
}

func TestExtendedEntryOverrides(t *testing.T) {
	s, err := extended(t, `
	mine: {
		extends: "claude"
		displayName: "Mine"
		user: {dir: "~/.mine", mcp: path: "~/.mine/mcp.json", instructions: []}
		launch: {args: ["--x"], hosts: ["a.example"], environment: A: "1", readyDelay: 5}
	}
	ours: {extends: "mine", user: dir: "~/.ours"}
	base: {command: "base", aliases: ["b"], user: skills: "~/.base/skills"}
	more: {extends: "base", user: dir: "~/.more"}`)
	if err != nil {
		t.Fatal(err)
	}
	is := map[string]spec.Runtime{}
	for _, r := range s.Catalog.Runtimes {
		is[r.ID] = r
	}
	claude, _ := catalog.With(spec.Catalog{}).Runtime("claude")
	m, o, b := is["mine"], is["ours"], is["more"]
	if m.DisplayName != "Mine" || m.User.Dir != "~/.mine" || m.User.MCP.Path != "~/.mine/mcp.json" || m.User.MCP.Shape != "claude" || m.User.Instructions != nil || m.User.Skills != claude.User.Skills || m.Command != "claude" {
		t.Errorf("mine: %+v", m.User)
	}
	if l := m.Launch; !cmp.Equal(l.Args, []string{"--x"}) || !cmp.Equal(l.Hosts, []string{"a.example"}) || l.Environment["A"] != "1" || l.ReadyDelay != 5 || !cmp.Equal(l.Headless, claude.Launch.Headless) {
		t.Errorf("mine starts by %+v", l)
	}
	if o.Extends != "claude" || o.DisplayName != "Mine" || o.User.Dir != "~/.ours" || o.User.MCP.Path != "~/.mine/mcp.json" || !strings.HasSuffix(o.Pos.String(), ":12:2") {
		t.Errorf("ours: extends %s at %s, %+v", o.Extends, o.Pos, o.User)
	}
	if b.Extends != "base" || b.User.Skills != "~/.base/skills" || b.Aliases != nil {
		t.Errorf("more: %+v", b)
	}
}

// What cannot be extended is an error with the line; what an entry says is checked as
// if it were written out.
func TestExtendedEntryRefuses(t *testing.T) {
	for _, c := range []struct{ entries, want string }{
		{`mine: extends: "mine"`, `spec.cue:5:16: catalog.runtimes.mine.extends: runtime "mine" extends itself; name another entry`},
		{`claude: extends: "claude"`, `runtime "claude" extends itself`},
		{`codex: extends: "claude"`, `runtime "codex" exists in the embedded catalog, and this one differs`},
		{`mine: extends: "clade"`, `spec.cue:5:16: catalog.runtimes.mine.extends: unknown runtime "clade"; did you mean "claude"?`},
		{`mine: extends: "local"`, `unknown runtime "local"; did you mean "local-openai"?`},
		{"a: extends: \"b\"\nb: extends: \"c\"\nc: extends: \"a\"\nd: extends: \"a\"", `spec.cue:7:13: catalog.runtimes.c.extends: runtimes extend each other: a, b, c, a; let one`},
		{"a: extends: \"b\"\nb: extends: \"nil\"", `spec.cue:6:13: catalog.runtimes.b.extends: unknown runtime "nil"`},
		{`mine: extends: 7`, `spec.cue:5:16: catalog.runtimes.mine.extends: want the id of another entry, such as "claude", got 7`},
		{`mine: extends: ""`, `want the id of another entry`},
		{`mine: {extends: "claude", user: mcp: 7}`, `spec.cue:5:38: catalog.runtimes.mine.user.mcp: want`},
		{`mine: {extends: "claude", user: mcp: paht: "~/x"}`, `spec.cue:5:38: catalog.runtimes.mine.user.mcp.paht: field not allowed; did you mean "path"?`},
		{`mine: {extends: "claude", user: mcp: path: "/etc/x"}`, `spec.cue:5:44: catalog.runtimes.mine.user.mcp.path: path "/etc/x" leaves its scope`},
		{`mine: {extends: "claude", launch: args: [1]}`, `catalog.runtimes.mine.launch.args.0: want`},
		{`mine: {extends: "claude", command: null}`, `catalog.runtimes.mine.command: want a program looked for in PATH, got null`},
		{`mine: {extends: "claude", user: "x"}`, `catalog.runtimes.mine.user: want`},
		{`mine: {extends: "claude", command: string}`, `spec.cue:5:36: catalog.runtimes.mine.command: want a value, got string`},
		{`mine: {extends: "claude", validators: [{args: []}]}`, `catalog.runtimes.mine.validators.0: proves is missing`},
		{"mine: {extends: \"claude\", nope: 1}", `catalog.runtimes.mine.nope: field not allowed`},
		{"mine: {extends: \"claude\"}\nother: {command: 7}", `spec.cue:6:18: catalog.runtimes.other.command: want`},
	} {
		_, err := extended(t, c.entries)
		got := fmt.Sprint(err)
		if !strings.Contains(got, c.want) {
			t.Errorf("%s:\n%s\nwant %s", c.entries, got, c.want)
		}
		if strings.Count(got, "extend each other") > 1 || strings.Count(got, "unknown runtime") > 1 {
			t.Errorf("%s is said twice:\n%s", c.entries, got)
		}
	}
	// What stands beside an extended entry, unfinished or with bounds, is as it was.
	s, err := hostSpec(t, "package aisync\n\n_x: \"m\"\nhosts: here: {match: {memoryGiB: >=1}, runtimes: mine: {}}\nhosts: other: match: hostname: \"o\"\ncatalog: runtimes: mine: {extends: \"claude\", displayName: _x}\n", Options{HostName: "here"})
	if err != nil || s.Host.Match.MemoryGiB.Op != ">=" || s.Catalog.Runtimes[0].DisplayName != "m" {
		t.Errorf("%+v, %v", s, err)
	}
}

// Whatever an extending entry says, it is loaded or refused with what is wrong.
func FuzzExtendedEntry(f *testing.F) {
	for _, s := range []string{`extends: "claude"`, `{extends: "claude", user: {dir: "~/.x"}}`, `{extends: x, x: "claude"}`, `{extends: "codex" | "claude"}`, `{extends: *"codex" | "claude"}`, `_|_`, `{extends: "claude", user: _|_}`, `null`, `[]`, `{extends: "claude", [string]: _}`} {
		f.Add(s)
	}
	dir := f.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "spec.cue"), nil, 0o644); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, entry string) {
		text := "package aisync\n\nhosts: here: {}\ncatalog: runtimes: mine: " + entry + "\n"
		_, err := Load(context.Background(), Options{HostDir: dir, Texts: map[string][]byte{filepath.Join(dir, "spec.cue"): []byte(text)}})
		if wrong := (Errors)(nil); err != nil && (!errors.As(err, &wrong) || len(wrong) == 0) {
			t.Fatalf("%v does not say what is wrong with the spec", err)
		}
	})
}

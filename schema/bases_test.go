package schema

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"aisync.dev/aisync/schema/spec"
)

// withBases loads the spec in host/ of archive. What it extends as acme/NAME lies in
// NAME/.
func withBases(t *testing.T, archive string) (*spec.Spec, error) {
	t.Helper()
	dir := unpack(t, txtar.Parse([]byte(archive)))
	o := Options{HostDir: filepath.Join(dir, "host"), Cwd: filepath.Join(dir, "host"), Scope: HostOnly}
	o.Base = func(_ context.Context, src spec.Source) (string, string, error) {
		name, ok := strings.CutPrefix(src.Name, "gh:acme/")
		switch {
		case name == "gone":
			return "", "", errors.New("no route")
		case ok:
			return filepath.Join(dir, filepath.FromSlash(strings.Replace(name, "//", "/", 1))), "pin", nil
		}
		return spec.LocalPath(src.URL, src.Dir, dir), "", nil
	}
	return Load(context.Background(), o)
}

func TestHostExtendsBase(t *testing.T) {
	s, err := withBases(t, `
-- host/me.cue --
package aisync
extends: "acme/base@main"
hosts: me: {
	default: "codex"
	runtimes: codex: {}
	bundles: house: skills: ["pdf"]
	bundles: mine: source: "./mine"
}
-- host/schema.cue --
package aisync
extends?: string
-- base/team.cue --
package aisync
extends: "./all"
_servers: notes: {command: "notes"}
hosts: [string]: {
	default: *"claude" | string
	runtimes: claude: {}
	bundles: house: source: "./house"
	mcp: _servers
}
-- base/house/x --
-- base/all/all.cue --
package aisync
hosts: [string]: packages: ["jq"]
hosts: [string]: bundles: rules: source: "../rules"
-- base/rules/x --
`)
	if err != nil {
		t.Fatal(err)
	}
	h := s.Host
	if h.Default != "codex" || len(h.Runtimes) != 2 || len(h.MCP) != 1 || len(h.Bases) != 2 {
		t.Errorf("got default %q, runtimes %v, servers %v, bases %v", h.Default, h.Runtimes, h.MCP, h.Bases)
	}
	for i, want := range []struct{ name, dir, at string }{
		{"house", "base", "me.cue:6:11"}, {"mine", "", "me.cue:7:11"}, {"rules", "base/all", "all.cue:3:27"},
	} {
		b := h.Bundles[i]
		if b.Name != want.name || !strings.HasSuffix(filepath.ToSlash(b.Dir), want.dir) || (b.Dir == "") != (want.dir == "") || !strings.HasSuffix(b.Pos.String(), want.at) {
			t.Errorf("bundle %d is %s in %q at %s, want %v", i, b.Name, b.Dir, b.Pos, want)
		}
	}
	if got := h.Runtimes[0].Pos.String(); got != "gh:acme/base//team.cue:6:12" {
		t.Errorf("claude is at %s", got)
	}
	if got := h.Bases[1].Pos.String(); got != "gh:acme/base//team.cue:2:10" {
		t.Errorf("the second base is named at %s", got)
	}
}

func TestBadBases(t *testing.T) {
	for _, c := range []struct{ name, archive, want string }{
		{"both say another value", `
-- host/me.cue --
package aisync
extends: "acme/base"
hosts: me: default: "codex"
-- base/b.cue --
package aisync
hosts: [string]: default: "claude"`,
			`me.cue:3:21: hosts.me.default: conflicting values "claude" and "codex"; the other one is at gh:acme/base//b.cue:2:27`},
		{"unreachable", `
-- host/me.cue --
package aisync
extends: "acme/gone"
hosts: me: {}`, "me.cue:2:10: base gh:acme/gone: no route"},
		{"does not validate", `
-- host/me.cue --
package aisync
extends: "acme/base"
hosts: me: {}
-- base/b.cue --
package aisync
hosts: [string]: runtime: claude: {}`, `gh:acme/base//b.cue:2:18: hosts.me.runtime: field not allowed; did you mean "runtimes"?`},
		{"does not parse", `
-- host/me.cue --
package aisync
extends: "acme/base"
hosts: me: {}
-- base/b.cue --
package aisync
hosts: {`, "gh:acme/base//b.cue:2:"},
		{"of a project", `
-- host/me.cue --
package aisync
extends: "acme/base"
hosts: me: {}
-- base/b.cue --
package aisync
project: name: "x"`, "gh:acme/base//b.cue:2:1: project: field not allowed in a host's spec"},
		{"no spec", `
-- host/me.cue --
package aisync
extends: "acme/base"
hosts: me: {}
-- base/README --
`, "me.cue:2:10: extends: base gh:acme/base has no *.cue at its top; name the folder that has them: gh:acme/base//FOLDER"},
		{"a circle", `
-- host/me.cue --
package aisync
extends: "acme/a"
hosts: me: {}
-- a/a.cue --
package aisync
extends: "acme/b"
-- b/b.cue --
package aisync
extends: "acme/a@v2"`, "gh:acme/b//b.cue:2:10: extends: bases extend each other: gh:acme/a extends gh:acme/b extends gh:acme/a"},
		{"itself", `
-- host/me.cue --
package aisync
extends: "."
hosts: me: {}`, "the spec extends itself"},
		{"too many", `
-- host/me.cue --
package aisync
extends: "acme/a"
hosts: me: {}
-- a/x.cue --
package aisync
extends: "acme/b"
-- b/x.cue --
package aisync
extends: "acme/c"
-- c/x.cue --
package aisync
extends: "acme/d"
-- d/x.cue --
package aisync
extends: "acme/e"
-- e/x.cue --
package aisync
extends: "acme/f"
-- f/x.cue --
package aisync`, "more than 5 bases, one through the other: gh:acme/a extends gh:acme/b extends"},
		{"two", `
-- host/me.cue --
package aisync
extends: "acme/a"
hosts: me: {}
-- host/x.cue --
package aisync
extends: "acme/b"`, "x.cue:2:10: extends: a spec extends one other, and this one is named at me.cue:2:10"},
		{"computed", `
-- host/me.cue --
package aisync
_at: "acme"
extends: _at + "/a"
hosts: me: {}`, "me.cue:3:10: extends: want extends to be a plain text"},
		{"no address", `
-- host/me.cue --
package aisync
extends: "npm:x"
hosts: me: {}`, "extends: no address of a source"},
		{"a bundle out of the base", `
-- host/me.cue --
package aisync
extends: "acme/base"
hosts: me: {}
-- base/b.cue --
package aisync
hosts: [string]: bundles: x: source: "../other"
-- other/x --
`, `gh:acme/base//b.cue:2:38: hosts.me.bundles.x.source: "../other" leaves the base that names it`},
		{"a base out of the base", `
-- host/me.cue --
package aisync
extends: "acme/base"
hosts: me: {}
-- base/b.cue --
package aisync
extends: "../other"
-- other/o.cue --
package aisync`, `gh:acme/base//b.cue:2:10: extends: "../other" leaves the base that names it`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := withBases(t, strings.TrimPrefix(c.archive, "\n")); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v\nwant %s", err, c.want)
			}
		})
	}
}

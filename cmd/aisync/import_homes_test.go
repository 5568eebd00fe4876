package main

import (
	"bytes"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// homes are files of one program as a person may have them, by path in the home.
var homes = map[string]map[string]string{
	"claude": {
		".claude/settings.json":              "{\n  \"model\": \"opus\",\n  \"permissions\": {\"allow\": [\"Bash(ls:*)\"], \"deny\": []}\n}\n",
		".claude/rules/go.md":                "---\npaths: [\"**/*.go\"]\n---\n# Go\n\nRun gofmt before a commit.\n",
		".claude/rules/always.md":            "# Always\n\nAnswer briefly.\n",
		".claude/commands/look.md":           "---\ndescription: look around\n---\nLook at $ARGUMENTS.\n",
		".claude/agents/sweeper.md":          "---\nname: sweeper\ndescription: sweeps\ntools: Read, Grep\n---\nSweep the floor.\n",
		".claude/skills/notes/SKILL.md":      "---\nname: notes\ndescription: keeps notes\n---\nWrite it down.\n",
		".claude/skills/notes/scripts/go.sh": "#!/bin/sh\necho note\n",
		".claude/CLAUDE.md":                  "# Mine\n\nI am left-handed.\n",
	},
	"codex": {
		".codex/config.toml":          "# mine\nmodel = \"o4\"  # big\napproval_policy = \"on-request\"\n\n[mcp_servers.packer]\ncommand = \"packer\"\nargs = [\n  \"--fast\", # quick\n]\n",
		".codex/AGENTS.md":            "# Mine\n\nSpeak plainly.\n",
		".codex/skills/pack/SKILL.md": "---\nname: pack\ndescription: packs\n---\nPack it.\n",
	},
	"opencode": {
		".config/opencode/opencode.json":    "{\n  \"$schema\": \"https://opencode.ai/config.json\",\n  \"theme\": \"dark\", \"mcp\": {\"notes\": {\"type\": \"local\", \"command\": [\"notes\"], \"enabled\": true}}\n}\n",
		".config/opencode/commands/tidy.md": "---\ndescription: tidies\n---\nTidy up.\n",
		".config/opencode/agents/critic.md": "---\ndescription: finds faults\nmode: subagent\npermission:\n  edit: deny\n---\nFind faults.\n",
		".config/opencode/plugins/greet.js": "export const Greet = async () => ({})\n",
	},
	"gemini": {
		".gemini/settings.json": "{\n\t\"theme\": \"Default\",\n\t\"mcpServers\": {\n\t\t\"notes\": {\"command\": \"notes\", \"args\": []}\n\t}\n}\n",
		".gemini/GEMINI.md":     "# Mine\n\nCount twice.\n",
	},
	"cursor": {
		".cursor/mcp.json":             "{\"mcpServers\":{\"notes\":{\"command\":\"notes\"}}}\n",
		".cursor/commands/ship.md":     "Ship it.\n",
		".cursor/skills/ship/SKILL.md": "---\nname: ship\ndescription: ships\n---\nShip.\n",
	},
	"copilot": {
		".copilot/mcp-config.json":         "{\n  \"mcpServers\": {\n    \"notes\": {\"type\": \"local\", \"command\": \"notes\", \"args\": [], \"tools\": [\"*\"]}\n  }\n}\n",
		".copilot/skills/fly/SKILL.md":     "---\nname: fly\ndescription: flies\n---\nFly.\n",
		".copilot/copilot-instructions.md": "# Mine\n\nLand softly.\n",
	},
}

// layouts put a file of the dotfiles repository at its place in the home.
var layouts = map[string]func(home, from, at string) error{
	"absolute links": func(home, from, at string) error { return linkAt(from, at) },
	"relative links": func(home, from, at string) error {
		to, err := filepath.Rel(filepath.Dir(at), from)
		if err != nil {
			return err
		}
		return linkAt(to, at)
	},
	"copies": func(home, from, at string) error {
		b, err := os.ReadFile(from)
		if err != nil {
			return err
		}
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			return err
		}
		return os.WriteFile(at, b, 0o644)
	},
	// The folders below the program's are links, and the files beside them.
	"linked folders": func(home, from, at string) error {
		rel, err := filepath.Rel(home, at)
		if err != nil {
			return err
		}
		parts, deep := strings.Split(rel, "/"), 2
		if parts[0] == ".config" {
			deep = 3
		}
		if up := len(parts) - deep; up > 0 {
			from, at = filepath.Join(from, strings.Repeat("../", up)), filepath.Join(home, filepath.Join(parts[:deep]...))
		}
		if err := linkAt(from, at); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		return nil
	},
}

func linkAt(to, at string) error {
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		return err
	}
	return os.Symlink(to, at)
}

// newHome is a machine with one program or several, and an empty home.
func newHome(t *testing.T, ids ...string) *imported {
	t.Helper()
	i := newImported(t)
	var runtimes []string
	for _, id := range ids {
		must(t, os.WriteFile(filepath.Join(i.bin, id), []byte("#!/bin/sh\necho 1.0.0\n"), 0o755))
		runtimes = append(runtimes, id+": {}")
	}
	must(t, os.MkdirAll(filepath.Join(i.home, ".config", "aisync"), 0o755))
	spec := "package aisync\n\nhosts: me: {match: {}, runtimes: {" + strings.Join(runtimes, ", ") + "}}\n"
	must(t, os.WriteFile(filepath.Join(i.home, ".config", "aisync", "me.cue"), []byte(spec), 0o644))
	return i
}

// lay puts files into the dotfiles repository of the home, and at their places.
func (i *imported) lay(layout string, files map[string]string) {
	i.t.Helper()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		from := filepath.Join(i.home, "dotfiles", strings.TrimPrefix(name, "."))
		must(i.t, os.MkdirAll(filepath.Dir(from), 0o755))
		must(i.t, os.WriteFile(from, []byte(files[name]), 0o644))
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		must(i.t, layouts[layout](i.home, filepath.Join(i.home, "dotfiles", strings.TrimPrefix(name, ".")), filepath.Join(i.home, name)))
	}
}

// inHome returns the entries of the home without aisync's.
func (i *imported) inHome() map[string]string {
	i.t.Helper()
	out := entriesOf(i.t, i.home, func(rel string) bool {
		return slices.Contains([]string{".config/aisync", ".local", ".cache"}, rel)
	})
	maps.DeleteFunc(out, func(rel, entry string) bool { // aisync may make the folder
		return rel == "." || rel == ".config" && strings.HasPrefix(entry, "d")
	})
	return out
}

// atHome runs aisync on the host alone, and returns what it prints.
func (i *imported) atHome(code int, args ...string) string {
	i.t.Helper()
	var out bytes.Buffer
	args = append(args, "--scope", "host")
	if got := run(append([]string{"aisync"}, args...), strings.NewReader(""), &out, &out, append(i.environ(), "PWD="+i.home)); got != code {
		i.t.Fatalf("aisync %s: exit code %d, want %d\n%s", strings.Join(args, " "), got, code, out.String())
	}
	return out.String()
}

// homeCycle imports the home, applies, looks that nothing is left to do and that
// every link stands, and undoes it all.
func (i *imported) homeCycle() {
	i.t.Helper()
	before := i.inHome()
	i.atHome(0, "import")
	if now := i.inHome(); !maps.Equal(before, now) {
		i.t.Errorf("import changed\n%s", difference(before, now))
	}
	if out := i.atHome(0, "plan"); strings.Contains(out, "  ! ") {
		i.t.Errorf("undecided after import:\n%s", out)
	}
	i.atHome(0, "apply", "--yes")
	if out := i.atHome(0, "plan"); !strings.Contains(out, "No changes.") {
		i.t.Errorf("the plan is not empty:\n%s", out)
	}
	applied := i.inHome()
	for name, was := range before {
		if now := applied[name]; strings.Contains(was, " -> ") && now != was {
			i.t.Errorf("%s was %s, is %s", name, was, now)
		}
	}
	i.atHome(0, "destroy", "--yes")
	if after := i.inHome(); !maps.Equal(before, after) {
		i.t.Errorf("destroy left\n%s", difference(before, after))
	}
}

// Homes as stow, dotbot, chezmoi and people by hand lay them out come in whole:
// nothing is left to do after import and apply, links stand, and all bytes of the
// home and of the dotfiles repository come back.
func TestImportedHomesKeepTheirLayout(t *testing.T) {
	all := map[string]string{}
	for _, files := range homes {
		maps.Copy(all, files)
	}
	for layout := range layouts {
		for id, files := range homes {
			t.Run(id+", "+layout, func(t *testing.T) {
				t.Parallel()
				i := newHome(t, id)
				i.lay(layout, files)
				i.homeCycle()
			})
		}
		t.Run("all programs, "+layout, func(t *testing.T) {
			t.Parallel()
			i := newHome(t, slices.Sorted(maps.Keys(homes))...)
			i.lay(layout, all)
			i.homeCycle()
		})
	}
}

// dotfiles unpacks a snapshot of a person's dotfiles, and returns the files below
// folders of it, by their place in the home.
func (i *imported) dotfiles(name string, folders map[string]string) map[string]string {
	i.t.Helper()
	archive, err := os.Open(filepath.Join(world, name+".tar.gz"))
	if errors.Is(err, fs.ErrNotExist) {
		i.t.Skip("the snapshots of repositories are not here")
	}
	must(i.t, err)
	defer archive.Close()
	unpack(i.t, archive, i.project)
	files := map[string]string{}
	for from, to := range folders {
		top := filepath.Join(i.project, from)
		must(i.t, filepath.WalkDir(top, func(at string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			rel, _ := filepath.Rel(top, at)
			b, err := os.ReadFile(at)
			files[filepath.Join(to, rel)] = string(b)
			return err
		}))
	}
	return files
}

// A public home with Claude and Codex comes in whole in every layout.
func TestImportedDotfilesKeepTheirLayout(t *testing.T) {
	for layout := range layouts {
		t.Run(layout, func(t *testing.T) {
			t.Parallel()
			i := newHome(t, "claude", "codex")
			files := i.dotfiles("dotfiles-0maru", map[string]string{"config/claude": ".claude", "config/codex": ".codex"})
			i.lay(layout, files)
			i.homeCycle()
		})
	}
}

// What Nix put into a home is kept aside by name, and stops nothing else.
func TestImportNamesLinksIntoStore(t *testing.T) {
	i := newHome(t, "claude")
	i.dotfiles("dotfiles-ericcrosson", nil)
	store := filepath.Join(i.project, "ai")
	must(t, filepath.WalkDir(store, func(at string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			err = os.Chmod(at, 0o444)
		}
		return err
	}))
	for _, name := range []string{"skills", "rules"} {
		must(t, os.Chmod(filepath.Join(store, name), 0o555))
		t.Cleanup(func() { _ = os.Chmod(filepath.Join(store, name), 0o755) })
		must(t, linkAt(filepath.Join(store, name), filepath.Join(i.home, ".claude", name)))
	}
	i.lay("copies", map[string]string{".claude/commands/look.md": "Look.\n"})
	out := i.atHome(0, "import")
	for _, name := range []string{"skills", "rules"} {
		want := ".claude/" + name + ": a link to " + filepath.Join(store, name) + ", which is read-only; change it where it is made, such as in the Nix configuration"
		if !strings.Contains(strings.Join(strings.Fields(out), " "), want) {
			t.Errorf("import does not print\n%s\nbut\n%s", want, out)
		}
	}
	if !strings.Contains(out, ".claude/commands/look.md") {
		t.Errorf("the command is not taken:\n%s", out)
	}
	i.atHome(0, "apply", "--yes")
	for name, text := range map[string]string{"agent-rules/mine.md": "# Mine\n", "commands/more.md": "More.\n"} {
		at := filepath.Join(i.home, ".config/aisync/bundle", name)
		must(t, os.MkdirAll(filepath.Dir(at), 0o755))
		must(t, os.WriteFile(at, []byte(text), 0o644))
	}
	out = i.atHome(3, "apply", "--yes")
	if want := ".claude/rules is a link to " + filepath.Join(store, "rules") + ", which is read-only; put this into what makes the link, such as the Nix configuration, or take it out of the spec"; !strings.Contains(out, want) {
		t.Errorf("apply does not print\n%s\nbut\n%s", want, out)
	}
	if _, err := os.Stat(filepath.Join(i.home, ".claude/commands/more.md")); err != nil {
		t.Errorf("the rest is not done: %v", err)
	}
}

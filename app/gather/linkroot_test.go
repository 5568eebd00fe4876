package gather

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Absolute and relative links are followed within the folder; every other link is
// kept aside by its name, and what is beside it is read.
func TestImportFollowsLinksWithinTheFolder(t *testing.T) {
	for name, c := range map[string]struct {
		at, to string // the link; HOME is the folder, OUT one beside it
		taken  string // the file that is then taken
		kept   string // else: what is kept aside
	}{
		"absolute file":          {".claude/rules/a.md", "HOME/dotfiles/rules/a.md", ".claude/rules/a.md", ""},
		"relative file":          {".claude/rules/a.md", "../../dotfiles/rules/a.md", ".claude/rules/a.md", ""},
		"up and back":            {".claude/rules/a.md", "../../../home/dotfiles/rules/a.md", ".claude/rules/a.md", ""},
		"another spelling":       {".claude/rules/a.md", "ALIAS/dotfiles/rules/a.md", ".claude/rules/a.md", ""},
		"absolute folder":        {".claude/commands", "HOME/dotfiles/rules", ".claude/commands/a.md", ""},
		"relative folder":        {".claude/commands", "../dotfiles/rules", ".claude/commands/a.md", ""},
		"folder in a folder":     {".claude/rules/more", "HOME/dotfiles/rules", ".claude/rules/more/a.md", ""},
		"skill":                  {".claude/skills/x", "../../.agents/skills/x", ".claude/skills/x", ""},
		"whole folder":           {".config/opencode", "HOME/dotfiles/oc", ".config/opencode/commands/o.md", ""},
		"folder above":           {".config", "HOME/dotfiles/config", ".config/opencode/commands/c.md", ""},
		"link to a link":         {".claude/rules/a.md", "HOME/dotfiles/again.md", ".claude/rules/a.md", ""},
		"out, absolute":          {".claude/rules/a.md", "OUT/a.md", "", ".claude/rules/a.md: a link to OUT/a.md, which is not in this folder"},
		"out, relative":          {".claude/rules/a.md", "../../../out/a.md", "", ".claude/rules/a.md: a link to ../../../out/a.md, which is not in this folder"},
		"out, folder":            {".config/opencode", "OUT", "", ".config/opencode: a link to OUT, which is not in this folder"},
		"out, folder above":      {".config", "OUT", "", ".config: a link to OUT, which is not in this folder"},
		"out, by a link":         {".claude/rules/a.md", "HOME/dotfiles/out.md", "", ".claude/rules/a.md: a link to OUT/a.md, which is not in this folder"},
		"store":                  {".claude/settings.json", "OUT/read-only", "", ".claude/settings.json: a link to OUT/read-only, which is read-only; change it where it is made, such as in the Nix configuration"},
		"store of Nix":           {".claude/rules", "/nix/store/0-home/rules", "", ".claude/rules: a link to /nix/store/0-home/rules, which is read-only; change it where it is made, such as in the Nix configuration"},
		"dangling":               {".claude/rules/a.md", "HOME/gone.md", "", ".claude/rules/a.md: a dangling link, to HOME/gone.md"},
		"dangling, relative":     {".claude/rules/a.md", "gone/a.md", "", ".claude/rules/a.md: a dangling link, to gone/a.md"},
		"circle":                 {".claude/rules/a.md", "a.md", "", ".claude/rules/a.md: a link to a.md, in a circle of links"},
		"folder that holds it":   {".claude/rules/up", "HOME/.claude/rules", "", ".claude/rules/up: a link to a folder that holds it"},
		"prefix, another folder": {".claude/rules/a.md", "HOME-2/a.md", "", ".claude/rules/a.md: a link to HOME-2/a.md, which is not in this folder"},
	} {
		t.Run(name, func(t *testing.T) {
			top, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			home, out, alias := filepath.Join(top, "home"), filepath.Join(top, "out"), filepath.Join(top, "alias")
			names := strings.NewReplacer("HOME", home, "OUT", out, "ALIAS", alias)
			for file, text := range map[string]string{
				"home/dotfiles/rules/a.md": "A\n", "home/dotfiles/oc/commands/o.md": "O\n", "home/dotfiles/config/opencode/commands/c.md": "C\n",
				"home/.agents/skills/x/SKILL.md": "---\nname: x\ndescription: x\n---\nX\n", "home/.claude/rules/beside.md": "B\n", "out/a.md": "out\n", "out/read-only": "{}\n",
			} {
				write(t, filepath.Join(top, file), []byte(text))
			}
			if err := os.Chmod(filepath.Join(out, "read-only"), 0o444); err != nil {
				t.Fatal(err)
			}
			link := func(at, to string) {
				t.Helper()
				if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.Symlink(to, at); err != nil {
					t.Fatal(err)
				}
			}
			link(filepath.Join(home, "dotfiles/again.md"), "rules/a.md")
			link(filepath.Join(home, "dotfiles/out.md"), filepath.Join(out, "a.md"))
			if c.at == ".claude/rules" {
				if err := os.RemoveAll(filepath.Join(home, c.at)); err != nil {
					t.Fatal(err)
				}
			}
			link(filepath.Join(home, c.at), names.Replace(c.to))

			r, err := From(home, Options{Home: true, Name: "app", Paths: []string{alias}, Runtimes: []string{"codex"}})
			if err != nil {
				t.Fatal(err)
			}
			var taken, kept []string
			for _, x := range r.Taken {
				taken = append(taken, x.From)
			}
			for _, x := range r.Kept {
				kept = append(kept, x.Path+": "+x.Why)
			}
			all := "\n" + strings.Join(taken, "\n") + "\n"
			if c.at != ".claude/rules" && !strings.Contains(all, "\n.claude/rules/beside.md\n") {
				t.Errorf("the file beside is not taken: %q", taken)
			}
			if c.taken != "" && !strings.Contains(all, "\n"+c.taken+"\n") {
				t.Errorf("%s is not taken: %q, kept %q", c.taken, taken, kept)
			}
			want := names.Replace(c.kept)
			if c.taken != "" && len(kept) > 0 || c.taken == "" && (len(kept) != 1 || kept[0] != want) {
				t.Errorf("kept %q, want %q", kept, want)
			}
			for _, f := range r.Files {
				if string(f.Text) == "out\n" {
					t.Errorf("%s is from outside", f.Path)
				}
			}
		})
	}
}

// A link to a file of another user is kept aside.
func TestImportRefusesFilesOfOthers(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can give files away")
	}
	home := t.TempDir()
	write(t, filepath.Join(home, "theirs.md"), []byte("theirs\n"))
	write(t, filepath.Join(home, ".claude/rules/mine.md"), []byte("mine\n"))
	if err := os.Chown(filepath.Join(home, "theirs.md"), 12345, 12345); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../../theirs.md", filepath.Join(home, ".claude/rules/a.md")); err != nil {
		t.Fatal(err)
	}
	r, err := From(home, Options{Home: true, Name: "app"})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Files) != 1 || len(r.Kept) != 1 || r.Kept[0].Why != "a link to ../../theirs.md, which belongs to another user" {
		t.Errorf("%v, kept %v", r.Files, r.Kept)
	}
}

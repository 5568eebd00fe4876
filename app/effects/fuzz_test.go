package effects

import (
	"os"
	"path/filepath"
	"testing"

	"aisync.dev/aisync/reconcile"
)

// Whatever a clone holds where programs look, it is judged or said to be past
// judging, twice the same.
func FuzzOf(f *testing.F) {
	for _, doc := range []string{
		`{"plugin": ["./p"], "servers": {"a": {"command": ["npx", "x"], "env": {"A": "b"}}}, "deny": ["x"]}`,
		"---\nname: a\nhooks: {Stop: [{command: !!binary evil}]}\n---\n!`git log`", "a.b = ['x']\n[[c]]\nd = 2026-01-01\n", "x: &a {run: evil}\n<<: *a\n",
		"\uFEFF{\"a\": null, \"a\": 1e999}", "---js\n({})\n---", `"x"`, "\x00",
	} {
		f.Add([]byte(doc))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		dir := t.TempDir()
		for _, name := range []string{"agent.json", "agent.toml", "agent.yml", "skills/a/SKILL.md", "plugins/a.js", "p/package.json"} {
			if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, name), doc, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		p := folder(t, nil)
		p.Dir = dir
		once, twice := Of(p, reconcile.ReadEnv{}, nil), Of(p, reconcile.ReadEnv{}, nil)
		if Digest(once) != Digest(twice) {
			t.Errorf("judged in two ways: %d and %d effects", len(once), len(twice))
		}
	})
}

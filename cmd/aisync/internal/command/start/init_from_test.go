package start

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"aisync.dev/aisync/app/clone"
)

func TestCloneable(t *testing.T) {
	cwd := t.TempDir()
	if err := os.MkdirAll(filepath.Join(cwd, "me/machines"), 0o755); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("git", "init", "-q", "--bare", filepath.Join(cwd, "bare.git")).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for src, want := range map[string]clone.Source{
		"you/machines":                          {URL: "https://github.com/you/machines.git"},
		"you/machines@work":                     {URL: "https://github.com/you/machines.git", Ref: "work"},
		"https://github.com/you/machines":       {URL: "https://github.com/you/machines.git"},
		"git@example.org:you/machines.git":      {URL: "ssh://git@example.org/you/machines.git"},
		"https://example.org/machines.git":      {URL: "https://example.org/machines.git"},
		"git::https://example.org/m?ref=a%2Fb":  {URL: "https://example.org/m", Ref: "a/b"},
		"bare.git":                              {URL: filepath.Join(cwd, "bare.git")},
		"me/machines":                           {}, // a folder here
		"you/machines//laptops":                 {},
		"https://example.org/machines.tar.gz":   {},
		"git::https://example.org/m//sub?ref=x": {},
	} {
		got, ok, err := cloneable(src, cwd)
		if err != nil || ok != (want != clone.Source{}) || ok && got != want {
			t.Errorf("%s: %+v, %v, %v", src, got, ok, err)
		}
	}
	for _, bad := range []string{"https://example.org/machines", "what:ever"} {
		if _, _, err := cloneable(bad, cwd); err == nil {
			t.Errorf("%s is no address", bad)
		}
	}
}

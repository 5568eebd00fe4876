package git

import (
	"os"
	"path/filepath"
	"testing"
)

// A file of the right commit gives the clone that its repository gives, with the history
// of that commit alone; any other file gives an error.
func TestCloneBundleTakesTheCommitAndNothingElse(t *testing.T) {
	r, top := newRepo(t), t.TempDir()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	r.commit("one")
	want := r.commit("two")
	whole := filepath.Join(top, "whole")
	id, err := Bundle(t.Context(), r.dir, whole)
	if err != nil || id != want {
		t.Fatalf("%s, %v", id, err)
	}

	// Others of the same repository: another commit, a part of the history, more than
	// the history of the commit.
	files := map[string]string{"another": filepath.Join(top, "another"), "part": filepath.Join(top, "part"), "spoilt": filepath.Join(top, "spoilt"), "empty": filepath.Join(top, "empty")}
	r.git("branch", "other", "HEAD~1")
	r.git("bundle", "create", "--quiet", files["another"], "other")
	r.git("bundle", "create", "--quiet", files["part"], "main", "^HEAD~1")
	raw, err := os.ReadFile(whole)
	must(err)
	raw[len(raw)-30] ^= 1
	must(os.WriteFile(files["spoilt"], raw, 0o644))
	must(os.WriteFile(files["empty"], nil, 0o644))
	r.git("checkout", "-q", "--orphan", "hostile")
	r.commit("what another person wrote")
	more := filepath.Join(top, "more")
	r.git("bundle", "create", "--quiet", more, "main", "hostile")

	for name, file := range files {
		dst := filepath.Join(t.TempDir(), "dst")
		if err := CloneBundle(t.Context(), Source{URL: "https://example.org/r", Ref: want}, file, dst); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
	for _, file := range []string{whole, more} {
		dst := filepath.Join(t.TempDir(), "dst")
		must(CloneBundle(t.Context(), Source{URL: "https://example.org/r", Ref: want}, file, dst))
		if text, err := os.ReadFile(filepath.Join(dst, "a.md")); err != nil || string(text) != "two" {
			t.Errorf("%q, %v", text, err)
		}
		if id, err := Head(t.Context(), dst); err != nil || id != want {
			t.Errorf("at %s, %v", id, err)
		}
		versions, err := History(t.Context(), dst)
		if err != nil || len(versions) != 2 {
			t.Errorf("versions %v, %v", versions, err)
		}
	}
}

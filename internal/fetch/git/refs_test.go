package git

import "testing"

func TestListNamesTheCommitOfEachRef(t *testing.T) {
	r := newRepo(t)
	one := r.commit("one\n")
	r.git("tag", "v1")
	r.git("tag", "-a", "-m", "two", "v1.1")
	two := r.commit("two\n")
	r.git("branch", "side/way", one)
	got, err := List(t.Context(), Source{URL: "file://" + r.dir})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, got, want string }{
		{"HEAD", got.Head, two}, {"main", got.Branches["main"], two}, {"side/way", got.Branches["side/way"], one},
		{"v1", got.Tags["v1"], one}, {"v1.1, which is annotated", got.Tags["v1.1"], one},
	} {
		if c.got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, c.got, c.want)
		}
	}
	if _, err := List(t.Context(), Source{URL: "file://" + t.TempDir() + "/none"}); err == nil {
		t.Error("a repository that is not there has refs")
	}
	last, err := LastChange(t.Context(), r.dir)
	if err != nil {
		t.Fatal(err)
	}
	if when, err := Date(t.Context(), r.dir); err != nil || !when.Equal(last.Date) {
		t.Errorf("date %s, %v; want %s", when, err, last.Date)
	}
}

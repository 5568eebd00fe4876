package task

import (
	"errors"
	"flag"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"aisync.dev/aisync/schema/spec"
)

var update = flag.Bool("update", false, "write testdata/format1 anew; only a new format_version may change what it has")

// formatDir holds the folder tasks of a repository as format 1 lays it out: a task
// that is done, one that failed, and one whose executor died when it was decided.
const formatDir = "testdata/format1"

// The writer: what this aisync leaves is what an earlier one reads.
func TestTaskFormat1IsWritten(t *testing.T) {
	w := newWorld(t)
	w.queued(spec.Task{ID: "good", Steps: []spec.TaskStep{
		{ID: "s1", Action: "create", File: "src/new.txt", Text: "new\n"},
		{ID: "s2", Action: "run", Command: "echo two >>src/a.txt"},
	}, Verify: []string{"test -e src/new.txt"}})
	w.once()
	w.queued(spec.Task{ID: "bad", Steps: runs("echo why >&2; exit 3")})
	w.once()
	w.queued(spec.Task{ID: "cut", Steps: runs("echo x >src/x")})
	w.dieAt(stageDecided)

	got := w.leaves(filepath.Join(w.repo, "tasks"))
	if *update {
		if err := os.RemoveAll(formatDir); err != nil {
			t.Fatal(err)
		}
		for name, text := range got {
			to := filepath.Join(formatDir, name)
			if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(to, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	want := w.leaves(formatDir)
	if diff := cmp.Diff(slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(got))); diff != "" {
		t.Errorf("files (- earlier, + now):\n%s", diff)
	}
	for name, text := range want {
		if diff := cmp.Diff(text, got[name]); diff != "" && filepath.Ext(name) != ".log" && filepath.Ext(name) != ".md" { // for people
			t.Errorf("%s (- earlier, + now):\n%s", name, diff)
		}
	}
}

// The reader: a queue that an earlier aisync left is read, and what its dead
// executor had decided is carried through.
func TestTaskFormat1IsRead(t *testing.T) {
	w := newWorld(t)
	if err := os.RemoveAll(filepath.Join(w.repo, "tasks")); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(w.repo, "tasks"), os.DirFS(formatDir)); err != nil {
		t.Fatal(err)
	}
	r := runnerAt(w.dir)
	r.Queue.Self.Host = "pearl"
	all, err := r.Queue.List()
	if err != nil || len(all) != 3 {
		t.Fatalf("%d tasks, %v", len(all), err)
	}
	for _, i := range all {
		if i.Err != nil || i.State != map[string]State{"good": Done, "bad": Failed, "cut": Running}[i.Task.ID] {
			t.Errorf("%s is %s, %v", i.Task.ID, i.State, i.Err)
		}
	}
	if _, err := r.Once(t.Context(), "core"); !errors.Is(err, ErrNone) {
		t.Error(err)
	}
	for id, want := range map[string]State{"good": Done, "bad": Failed, "cut": Done} {
		report, err := readReport(r.Queue.Runs(id))
		if err != nil || report.Status != string(want) || !w.in(want, id) || report.Markdown() == "" {
			t.Errorf("%s: %+v, %v", id, report, err)
		}
	}
}

// leaves returns the files below dir by name, without what differs from run to
// run. The claimant gets the name that the reader's test gives it.
func (w *world) leaves(dir string) map[string]string {
	w.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err == nil && d.IsDir() && d.Name() == "workers": // package run freezes them, and the events
			return filepath.SkipDir
		case err != nil || d.IsDir() || slices.Contains([]string{".keep", ".lock", "events.jsonl"}, d.Name()):
			return err
		}
		text, err := os.ReadFile(path)
		name := strings.TrimPrefix(path, dir+"/")
		if base, c := claimed(filepath.Base(path)); c.PID != 0 {
			name = filepath.Join(filepath.Dir(name), claimName(base, Claimant{"pearl", 4711, 98765}))
		}
		out[name] = strings.ReplaceAll(string(text), w.dir, "/world")
		for _, v := range varying {
			out[name] = v.is.ReplaceAllString(out[name], v.becomes)
		}
		return err
	})
	if err != nil {
		w.Fatal(err)
	}
	return out
}

var varying = []struct {
	is      *regexp.Regexp
	becomes string
}{
	{regexp.MustCompile(`\b[0-9a-f]{40}\b`), strings.Repeat("0", 40)},
	{regexp.MustCompile(`\b[0-9a-f]{7}\.\.[0-9a-f]{7}\b`), "0000000..0000000"},
	{regexp.MustCompile(`\brepo-[0-9a-f]{8}\b`), "repo-00000000"},
	{regexp.MustCompile(`\b20\d\d-\d\d-\d\dT[0-9:.]+Z`), "2026-01-02T03:04:05Z"},
	{regexp.MustCompile(`\b20\d{6}-\d{6}(-\d+)?\b`), "20260102-030405"},
	{regexp.MustCompile(`"seconds": [0-9.e-]+`), `"seconds": 0.1`},
	{regexp.MustCompile(`"sandbox": "(namespaces|bwrap)"`), `"sandbox": "namespaces"`},
	{regexp.MustCompile(`"host": ".*"`), `"host": "pearl"`},
	{regexp.MustCompile(`\n  "attempt": "[0-9a-f]{32}",`), ""}, // of a later version: the earlier journal is still read
	{regexp.MustCompile(`"pid": \d+`), `"pid": 4711`},
	{regexp.MustCompile(`"start": \d+`), `"start": 98765`},
}

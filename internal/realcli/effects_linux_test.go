package realcli

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/pelletier/go-toml/v2"

	"aisync.dev/aisync/internal/fakemodel"
)

// place is a stranger's project in a world, and what its doors did so far.
type place struct {
	*world
	s     stranger
	p     program
	marks string        // a folder of files, one a door that was taken
	dials *atomic.Int32 // connections to the server that is not the person's
}

// newPlace is a clone of s on the machine of a person who says "trust: true",
// and whose programs are set up and answer.
func newPlace(t *testing.T, s stranger) *place {
	t.Helper()
	w := newWorld(t, scope{}, []string{s.program})
	pl := &place{world: w, s: s, p: lookUp(t, s.program), marks: filepath.Join(filepath.Dir(w.home), "marks"), dials: new(atomic.Int32)}
	pl.p.flags = slices.DeleteFunc(slices.Clone(pl.p.flags), func(f string) bool { return slices.Contains(bypasses, f) })
	if err := os.Mkdir(pl.marks, 0o755); err != nil {
		t.Fatal(err)
	}
	url := pl.elsewhere()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	filled := func(text string) string {
		text = strings.NewReplacer("{url}", url, "{self}", self).Replace(text)
		return marked.ReplaceAllString(text, pl.marks+"/$1")
	}
	for name, text := range s.files {
		w.write(w.project, name, filled(text))
		if strings.HasPrefix(text, "#!") {
			if err := os.Chmod(filepath.Join(w.project, name), 0o755); err != nil {
				t.Fatal(err)
			}
		}
	}
	w.write(w.project, "aisync.cue", fmt.Sprintf("package aisync\n\nproject: {\n\tname: \"nice\"\n\truntimes: [%q]\n%s}\n", s.program, filled(s.spec)))
	if s.calls != "" && pl.p.shell != nil {
		c := pl.p.shell(filled(s.calls))
		w.call.Store(&c)
	}
	w.aisync("apply", "--scope", "host", "--yes")
	return pl
}

// bypasses are flags with which a person takes from a program what it asks.
var bypasses = []string{"--yolo"}

// marked is the place in the texts of a stranger of the file that a door leaves.
var marked = regexp.MustCompile(`\{mark:([a-z-]+)\}`)

// elsewhere is a model server that is not the person's, and counts who calls.
func (pl *place) elsewhere() string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		pl.t.Fatal(err)
	}
	other := &http.Server{Handler: fakemodel.New(replies(pl.call))}
	other.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			pl.dials.Add(1)
		}
	}
	go other.Serve(l)
	pl.t.Cleanup(func() { other.Close() })
	return "http://" + l.Addr().String()
}

// taken are the doors that were taken since the last call.
func (pl *place) taken() []string {
	pl.t.Helper()
	found, err := os.ReadDir(pl.marks)
	if err != nil {
		pl.t.Fatal(err)
	}
	var out []string
	for _, f := range found {
		out = append(out, f.Name())
		if err := os.Remove(filepath.Join(pl.marks, f.Name())); err != nil {
			pl.t.Fatal(err)
		}
	}
	if pl.dials.Swap(0) > 0 {
		out = append(out, "sends")
	}
	slices.Sort(out)
	return out
}

// wants compares the doors that were taken since the last call.
func (pl *place) wants(what string, doors []string, r result) {
	pl.t.Helper()
	got := pl.taken()
	want := slices.Sorted(slices.Values(doors))
	pl.t.Logf("%s: %v, %.1f s", what, got, r.took.Seconds())
	if !slices.Equal(got, want) {
		pl.t.Errorf("%s: took %v, want %v\n%s", what, got, want, r.out)
		pl.keep()
	}
}

// asks runs the program as a person does, without a word that spares questions.
func (pl *place) asks() result {
	pl.t.Helper()
	r := pl.try(pl.project, pl.p.environ(pl.model.URL), pl.p.ask("Say a word.")...)
	times.add(pl.p.Package.ID, r.took)
	if refusal := refusals[pl.s.program]; !strings.Contains(r.out, answer) && (refusal == "" || !strings.Contains(r.out, refusal)) {
		pl.t.Errorf("%s neither was answered nor refuses the folder:\n%s", pl.s.program, r.out)
	}
	return r
}

// refusals are what programs say that do not work at all in a folder that the
// person has not trusted.
var refusals = map[string]string{"gemini": "not running in a trusted directory"}

// applies runs aisync, which has no terminal, and wants an exit code.
func (pl *place) applies(code int, args ...string) result {
	pl.t.Helper()
	r := pl.try(pl.project, nil, append([]string{"aisync"}, args...)...)
	if r.code != code {
		pl.t.Errorf("aisync %s: exit code %d, want %d\n%s", strings.Join(args, " "), r.code, code, r.out)
	}
	return r
}

// trusted reports whether the program's own records say that it trusts the
// project's folder.
func (pl *place) trusted() bool {
	pl.t.Helper()
	for _, entry := range pl.p.User.Trust {
		b, err := os.ReadFile(filepath.Join(pl.home, strings.TrimPrefix(entry.Path, "~/")))
		if os.IsNotExist(err) {
			continue
		}
		var doc any
		if entry.Format == "toml" {
			var v map[string]any
			err = toml.Unmarshal(b, &v)
			doc = v
		} else if err == nil {
			err = json.Unmarshal(b, &doc)
		}
		if err != nil {
			pl.t.Fatalf("%s: %v", entry.Path, err)
		}
		for _, name := range strings.Split(strings.TrimPrefix(entry.Pointer, "/"), "/") {
			at, _ := doc.(map[string]any)
			doc = at[strings.ReplaceAll(name, "{dir}", pl.project)]
		}
		if b, err = json.Marshal(doc); err != nil {
			pl.t.Fatal(err)
		}
		if string(b) == string(entry.JSON) {
			return true
		}
	}
	return false
}

// untrusted wants that no record of the program trusts the folder.
func (pl *place) untrusted(when string) {
	pl.t.Helper()
	if pl.trusted() {
		pl.t.Errorf("%s trusts the folder after %s", pl.s.program, when)
	}
}

// snapshot is each file of the project and of the home, but git's and aisync's own state.
func (pl *place) snapshot() map[string]string {
	pl.t.Helper()
	out := map[string]string{}
	for _, dir := range []string{pl.project, pl.home} {
		err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case name == filepath.Join(pl.project, ".git") || name == filepath.Join(pl.home, ".local/state/aisync"):
				return fs.SkipDir
			case !d.Type().IsRegular():
				out[name] = d.Type().String()
				return nil
			}
			b, err := os.ReadFile(name)
			out[name] = fmt.Sprintf("%x", sha256.Sum256(b))
			return err
		})
		if err != nil {
			pl.t.Fatal(err)
		}
	}
	return out
}

// unchanged wants that f writes nothing.
func (pl *place) unchanged(what string, f func()) {
	pl.t.Helper()
	before := pl.snapshot()
	f()
	if after := pl.snapshot(); !maps.Equal(before, after) {
		for name := range after {
			if before[name] != after[name] {
				pl.t.Errorf("%s wrote %s", what, name)
			}
		}
		for name := range before {
			if after[name] == "" {
				pl.t.Errorf("%s removed %s", what, name)
			}
		}
	}
}

// Nothing of a stranger's project reaches a program before a person said yes to
// it, and all of it does then: the last step is what the steps before it lack.
func TestSpecEffectsNeedConfirmation(t *testing.T) {
	needPrograms(t)
	for _, s := range strangers {
		if s.spec == "" {
			continue
		}
		t.Run(s.program, func(t *testing.T) {
			t.Parallel()
			pl := newPlace(t, s)
			pl.refuses()
			r := pl.asks()
			pl.wants("the program after apply --yes", nil, r)
			pl.untrusted("its own run")

			pl.applies(3, "apply", "--yes", "--keep-going")
			pl.wants("apply --keep-going", nil, result{})
			pl.untrusted("apply --keep-going")
			r = pl.asks()
			pl.wants("the program after apply --keep-going", nil, r)
			pl.untrusted("its own run")

			pl.agrees()
			r = pl.asks()
			pl.wants("the program after apply --trust", s.doors, r)
		})
	}
}

// What a stranger committed lies there whatever aisync does, and some programs
// obey it unasked. aisync makes none of them trust the folder and starts none
// there before a person said yes.
func TestCommittedEffectsNeedConfirmation(t *testing.T) {
	needWholeRun(t)
	for _, s := range strangers {
		if s.spec != "" {
			continue
		}
		t.Run(s.program, func(t *testing.T) {
			t.Parallel()
			pl := newPlace(t, s)
			pl.refuses()
			pl.applies(3, "apply", "--yes", "--keep-going")
			pl.wants("apply --keep-going", nil, result{})
			pl.untrusted("apply --keep-going")
			pl.looks()
			r := pl.asks()
			pl.wants("the program after apply --keep-going", s.itself, r)
			pl.untrusted("its own run")

			pl.agrees()
			r = pl.try(pl.project, nil, "aisync", "doctor", "--deep", "--no-prompt")
			pl.wants("doctor --deep after apply --trust", s.checks, r)
			r = pl.asks()
			pl.wants("the program after apply --trust", s.doors, r)
		})
	}
}

// refuses runs an apply that has no terminal: it asks, and so changes nothing.
func (pl *place) refuses() {
	pl.t.Helper()
	pl.unchanged("apply --yes", func() {
		if r := pl.applies(4, "apply", "--yes"); !strings.Contains(r.out, "for your yes (listed above)") {
			pl.t.Errorf("apply --yes refuses something else:\n%s", r.out)
		}
	})
	pl.wants("apply --yes", nil, result{})
	pl.untrusted("apply --yes")
}

// agrees says yes to all of it, which starts nothing either.
func (pl *place) agrees() {
	pl.t.Helper()
	pl.applies(0, "apply", "--yes", "--trust")
	pl.wants("apply --trust", nil, result{})
	if len(pl.p.User.Trust) > 0 && !pl.trusted() {
		pl.t.Errorf("%s does not trust the folder after apply --trust", pl.s.program)
	}
}

// looks runs all of aisync that looks at a project without changing it, and
// what starts programs in it: none of that takes a door.
func (pl *place) looks() {
	pl.t.Helper()
	for _, args := range [][]string{
		{"plan"}, {"drift"}, {"status"}, {"validate"}, {"import", "--dry-run"}, {"facts"},
		{"doctor", "--deep"}, {"doctor", "--deep", "--offline", "--no-prompt"},
		{"launch", "--no-tmux", "--runtime", pl.s.program, "."},
	} {
		what := strings.Join(args, " ")
		var env []string
		if args[0] == "launch" {
			env = []string{"AISYNC_OFFLINE="} // else Gemini CLI is refused for another reason
		}
		r := pl.try(pl.project, env, append([]string{"aisync"}, args...)...)
		if args[0] == "launch" && (r.code != 4 || !strings.Contains(r.out, "was not started")) {
			pl.t.Errorf("%s: exit code %d\n%s", what, r.code, r.out)
		}
		if r.code == 64 {
			pl.t.Errorf("%s is no command line of aisync:\n%s", what, r.out)
		}
		pl.wants(what, nil, r)
		pl.untrusted(what)
	}
}

// The document says which versions took which doors.
func TestTheTableOfEffectsNamesThePins(t *testing.T) {
	text, err := os.ReadFile("../../docs/guarantees.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range Agents {
		if row := "\n| " + p.ID + " " + p.Version + " |"; slices.ContainsFunc(strangers, func(s stranger) bool { return s.program == p.ID }) && !strings.Contains(string(text), row) {
			t.Errorf("docs/guarantees.md has no row %q", row)
		}
	}
}

// git runs what lies in githooks once core.hooksPath names it, which waits too.
func TestGitHookEffectsNeedConfirmation(t *testing.T) {
	needPrograms(t)
	hook := "#!/bin/sh\ntouch {mark:git-hook}\n"
	for name, s := range map[string]stranger{
		"bundle":    {program: "claude", spec: demo, files: map[string]string{inBundle + "githooks/pre-commit": hook}},
		"committed": {program: "claude", spec: demo, files: map[string]string{inBundle + "githooks/pre-push": hook, "githooks/pre-commit": hook}},
	} {
		t.Run(name, func(t *testing.T) {
			pl := newPlace(t, s)
			commit := func() result {
				me := []string{"GIT_AUTHOR_NAME=me", "GIT_AUTHOR_EMAIL=me@localhost", "GIT_COMMITTER_NAME=me", "GIT_COMMITTER_EMAIL=me@localhost"}
				return pl.run(pl.project, me, "git", "commit", "-q", "--allow-empty", "-m", "x")
			}
			pl.refuses()
			pl.wants("git commit after apply --yes", nil, commit())
			pl.applies(3, "apply", "--yes", "--keep-going")
			pl.wants("git commit after apply --keep-going", nil, commit())
			pl.agrees()
			pl.wants("git commit after apply --trust", []string{"git-hook"}, commit())
		})
	}
}

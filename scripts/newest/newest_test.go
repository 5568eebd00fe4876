package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/internal/realcli"
	"aisync.dev/aisync/internal/versions"
)

func TestReleases(t *testing.T) {
	got := releases([]string{"0.9.0", "1.10.0", "1.2.0", "1.10.1-beta.1", "1.9.0", "1.11.0", "1.10.0"}, "1.2.0", "1.10.0")
	if want := []string{"1.9.0", "1.10.0"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// lab is npm and the tests, of one program whose parts break at versions.
type lab struct {
	broken  map[string]bool   // versions that cannot be installed
	breaks  map[string]string // part: the version from which on it is wrong
	fails   map[string]string // test: the version from which on it fails
	unsound map[string]bool   // tests that fail beside others, and pass alone
	alone   int               // runs of one test
}

func (l *lab) install(_ context.Context, p realcli.Package) error {
	if l.broken[p.Version] {
		return errors.New("install x: npm: exit status 1\nnpm error code ETARGET\nnpm error notarget No matching version found for y@^2.\nnpm error notarget In most cases")
	}
	return nil
}

func (l *lab) run(_ context.Context, at map[string]string, pattern string, _ []string) (outcome, error) {
	if pattern != "" {
		l.alone++
	}
	proof, _ := catalog.ProofOf("pi")
	o := outcome{seen: realcli.Seen{"pi": {"user": {}, "project": {}}}}
	v, moved := at["pi"]
	if !moved {
		v = proof.Version
	}
	bad := func(from string) bool { return from != "" && versions.Compare(v, from) >= 0 }
	for scope, listed := range map[string][]string{"user": append(slices.Clone(proof.User), "permissions"), "project": proof.Project} {
		for _, part := range listed {
			test := "Test" + part + "/" + scope + "/pi"
			if pattern != "" && pattern != exactly(test) {
				continue
			}
			wrong := bad(l.breaks[part+" "+scope]) || l.unsound[test] && pattern == ""
			if from := l.fails[test]; bad(from) {
				o.failed = append(o.failed, test) // it fails before it looks at the part
				continue
			}
			if part == "permissions" && v == proof.Version {
				continue // what the newer program has
			}
			o.seen["pi"][scope][part] = realcli.SeenPart{Right: !wrong, Test: test}
			if wrong {
				o.failed = append(o.failed, test)
			}
		}
	}
	if bad(l.fails["TestStory"]) {
		o.failed = append(o.failed, "TestStory")
	}
	return o, nil
}

func pi(t *testing.T, l *lab, newer int) program {
	t.Helper()
	i := slices.IndexFunc(realcli.Agents, func(p realcli.Package) bool { return p.ID == "pi" })
	var list []string
	for n := range newer {
		list = append(list, fmt.Sprintf("50.%d.0", n))
	}
	return walkDown(context.Background(), program{pin: realcli.Agents[i], latest: list[len(list)-1]}, list, l)
}

func TestNewestThatCanBeInstalled(t *testing.T) {
	p := pi(t, &lab{broken: map[string]bool{"50.8.0": true, "50.9.0": true}}, 10)
	if p.newest != "50.7.0" || len(p.between) != 8 {
		t.Errorf("newest %s of %v", p.newest, p.between)
	}
	if want := []string{"pi 50.9.0 cannot be installed: No matching version found for y@^2.", "pi 50.8.0 cannot be installed: No matching version found for y@^2."}; !slices.Equal(p.problems, want) {
		t.Errorf("problems %q, want %q", p.problems, want)
	}
	if p := pi(t, &lab{broken: map[string]bool{"50.0.0": true}}, 1); p.moved() {
		t.Errorf("nothing can be installed, and it moved to %s", p.newest)
	}
}

func TestFirstBadVersion(t *testing.T) {
	var list []string
	for n := range 100 {
		list = append(list, fmt.Sprint(n))
	}
	for first := range list {
		steps := 0
		got, sure := firstBad(list, func(v string) (bool, error) { steps++; return slices.Index(list, v) < first, nil })
		if got != fmt.Sprint(first) || !sure || steps > maxSteps {
			t.Errorf("first %d: got %s, sure %v, %d steps", first, got, sure, steps)
		}
	}
	// The neighbours of a version that cannot be tried decide, and what lies between is open.
	got, sure := firstBad([]string{"a", "b", "c", "d", "e"}, func(v string) (bool, error) {
		if v == "c" {
			return false, errors.New("cannot be installed")
		}
		return v < "c", nil
	})
	if got != "d" || sure {
		t.Errorf("got %s, sure %v, want d, which c may be before", got, sure)
	}
}

func TestRegressionsAreBisected(t *testing.T) {
	l := &lab{
		breaks:  map[string]string{"skills user": "50.3.0", "rules project": "50.11.0"},
		fails:   map[string]string{"Testhooks/project/pi": "50.1.0", "TestStory": "50.9.0"},
		unsound: map[string]bool{"Testcommands/user/pi": true},
	}
	p := pi(t, l, 12)
	r, err := compare(context.Background(), []program{p}, l, "")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, c := range r.changes {
		got[strings.TrimSpace(c.part+" "+c.scope)] = fmt.Sprintf("%s → %s %v %s", c.was, c.is, c.bad, c.first)
	}
	want := map[string]string{
		"skills user":      "run → wrong true 50.3.0",
		"rules project":    "run → wrong true 50.11.0",
		"hooks project":    "run → not seen true 50.1.0",
		"`TestStory`":      "passes → fails true 50.9.0",
		"permissions user": "manual → run false ",
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("changes\n%v\nwant\n%v", got, want)
	}
	if !r.regressed() || len(r.notes) != 1 || !strings.Contains(r.notes[0], "commands user: wrong beside the others and right alone") {
		t.Errorf("notes %q", r.notes)
	}
	if limit := 4 * (maxSteps + 2); l.alone > limit {
		t.Errorf("%d runs, want at most %d", l.alone, limit)
	}
	r.date = "2026-01-02"
	for _, row := range []string{
		"| pi | " + p.pin.Version + " | 50.11.0 | 50.11.0 | ",
		"| pi | skills | user | " + p.pin.Version + " | 50.11.0 | **regressed**: run → wrong | 50.3.0 |\n",
		"| pi | permissions | user | " + p.pin.Version + " | 50.11.0 | better: manual → run |  |\n",
	} {
		if !strings.Contains(r.markdown(), row) {
			t.Errorf("the page lacks %q:\n%s", row, r.markdown())
		}
	}
}

// What is wrong with the pin too is no regression of the newer version.
func TestWrongWithPinIsNoRegression(t *testing.T) {
	l := &lab{breaks: map[string]string{"skills user": "0.0.1"}}
	r, err := compare(context.Background(), []program{pi(t, l, 3)}, l, "")
	if err != nil || r.regressed() || len(r.notes) != 1 || !strings.Contains(r.notes[0], "with the pin") {
		t.Errorf("regressed %v, notes %q, error %v", r.regressed(), r.notes, err)
	}
}

func TestProgramThatDidNotMoveIsNotRun(t *testing.T) {
	l := &lab{broken: map[string]bool{"50.0.0": true}, breaks: map[string]string{"skills user": "0.0.1"}}
	r, err := compare(context.Background(), []program{pi(t, l, 1)}, l, "")
	if err != nil || r.regressed() || len(r.held) > 0 || !strings.Contains(r.markdown(), "No part changed") {
		t.Errorf("%+v, error %v", r, err)
	}
}

func TestFailuresNamesTheInnermost(t *testing.T) {
	in := `{"Action":"output","Output":"loose\n"}
{"Action":"output","Test":"TestA/x","Output":"why\n"}
{"Action":"fail","Test":"TestA/x"}
{"Action":"fail","Test":"TestA"}
{"Action":"pass","Test":"TestB"}
{"Action":"fail","Test":"TestC"}
`
	failed, tail := failures(strings.NewReader(in))
	if !slices.Equal(failed, []string{"TestA/x", "TestC"}) || tail != "loose\n" {
		t.Errorf("failed %v, tail %q", failed, tail)
	}
}

func TestReasonOfAnInnerNpm(t *testing.T) {
	for text, want := range map[string]string{
		"install x: npm: exit status 1\nnpm error code 1\nnpm error path /home/me/x\nnpm error command failed\nnpm error npm error code ETARGET\nnpm error npm error notarget No matching version found for y@1.": "No matching version found for y@1.",
		"npm: exit status 1\nnpm error code 1\nnpm error path /home/me/x\nnpm error command failed":                                                                                                               "command failed",
		"no network": "no network",
	} {
		if got := reason(errors.New(text)); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

package main

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"maps"
	"net/url"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"aisync.dev/aisync/app/drift"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/cmd/aisync/internal/view"
)

// happenings are what may become of a project that was made by an apply and
// committed. Each names what drift is to say, and that alone.
var happenings = []struct {
	name    string
	do      string // a shell script in the project
	drift   []string
	pending []string
	says    string // within the text report
	stays   []string
}{
	{
		name:  "nothing",
		do:    "true",
		drift: nil,
		says:  "No drift, nothing pending",
	},
	{
		name:  "a rule is edited",
		do:    `sed -i 's/^# Emacs Lisp$/# Emacs, by hand/' .claude/rules/elisp.md`,
		drift: []string{"file:.claude/rules/elisp.md"},
		says:  "drift  .claude/rules/elisp.md:5  edited since the last apply, from aisync.cue:9:12\n",
	},
	{
		name:  "a hook is deleted",
		do:    `rm .claude/hooks/check-el.sh`,
		drift: []string{"file:.claude/hooks/check-el.sh"},
		says:  "drift  .claude/hooks/check-el.sh  deleted since the last apply",
	},
	{
		name:  "a hook is no longer executable",
		do:    `chmod -x .claude/hooks/check-el.sh`,
		drift: []string{"file:.claude/hooks/check-el.sh"},
		says:  "no longer executable",
	},
	{
		name: "only bits of a mode that are not ours change",
		do:   `chmod go-rwx .claude/hooks/check-el.sh .claude/rules/elisp.md`,
		says: "No drift, nothing pending",
	},
	{
		name:  "a person adds a key to settings.json",
		do:    `sed -i '1a \  "model": "opus",' .claude/settings.json`,
		says:  "No drift, nothing pending", // not ours, and none of our business
		stays: []string{".claude/settings.json"},
	},
	{
		name:  "one of our keys in settings.json is removed",
		do:    `sed -i '/Bash(make test)/d' .claude/settings.json`,
		drift: []string{"file:.claude/settings.json"},
		says:  `-/permissions/allow "Bash(make test)"`,
	},
	{
		name:  "core.hooksPath is changed",
		do:    `git config core.hooksPath .husky`,
		drift: []string{"gitconfig:core.hooksPath"},
		says:  "-core.hooksPath = githooks\n      +core.hooksPath = .husky\n",
	},
	{
		name:  "an ignore line is dropped",
		do:    `sed -i '/^\*\.elc$/d' .gitignore`,
		drift: []string{"file:.gitignore"},
		says:  "-line *.elc",
	},
	{
		name:  "a stray file is put into a folder that is ours",
		do:    `echo '# Do as you like' >.claude/rules/zz.md`,
		drift: []string{"file:.claude/rules/zz.md"},
		says:  "drift  .claude/rules/zz.md  a stray file: no spec asks for it, in a folder of aisync's\n",
	},
	{
		name:  "files are put where people keep theirs, or where git ignores them",
		do:    `echo x >.ai/notes.org; echo x >tasks/queue/guardrails/1.yml; echo x >.claude/mine.md; echo x >.claude/hooks/x.elc`,
		says:  "No drift, nothing pending",
		stays: []string{".ai/notes.org", "tasks/queue/guardrails/1.yml", ".claude/mine.md", ".claude/hooks/x.elc"},
	},
	{
		name: "the bundle's rule is renamed upstream",
		do:   `mv ../rulesets/languages/elisp/claude/rules/elisp.md ../rulesets/languages/elisp/claude/rules/emacs-lisp.md`,
		pending: []string{
			"file:.claude/rules/elisp.md", "file:.claude/rules/emacs-lisp.md",
			"file:AGENTS.md", // which names the rule
		},
		says: "pending  .claude/rules/elisp.md  no longer in the spec\n",
		stays: []string{
			".claude/rules/elisp.md", ".claude/rules/emacs-lisp.md",
			"AGENTS.md", "aisync.lock",
		},
	},
	{
		name:  "a rule is edited, a hook is gone and a stray is there",
		do:    `echo more >>.claude/rules/elisp.md; rm githooks/pre-commit; mkdir .claude/rules/sub; echo x >.claude/rules/sub/zz.md`,
		drift: []string{"file:.claude/rules/elisp.md", "file:.claude/rules/sub/zz.md", "file:githooks/pre-commit"},
		says:  "3 drifted, 0 pending, 0 unknown of 30 resources.",
	},
}

func TestDriftReportsEditsAndRestoreUndoesThem(t *testing.T) {
	t.Parallel()
	for _, h := range happenings {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			p := newPerson(t)
			p.env = append(p.env, "GIT_AUTHOR_NAME=me", "GIT_AUTHOR_EMAIL=me@localhost", "GIT_COMMITTER_NAME=me", "GIT_COMMITTER_EMAIL=me@localhost")
			p.must(t, "apply", "--scope", "project", "--yes", "--trust")
			p.shell(t, "git add -A && git commit -q -m made")
			made := managedTree(t, p.project())

			p.shell(t, h.do)
			wantCode := cli.ExitOK
			if len(h.drift)+len(h.pending) > 0 {
				wantCode = cli.ExitDiff
			}
			reported := map[string]string{}
			for _, format := range []string{"text", "json", "sarif", "github", "junit"} {
				out, code := p.run(t, "drift", "--format", format)
				if code != wantCode {
					t.Errorf("drift --format %s exits with %d, want %d\n%s", format, code, wantCode, out)
				}
				reported[format] = out
			}
			if !strings.Contains(reported["text"], h.says) {
				t.Errorf("the text does not say %q:\n%s", h.says, reported["text"])
			}
			for format, read := range map[string]func(*testing.T, string) found{"text": fromText, "json": fromJSON, "sarif": fromSARIF, "github": fromGitHub, "junit": fromJUnit} {
				got := read(t, reported[format])
				if !slices.Equal(got.drift, h.drift) || !slices.Equal(got.pending, h.pending) {
					t.Errorf("%s reports drift %q and pending %q, want %q and %q\n%s", format, got.drift, got.pending, h.drift, h.pending, reported[format])
				}
			}

			p.must(t, "apply", "--scope", "project", "--restore", "--yes", "--trust")
			restored := managedTree(t, p.project())
			for _, own := range h.stays {
				if restored[own] == made[own] {
					t.Errorf("apply --restore put %s back, which is not ours or has moved on", own)
				}
				delete(restored, own)
				delete(made, own)
			}
			for name := range maps.Keys(union(restored, made)) {
				if strings.Contains(h.do, "chmod go-rwx") {
					break // aisync does not own these bits
				}
				if restored[name] != made[name] {
					t.Errorf("after apply --restore, %s is %s, want %s", name, restored[name], made[name])
				}
			}
			if out, code := p.run(t, "drift"); code != cli.ExitOK || !strings.Contains(out, "No drift, nothing pending") {
				t.Errorf("after apply --restore, drift exits with %d:\n%s", code, out)
			}
		})
	}
}

func union(a, b map[string]string) map[string]string {
	out := maps.Clone(a)
	maps.Copy(out, b)
	return out
}

// managedTree is every file of a project with its mode and text, git's
// configuration among them.
func managedTree(t *testing.T, dir string) map[string]string {
	out := tree(t, dir)
	for name, state := range out {
		mode, rest, _ := strings.Cut(state, " ")
		sum, _, _ := strings.Cut(rest, " ")
		out[name] = mode + " " + sum
		if mode[0] == 'd' {
			delete(out, name)
		}
	}
	return out
}

func (p person) shell(t *testing.T, script string) {
	t.Helper()
	cmd := exec.Command("sh", "-ec", script)
	cmd.Dir, cmd.Env = p.project(), p.env
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", script, err, out)
	}
}

// run returns what goes to stdout, and the exit code.
func (p person) run(t *testing.T, args ...string) (string, int) {
	t.Helper()
	cmd := p.aisync(args...)
	var out, complaints bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaints
	err := cmd.Run()
	var exited *exec.ExitError
	if err != nil && !errors.As(err, &exited) {
		t.Fatal(err)
	}
	if cmd.ProcessState.ExitCode() == cli.ExitError {
		t.Logf("aisync %s: %s", strings.Join(args, " "), complaints.String())
	}
	return out.String(), cmd.ProcessState.ExitCode()
}

// found is what a report names, sorted as there.
type found struct{ drift, pending []string }

func (f *found) add(t *testing.T, word, address string) {
	switch word {
	case "drift":
		f.drift = append(f.drift, address)
	case "pending":
		f.pending = append(f.pending, address)
	default:
		t.Errorf("%s is %q", address, word)
	}
}

func fromText(t *testing.T, report string) (f found) {
	for _, m := range regexp.MustCompile(`(?m)^(drift|pending|unknown)  (\S+?)(?::\d+)?  `).FindAllStringSubmatch(report, -1) {
		kind := "file:"
		if strings.HasPrefix(m[2], "core.") {
			kind = "gitconfig:"
		}
		f.add(t, m[1], kind+m[2])
	}
	return f
}

func fromJSON(t *testing.T, report string) (f found) {
	var v drift.Report
	dec := json.NewDecoder(strings.NewReader(report))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&v); err != nil {
		t.Fatalf("%v\n%s", err, report)
	}
	for _, s := range view.Sections(&v) {
		for _, d := range s.List {
			f.add(t, s.Word, string(d.Address))
		}
	}
	return f
}

// fromSARIF also holds a log to what its schema requires of the properties
// that are in use.
func fromSARIF(t *testing.T, report string) (f found) {
	type message struct {
		Text string `json:"text"`
	}
	var log struct {
		Schema  string `json:"$schema"`
		Version string `json:"version"`
		Runs    []struct {
			Tool struct {
				Driver struct {
					Name    string `json:"name"`
					Version string `json:"version"`
					Rules   []struct {
						ID                   string            `json:"id"`
						ShortDescription     message           `json:"shortDescription"`
						DefaultConfiguration map[string]string `json:"defaultConfiguration"`
					} `json:"rules"`
				} `json:"driver"`
			} `json:"tool"`
			Invocations []struct {
				ExecutionSuccessful        *bool `json:"executionSuccessful"` // required
				ToolExecutionNotifications []struct {
					Level   string  `json:"level"`
					Message message `json:"message"`
				} `json:"toolExecutionNotifications"`
			} `json:"invocations"`
			Results []struct {
				RuleID              string            `json:"ruleId"`
				RuleIndex           int               `json:"ruleIndex"`
				Level               string            `json:"level"`
				Message             message           `json:"message"`
				PartialFingerprints map[string]string `json:"partialFingerprints"`
				Locations           []struct {
					PhysicalLocation *struct {
						ArtifactLocation struct {
							URI       string `json:"uri"`
							URIBaseID string `json:"uriBaseId"`
						} `json:"artifactLocation"`
						Region *struct {
							StartLine int `json:"startLine"`
						} `json:"region"`
					} `json:"physicalLocation"`
					LogicalLocations []struct {
						FullyQualifiedName string `json:"fullyQualifiedName"`
						Kind               string `json:"kind"`
					} `json:"logicalLocations"`
				} `json:"locations"`
			} `json:"results"`
		} `json:"runs"`
	}
	dec := json.NewDecoder(strings.NewReader(report))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&log); err != nil {
		t.Fatalf("%v\n%s", err, report)
	}
	if log.Version != "2.1.0" || log.Schema != "https://json.schemastore.org/sarif-2.1.0.json" || len(log.Runs) != 1 {
		t.Errorf("version %q, schema %q, %d runs", log.Version, log.Schema, len(log.Runs))
	}
	for _, run := range log.Runs {
		driver := run.Tool.Driver
		if driver.Name != "aisync" || len(run.Invocations) != 1 || run.Invocations[0].ExecutionSuccessful == nil {
			t.Errorf("a run without its tool or invocation:\n%s", report)
		}
		for _, r := range run.Results {
			address := r.PartialFingerprints["address/v1"]
			f.add(t, r.RuleID, address)
			if r.RuleIndex >= len(driver.Rules) || driver.Rules[r.RuleIndex].ID != r.RuleID || driver.Rules[r.RuleIndex].ShortDescription.Text == "" {
				t.Errorf("%s: rule %q is not number %d of the driver's", address, r.RuleID, r.RuleIndex)
			}
			if !slices.Contains([]string{"none", "note", "warning", "error"}, r.Level) || r.Message.Text == "" {
				t.Errorf("%s: level %q, message %q", address, r.Level, r.Message.Text)
			}
			if len(r.Locations) != 1 || len(r.Locations[0].LogicalLocations) != 1 || r.Locations[0].LogicalLocations[0].FullyQualifiedName != address {
				t.Fatalf("%s: no one place", address)
			}
			place := r.Locations[0].PhysicalLocation
			if place == nil {
				t.Fatalf("%s: no file to show it at", address)
			}
			if u, err := url.Parse(place.ArtifactLocation.URI); err != nil || u.IsAbs() || strings.HasPrefix(u.Path, "/") {
				t.Errorf("%s: %q is no relative URI reference", address, place.ArtifactLocation.URI)
			}
			if place.Region != nil && place.Region.StartLine < 1 {
				t.Errorf("%s: line %d", address, place.Region.StartLine)
			}
		}
	}
	return f
}

func fromGitHub(t *testing.T, report string) (f found) {
	command := regexp.MustCompile(`^::(error|warning) (?:file=[^,:]+,)?(?:line=[1-9]\d*,)?title=aisync (drift|pending|unknown)::([a-z]+:\S+): `)
	for line := range strings.Lines(report) {
		m := command.FindStringSubmatch(line)
		if m == nil {
			t.Errorf("no annotation: %q", line)
			continue
		}
		if !strings.Contains(line, "::error file=") && !strings.Contains(line, "::warning file=") {
			t.Errorf("it is on no file: %q", line)
		}
		f.add(t, m[2], m[3])
	}
	return f
}

func fromJUnit(t *testing.T, report string) (f found) {
	var suites view.JunitSuites
	if err := xml.Unmarshal([]byte(report), &suites); err != nil {
		t.Fatalf("%v\n%s", err, report)
	}
	cases, failures := 0, 0
	for _, s := range suites.Suites {
		for _, c := range s.Cases {
			cases++
			word := strings.TrimPrefix(c.Class, "aisync.")
			if c.Failure == nil {
				if !strings.HasSuffix(c.Name, " in order") {
					t.Errorf("%s passed", c.Name)
				}
				continue
			}
			failures++
			if c.Failure.Type != word || c.Failure.Message == "" || !strings.HasPrefix(c.Failure.Text, c.Name) {
				t.Errorf("%+v", c)
			}
			f.add(t, word, c.Name)
		}
	}
	if suites.Tests != cases || suites.Failures != failures || suites.Errors != 0 {
		t.Errorf("%d tests and %d failures, counted %d and %d", suites.Tests, suites.Failures, cases, failures)
	}
	return f
}

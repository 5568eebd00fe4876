package fleet

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

var now = time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC)

func machine(name string, change func(*Report)) []byte {
	r := &Report{
		FormatVersion: Version, Kind: Kind, Hostname: name, Host: name, Made: now.Add(-time.Hour), Aisync: Program{Version: "v0.1.0"},
		Spec: Spec{Commit: "4f1c2d8a9be0"}, Runtimes: []Runtime{{ID: "claude", Version: "2.1.0", State: InRange}},
	}
	if change != nil {
		change(r)
	}
	return r.Bytes()
}

func TestReadSortsProblemsFirst(t *testing.T) {
	dir := t.TempDir()
	whole := string(machine("whole", nil))
	files := map[string]string{
		"half.json":     whole[:len(whole)/2],
		"empty.json":    "",
		"garbage.json":  "\x00\x01{]",
		"list.json":     "[1, 2]",
		"other.json":    `{"format_version": "1.0", "ok": true}`,
		"types.json":    strings.Replace(string(machine("types", nil)), `"checked": 0`, `"checked": "many"`, 1),
		"newer.json":    strings.Replace(string(machine("newer", nil)), `"1.0"`, `"2.3"`, 1),
		"minor.json":    strings.Replace(string(machine("minor", nil)), `"1.0"`, `"1.9"`, 1),
		"drifted.json":  string(machine("drifted", func(r *Report) { r.Drift.Drift, r.Drift.Pending = 2, 1 })),
		"failing.json":  string(machine("failing", func(r *Report) { r.Doctor.Fail, r.Doctor.Findings = 1, []Finding{{"hooks", "fail", "x"}} })),
		"outside.json":  string(machine("outside", func(r *Report) { r.Runtimes[0].State, r.Runtimes[0].Why = Outside, "want >=3" })),
		"project.json":  string(machine("project", func(r *Report) { r.Projects = []Project{{Name: "~/code/x", Error: "gone"}} })),
		"back.json":     string(machine("back", func(r *Report) { r.Made = now.Add(-183 * 24 * time.Hour) })),
		"future.json":   string(machine("future", func(r *Report) { r.Made = now.Add(3 * time.Hour) })),
		"ahead.json":    string(machine("ahead", func(r *Report) { r.Made = now.Add(2 * time.Minute) })),
		"nodate.json":   string(machine("nodate", func(r *Report) { r.Made = time.Time{} })),
		"twin.json":     string(machine("whole", nil)),
		"whole.json":    whole,
		".whole.json~1": "{",
		".new-1.json":   "{",
		"README":        "no report",
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "folder.json"), 0o755); err != nil {
		t.Fatal(err)
	}
	rows, err := Read(dir, Options{Now: now, Stale: 7 * 24 * time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"half.json": "damaged: it ends too early", "empty.json": "damaged: the file is empty", "garbage.json": "damaged: damaged: invalid character",
		"list.json": "damaged: no report of aisync", "other.json": "damaged: no report of aisync", "types.json": "damaged: damaged: json: cannot unmarshal string",
		"folder.json": "damaged: cannot be read", "newer.json": `foreign: the report is of format "2.3", and this aisync reads 1.0`, "minor.json": "in order: ",
		"drifted.json": "differs: 2 resources edited; 1 resource pending", "failing.json": "failing: doctor: 1 failure (hooks)", "outside.json": "failing: claude 2.1.0 is outside of its range: want >=3",
		"project.json": "failing: ~/code/x could not be looked at: gone", "back.json": "stale: the last report is 183d old", "future.json": "stale: the report is 3h in the future",
		"ahead.json": "in order: ", "nodate.json": "failing: the report has no date", "twin.json": "in order: ", "whole.json": "failing: twin.json is of this host name, too",
	}
	var order []int
	for _, r := range rows {
		got := r.State + ": " + strings.Join(r.Problems, "; ")
		if !strings.Contains(got, strings.TrimPrefix(want[r.File], "damaged: ")) || !strings.HasPrefix(got, strings.SplitN(want[r.File], ":", 2)[0]) || want[r.File] == "" {
			t.Errorf("%s: got %q, want %q", r.File, got, want[r.File])
		}
		order = append(order, slices.Index(states, r.State))
	}
	if len(rows) != len(want) || !slices.IsSorted(order) {
		t.Errorf("%d rows of %d in the order %v", len(rows), len(want), order)
	}
}

func TestFiftyReportsAreFiftyRows(t *testing.T) {
	dir := t.TempDir()
	for i := range 50 {
		name := fmt.Sprintf("host-%02d", i)
		if err := os.WriteFile(filepath.Join(dir, FileName(name)), machine(name, nil), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	rows, err := Read(dir, Options{Now: now, Stale: time.Hour * 24})
	if err != nil || len(rows) != 50 || rows[0].Hostname != "host-00" || rows[49].Age != 3600 {
		t.Errorf("got %d rows, %v", len(rows), err)
	}
}

func TestFileNameStaysInTheFolder(t *testing.T) {
	for host, want := range map[string]string{"anna": "anna.json", "../../etc/x": "_.._etc_x.json", "": "unnamed.json", ".hidden": "hidden.json", "a b\n": "a_b_.json"} {
		if got := FileName(host); got != want {
			t.Errorf("%q: got %q, want %q", host, got, want)
		}
	}
}

// The rules of the text format, version 0.0.4, and of node_exporter's textfile
// collector, which refuses times.
func TestTextfileFollowsTheFormat(t *testing.T) {
	r := &Report{
		Made: now, Host: "a", Aisync: Program{Version: "v0.1.0"}, Bases: []Base{{`quote" back\slash`, "line\nbreak"}},
		Runtimes: []Runtime{{ID: "claude", State: InRange}, {ID: "codex", State: Missing}}, Pins: []Pin{{Kind: "bundle"}, {Kind: "bundle"}, {Kind: "base"}},
		Projects: []Project{{Name: "~/code/\xff"}}, Drift: Drift{Checked: 3, Drift: 1}, Doctor: Doctor{Fail: 1, OK: 20},
	}
	text := string(r.Textfile())
	if !strings.HasSuffix(text, "\n") {
		t.Error("the last line does not end")
	}
	sample := regexp.MustCompile(`^([a-zA-Z_:][a-zA-Z0-9_:]*)(\{[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\\\|\\"|\\n)*"(?:,[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\\\|\\"|\\n)*")*\})? ([0-9]+)$`)
	help, typed := map[string]bool{}, map[string]bool{}
	last, seen := "", map[string]bool{}
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		switch f := strings.SplitN(line, " ", 4); {
		case strings.HasPrefix(line, "# HELP "):
			if help[f[2]] || len(f) < 4 {
				t.Errorf("twice, or without words: %s", line)
			}
			help[f[2]], last = true, f[2]
		case strings.HasPrefix(line, "# TYPE "):
			if f[2] != last || f[3] != "gauge" {
				t.Errorf("no gauge after its help: %s", line)
			}
			typed[f[2]] = true
		default:
			m := sample.FindStringSubmatch(line)
			if m == nil || m[1] != last || !typed[m[1]] || seen[m[1]+m[2]] {
				t.Errorf("no sample, not after its metric, or twice: %s", line)
				continue
			}
			seen[m[1]+m[2]] = true
			if !strings.HasPrefix(m[1], "aisync_") || strings.HasSuffix(m[1], "_total") || strings.HasSuffix(m[1], "_count") {
				t.Errorf("%s is no name of a gauge of aisync", m[1])
			}
		}
	}
	for _, want := range []string{
		"aisync_report_timestamp_seconds 1770091506\n", `aisync_base_info{base="quote\" back\\slash",pin="line\nbreak"} 1` + "\n",
		`aisync_runtime_in_range{runtime="codex"} 0`, `aisync_pins{kind="bundle"} 2`, `aisync_differing_resources{state="drift"} 1`, `aisync_project_checked{project="~/code/?"} 1`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("lacks %s in\n%s", want, text)
		}
	}
}

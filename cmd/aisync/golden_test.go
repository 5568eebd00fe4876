package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"aisync.dev/aisync/hosts"
	"aisync.dev/aisync/hosts/facts"
)

var update = flag.Bool("update", false, "write golden/ anew")

// machine is a scratch machine with one host's spec and the contract's project.
type machine struct {
	t    *testing.T
	dir  string // holds root/, contract/, facts.json
	host string
}

// newMachine sets up a machine: "velox" has the contract's own spec, "pearl" the
// embedded example, "default" none at all.
func newMachine(t *testing.T, host string) *machine {
	t.Helper()
	m := &machine{t: t, dir: t.TempDir(), host: host}
	m.must(os.CopyFS(filepath.Join(m.dir, "contract"), os.DirFS(filepath.Join("..", "..", "golden", "contract"))))
	m.must(os.MkdirAll(filepath.Join(m.dir, "root", "home", "me"), 0o755))
	spec := filepath.Join(m.dir, "contract", "host", "velox.cue")
	if host != "velox" {
		m.must(os.Remove(spec))
	}
	if host == "pearl" {
		cue, ok := hosts.Example("pearl")
		if !ok {
			t.Fatal("no example pearl")
		}
		m.must(os.WriteFile(filepath.Join(filepath.Dir(spec), "pearl.cue"), cue, 0o644))
	}
	b, err := json.MarshalIndent(factsOf(t, host), "", "  ")
	m.must(err)
	m.must(os.WriteFile(filepath.Join(m.dir, "facts.json"), append(b, '\n'), 0o644))
	git := exec.Command("git", "init", "-q", "-b", "main", m.project())
	git.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null")
	m.must(git.Run())
	return m
}

// factsOf are the recorded facts of a host. The default host is a laptop on
// which two of the programs are installed.
func factsOf(t *testing.T, host string) facts.Facts {
	if f, ok := hosts.Recorded(host); ok {
		return f
	}
	f, ok := hosts.Recorded("velox")
	if !ok {
		t.Fatal("no recorded facts of velox")
	}
	f.Hostname = "laptop"
	f.Programs = map[string]string{"claude": "/usr/bin/claude", "opencode": "/usr/bin/opencode", "git": "/usr/bin/git"}
	return f
}

func (m *machine) must(err error) {
	m.t.Helper()
	if err != nil {
		m.t.Fatal(err)
	}
}

func (m *machine) project() string { return filepath.Join(m.dir, "contract", "project") }

// run runs a command in the project and returns what it printed, with what
// differs from run to run replaced.
func (m *machine) run(args ...string) string {
	m.t.Helper()
	here, err := os.Getwd()
	m.must(err)
	m.must(os.Chdir(m.project()))
	defer func() { m.must(os.Chdir(here)) }()
	var out, diagnostics bytes.Buffer
	argv := append([]string{"aisync", "--root", filepath.Join(m.dir, "root"), "--config", filepath.Join(m.dir, "contract", "host"), "--facts", filepath.Join(m.dir, "facts.json")}, args...)
	environ := []string{"HOME=/home/me", "PATH=" + os.Getenv("PATH"), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "HF_ENDPOINT=http://127.0.0.1:1"}
	if code := run(argv, strings.NewReader(""), &out, &diagnostics, environ); code != 0 {
		m.t.Fatalf("%s: exit code %d\n%s%s", strings.Join(args, " "), code, out.String(), diagnostics.String())
	}
	return m.steady(out.String())
}

// apply makes everything true but the models and packages, which would have to
// be fetched.
func (m *machine) apply() {
	m.t.Helper()
	args := []string{"apply", "--yes", "--trust"}
	if m.host != "default" {
		args = append(args, "--exclude", "model:*", "--exclude", "package:*")
	}
	m.run(args...)
}

// steady replaces what differs from run to run, or with every edit of the
// catalog.
func (m *machine) steady(s string) string {
	s = strings.ReplaceAll(s, m.dir, "$WORK")
	s = strings.ReplaceAll(s, strings.ReplaceAll(m.dir, "/", "~1"), "$WORK")
	for pattern, with := range map[string]string{
		`"(spec|catalog|lock|effects)_digest": "[^"]*"`: `"${1}_digest": "…"`,
		`"free_bytes_(before|after)": -?\d+`:            `"free_bytes_$1": 0`,
		`(Free at \S+): .*`:                             `$1: …`,
		`"kind":"catalog"(.*)"digest":"[^"]*"`:          `"kind":"catalog"$1"digest":"…"`,
		`"digest": "sha256:[0-9a-f]*"`:                  `"digest": "…"`,
	} {
		s = regexp.MustCompile(pattern).ReplaceAllString(s, with)
	}
	return s
}

// tree is every file below dir, with the exec bit and links shown, without
// what is aisync's or git's own.
func (m *machine) tree(dir string) map[string]string {
	files := map[string]string{}
	m.must(filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(dir, p)
		switch {
		case err != nil:
			return err
		case rel == ".git" || strings.HasSuffix(rel, ".local/state"):
			return filepath.SkipDir
		case d.Type()&fs.ModeSymlink != 0:
			target, err := os.Readlink(p)
			files[rel+" -> "+target] = ""
			return err
		case d.IsDir():
			if entries, err := os.ReadDir(p); err == nil && len(entries) == 0 {
				files[rel+"/"] = ""
			}
			return nil
		}
		b, err := os.ReadFile(p)
		info, _ := d.Info()
		if info.Mode()&0o100 != 0 {
			rel += " (executable)"
		}
		files[rel] = m.steady(string(b))
		return err
	}))
	return files
}

// Plans and results for three machines, kept to be read and reviewed.
func TestGoldenPlansAndTrees(t *testing.T) {
	for _, host := range []string{"velox", "pearl", "default"} {
		t.Run(host, func(t *testing.T) {
			m := newMachine(t, host)
			got := map[string]string{"plan.json": m.run("plan", "--json", "--diff", "none"), "plan.txt": m.run("plan")}
			b, err := os.ReadFile(filepath.Join(m.dir, "facts.json"))
			m.must(err)
			got["facts.json"] = string(b)
			m.apply()
			got["tree.txtar"] = archive(m.tree(filepath.Join(m.dir, "root", "home", "me")), "home/") + archive(m.tree(m.project()), "project/")
			compare(t, filepath.Join("..", "..", "golden", host, "org-drill"), got)
		})
	}
}

func archive(files map[string]string, prefix string) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(&b, "-- %s%s --\n%s", prefix, name, files[name])
		if text := files[name]; text != "" && !strings.HasSuffix(text, "\n") {
			b.WriteString("\n\\ no newline at the end\n")
		}
	}
	return b.String()
}

func compare(t *testing.T, dir string, got map[string]string) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(got)) {
		file := filepath.Join(dir, name)
		if *update {
			if err := os.MkdirAll(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(got[name]), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Errorf("%v; go test ./cmd/aisync -run Golden -update writes it", err)
			continue
		}
		if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got[name], "\n")); diff != "" {
			t.Errorf("%s is not what it was (-was +is); look at it, then: go test ./cmd/aisync -run Golden -update\n%s", file, diff)
		}
	}
}

// Nothing of a project depends on the machine it is reconciled on.
func TestHostsWriteSameProjectBytes(t *testing.T) {
	pearl, velox := newMachine(t, "pearl"), newMachine(t, "velox")
	for _, m := range []*machine{pearl, velox} {
		m.apply()
	}
	is := pearl.tree(pearl.project())
	if diff := cmp.Diff(is, velox.tree(velox.project())); diff != "" {
		t.Errorf("the project differs (-pearl +velox):\n%s", diff)
	}
	if len(is) < 20 || is["aisync.lock"] == "" {
		t.Errorf("only %d files: the project was not applied", len(is))
	}
}

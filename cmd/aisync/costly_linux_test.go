package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"aisync.dev/aisync/app/stack/place"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
)

// tenfold is a spec in which each field is ten times the one before.
func tenfold(first, each string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "l0: %s\n", first)
	for i := range 11 {
		fmt.Fprintf(&b, "l%d: %s\n", i+1, strings.ReplaceAll(each, "LAST", fmt.Sprintf("l%d", i)))
	}
	return b.String() + "project: name: \"\\(l11)\"\n"
}

// TestCostlySpecsExitWith1 evaluates specs that ask for more memory,
// depth or time than there is. Not one ends with Go's 2, which reads as drift,
// takes much more than 1 GiB on the way, or writes anything. Which of the limits
// is reached first depends on how fast the machine is.
func TestCostlySpecsExitWith1(t *testing.T) {
	const most = 2 << 10 // MiB
	for name, c := range map[string]struct {
		spec, want string
		slow       bool
	}{
		"billion laughs":              {tenfold(`"xxxxxxxxxx"`, `"`+strings.Repeat(`\(LAST)`, 10)+`"`), "cannot be evaluated: takes more", false},
		"list.Range":                  {"import \"list\"\nproject: bundles: [for i in list.Range(0, 1000000000, 1) {\"\\(i)\"}]\n", "takes more", true},
		"one large step":              {"import \"math/bits\"\nproject: bundles: [\"\\(bits.Lsh(1, 100000000000))\"]\n", "takes more memory than there is", false},
		"steps in a row":              {"import \"math/bits\"\nproject: bundles: [\"\\(bits.Lsh(1, 10000000000))\"]\n", "takes more", false},
		"multiplication":              {"project: bundles: [\"x\" * 100000000000]\n", "exceeds limit", false},
		"deep sum":                    {"project: x: " + strings.Repeat("1+", 4_000_000) + "1\n", "nests too deeply", false},
		"deep sum, under the limit":   {"project: x: " + strings.Repeat("1+", 9_900) + "1\n", "", false},
		"deep selector":               {"project: x: y" + strings.Repeat(".a", 4_000_000) + "\n", "nests too deeply", false},
		"deep index":                  {"project: x: y" + strings.Repeat("[0]", 3_000_000) + "\n", "nests too deeply", false},
		"deep call":                   {"project: x: len" + strings.Repeat("()", 4_000_000) + "\n", "nests too deeply", false},
		"deep fields":                 {"project: " + strings.Repeat("a: ", 4_000_000) + "1\n", "nests too deeply", false},
		"deep lists":                  {"project: x: " + strings.Repeat("[", 3_000_000) + "\n", "nests too deeply", false},
		"deep lists, under the limit": {"project: x: " + strings.Repeat("[", 19_000) + "\n", "nesting depth", false},
		"regexp":                      {"project: name: [if \"" + strings.Repeat("a", 100_000) + "\" =~ \"((a{0,100}){0,10})b\" {\"x\"}, \"a b\"][0]\n", "", false},
		"loops in loops":              {"b: [" + strings.Repeat("1,", 30) + "]\nproject: bundles: [for x in b for y in b for z in b for v in b for w in b {\"\\(x)\\(y)\"}]\n", "takes more than 10s of the processor", true},
		"under ulimit -v":             {tenfold(`"xxxxxxxxxx"`, `"`+strings.Repeat(`\(LAST)`, 10)+`"`), "cannot be evaluated: takes more", false},
	} {
		t.Run(name, func(t *testing.T) {
			if c.slow && testing.Short() {
				t.Skip("takes several seconds")
			}
			home, dir := t.TempDir(), t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, place.SpecFile), []byte("package aisync\n"+c.spec), 0o644); err != nil {
				t.Fatal(err)
			}
			script := `exec aisync apply --scope project --yes --trust`
			if name == "under ulimit -v" {
				script = "ulimit -v 2500000; " + script
			}
			cmd := exec.Command("sh", "-c", script)
			cmd.Dir, cmd.Env = dir, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, quickRaceExit}
			var out bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &out
			err := cmd.Run()
			var ended *exec.ExitError
			if !errors.As(err, &ended) || ended.ExitCode() != cli.ExitError || !strings.Contains(out.String(), c.want) || !strings.Contains(out.String(), place.SpecFile) {
				t.Errorf("%v, want 1 and %q:\n%.600s", err, c.want, out.String())
			}
			if peak := cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss >> 10; peak > most {
				t.Errorf("it took %d MiB", peak)
			}
			if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
				t.Errorf("%v %v", entries, err)
			}
		})
	}
}

// TestSIGTERMEndsEvaluation ends a command while CUE works.
func TestSIGTERMEndsEvaluation(t *testing.T) {
	dir := t.TempDir()
	spec := "package aisync\nb: [" + strings.Repeat("1,", 30) + "]\nproject: bundles: [for x in b for y in b for z in b for v in b for w in b {\"\\(x)\\(y)\"}]\n"
	if err := os.WriteFile(filepath.Join(dir, place.SpecFile), []byte(spec), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("aisync", "plan", "--scope", "project")
	cmd.Dir, cmd.Env = dir, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), quickRaceExit}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Second)
	began := time.Now()
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if code, took := cmd.ProcessState.ExitCode(), time.Since(began); code != 143 || took > 30*time.Second {
		t.Errorf("exit code %d after %s", code, took)
	}
}

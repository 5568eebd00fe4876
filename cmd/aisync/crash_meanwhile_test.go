package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"aisync.dev/aisync/internal/crash"
	"aisync.dev/aisync/internal/proof"
)

// Several applies at once: one after the other where they wait, else the others
// are refused; what comes of it is what one of them makes.
func TestConcurrentAppliesEndLikeOne(t *testing.T) {
	done := proof.Start(t, 6)
	site := newCrashSite(t)
	m := newCrashMachine(t, site, false)
	s := &stage{crashMachine: m, scene: crashScenes[0], start: m.whole(t), was: m.look(t), notes: memoryDir(t)}
	s.rehearse(t)
	applies := 0
	for _, how := range []struct {
		flags []string
		codes string
	}{{[]string{"--lock-timeout", "1m"}, "0"}, {nil, "06"}} {
		s.reset(t)
		var wait sync.WaitGroup
		for range 4 {
			applies++
			wait.Go(func() {
				code, said := m.run(crash.Fault{}, append(append([]string{}, crashApply...), how.flags...)...)
				if !strings.Contains(how.codes, fmt.Sprint(code)) {
					t.Errorf("apply %v: exit code %d\n%s", how.flags, code, said)
				}
			})
		}
		for range 2 { // readers never wait
			wait.Go(func() {
				if code, said := m.run(crash.Fault{}, "plan", "--diff", "none"); code != 0 {
					t.Errorf("plan: exit code %d\n%s", code, said)
				}
			})
		}
		wait.Wait()
		if d := m.look(t).Diff(s.will); d != "" {
			t.Errorf("apply %v, four at once:\n%s", how.flags, d)
		}
		if code, said := m.run(crash.Fault{}, crashApply...); code != 0 || !strings.Contains(said, "No changes") {
			t.Errorf("one more: exit code %d\n%s", code, said)
		}
	}
	done("applies", applies)
}

// rewriter is a program that reads a file and saves it anew under its name,
// again and again, as editors and runtimes do.
type rewriter struct {
	file string
	next func(n int, text string) (string, error)
}

// run saves at most so many times, until stop, and returns how often it did.
func (w rewriter) run(t *testing.T, most int, stop *atomic.Bool) (saved int) {
	for n := 1; n <= most && !stop.Load(); n++ {
		b, err := os.ReadFile(w.file)
		if err != nil {
			t.Error(err)
			return saved
		}
		text, err := w.next(n, string(b))
		if err != nil {
			t.Errorf("%s cannot be read by its own program: %v\n%s", w.file, err, b)
			return saved
		}
		temp := w.file + ".saving"
		err = os.WriteFile(temp, []byte(text), 0o644)
		if err == nil {
			err = os.Rename(temp, w.file)
		}
		if err != nil {
			t.Error(err)
			return saved
		}
		saved = n
		time.Sleep(time.Duration(rand.IntN(60)) * time.Millisecond) // some applies find what their plan saw
	}
	return saved
}

// An editor adds lines to files, and runtimes write their settings anew, while
// applies change the same files: nothing that they saved is lost, be it that it
// is named as kept beside the file, and in the end both have what they want.
func TestConcurrentEditsAreNotLost(t *testing.T) {
	done := proof.Start(t, 4)
	site := newCrashSite(t)
	m := newCrashMachine(t, site, false)
	m.wants(t, 0, crashApply...)
	line := func(n int, text string) (string, error) { return text + fmt.Sprintf("\nmine_%d.\n", n), nil }
	counter := func(n int, text string) (string, error) {
		all := map[string]any{}
		if err := json.Unmarshal([]byte(text), &all); err != nil {
			return "", err
		}
		all["numStartups"] = n
		b, err := json.MarshalIndent(all, "", "  ")
		return string(b), err
	}
	rewriters := []rewriter{
		{m.at("project/AGENTS.md"), line}, {m.at("project/.gitignore"), line},
		{m.at("root/home/me/.claude.json"), counter}, {m.at("root/home/me/.claude/settings.json"), counter},
	}
	var stop atomic.Bool
	var wait sync.WaitGroup
	saved := make([]int, len(rewriters))
	for i, w := range rewriters {
		wait.Go(func() { saved[i] = w.run(t, 1000, &stop) })
	}
	var heard strings.Builder
	const applies = 12
	level, names := []string{"warn", "error"}, []string{"Emacs", "Emacs Lisp"}
	for n := range applies { // what is asked for in each of the files moves
		m.edit(t, "host/velox.cue", `"`+level[n%2]+`"`, `"`+level[(n+1)%2]+`"`, fmt.Sprintf(`"Bash(make test%s)"`, strings.Repeat("s", n)), fmt.Sprintf(`"Bash(make test%s)"`, strings.Repeat("s", n+1)))
		m.edit(t, "rulesets/languages/elisp/gitignore-add.txt", "*.elc", "*.elc"+fmt.Sprint("\n*.e", n))
		m.edit(t, "rulesets/languages/elisp/claude/rules/elisp.md", "# "+names[(n+1)%2]+"\n", "# "+names[n%2]+"\n")
		code, said := m.run(crash.Fault{Slow: "fsync"}, "apply", "--yes", "--trust", "--keep-going", "--diff", "none")
		if code != 0 && code != 1 && code != 3 {
			t.Errorf("apply %d: exit code %d\n%s", n, code, said)
		}
		fmt.Fprintf(&heard, "apply %d: %d\n%s", n, code, said)
	}
	stop.Store(true)
	wait.Wait()
	total := 0
	for i, w := range rewriters {
		total += saved[i]
		b, err := os.ReadFile(w.file)
		must(t, err)
		beside, err := filepath.Glob(filepath.Join(filepath.Dir(w.file), "."+filepath.Base(w.file)+".aisync-*"))
		must(t, err)
		for _, file := range beside {
			kept, err := os.ReadFile(file)
			must(t, err)
			b = append(b, kept...)
		}
		for n := 1; n <= saved[i]; n++ {
			text := fmt.Sprintf("mine_%d.\n", n)
			if strings.HasSuffix(w.file, ".json") {
				n, text = saved[i], fmt.Sprintf(`"numStartups": %d`, saved[i])
			}
			if !strings.Contains(string(b), text) {
				t.Errorf("%s: %q of %d is lost; beside it lies %q\n%s", w.file, text, saved[i], beside, heard.String())
				break
			}
		}
	}
	if code, said := m.run(crash.Fault{}, crashApply...); code != 0 {
		t.Errorf("in the end: exit code %d\n%s", code, said)
	}
	if code, said := m.run(crash.Fault{}, "drift", "--scope", "all"); code != 0 {
		t.Errorf("in the end: drift says %d\n%s", code, said)
	}
	done("applies", applies, "saves", total)
}

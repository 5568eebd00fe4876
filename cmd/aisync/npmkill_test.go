package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"aisync.dev/aisync/internal/fakenpm"
)

// aisync and the real npm are killed together, at each moment that can be seen in
// the prefix, while they install, upgrade, downgrade and remove a program. The next
// apply finishes it, and no link points to nothing.
func TestKilledNpmIsFinishedByTheNextApply(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some minutes")
	}
	if _, err := exec.LookPath("npm"); err != nil {
		t.Skip("needs npm; install nodejs and npm")
	}
	registry := fakenpm.New()
	t.Cleanup(registry.Close)
	registry.Publish("@own/demo", "1.0.0", "demo", ">=4")
	registry.Publish("@own/demo", "1.1.0", "demo", ">=4")
	home, host := t.TempDir(), t.TempDir()
	modules := filepath.Join(home, ".local/share/aisync/npm/lib/node_modules")
	apply := func() *exec.Cmd {
		aisync, err := exec.LookPath("aisync")
		must(t, err)
		cmd := exec.Command(aisync, "--config", host, "apply", "--yes", "--scope", "host", "--diff", "none")
		cmd.Env = append(os.Environ(), "HOME="+home, "XDG_STATE_HOME=", "XDG_CONFIG_HOME=", "XDG_CACHE_HOME=", "XDG_DATA_HOME=",
			"npm_config_registry="+registry.URL, "npm_config_cache="+filepath.Join(home, "npm-cache"), "npm_config_fetch_retries=0")
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		return cmd
	}
	wants := func(version string) {
		install := ""
		if version != "" {
			install = fmt.Sprintf("runtimes: demo: install: {via: \"npm\", version: %q}", version)
		}
		text := "package aisync\n\nhosts: me: {" + install + "}\ncatalog: runtimes: demo: {command: \"demo\", packages: npm: \"@own/demo\"}\n"
		must(t, os.WriteFile(filepath.Join(host, "me.cue"), []byte(text), 0o644))
	}
	settle := func(when, version string) {
		t.Helper()
		if out, err := apply().CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", when, err, out)
		}
		must(t, filepath.WalkDir(home, func(path string, _ os.DirEntry, err error) error {
			must(t, err)
			if _, err := os.Stat(path); err != nil {
				t.Errorf("%s: %s points to nothing", when, path)
			}
			return nil
		}))
		out, err := exec.Command(filepath.Join(home, ".local/bin/demo")).CombinedOutput()
		if got := strings.TrimSpace(string(out)); version != "" && (err != nil || got != "demo "+version) || version == "" && err == nil {
			t.Errorf("%s: it prints %q, %v", when, got, err)
		}
		if left, _ := filepath.Glob(filepath.Join(modules, "@own/.demo-*")); len(left) > 0 {
			t.Errorf("%s: there is still %v", when, left)
		}
	}
	matches := func(pattern string) bool {
		found, _ := filepath.Glob(filepath.Join(modules, pattern))
		return len(found) > 0
	}
	moments := map[string]func() bool{
		"npm begins":         func() bool { return matches("../../unfinished-*") },
		"the old is renamed": func() bool { return matches("@own/.demo-*") },
		"the new is there":   func() bool { return matches("@own/demo/package.json") && matches("../../unfinished-*") },
		"its link is gone":   func() bool { return !matches("../../bin/demo") },
		"nothing is left":    func() bool { return !matches("@own/demo") },
	}
	hits := 0
	for _, step := range []struct{ name, from, to string }{
		{"install", "", "1.0.0"}, {"upgrade", "1.0.0", "1.1.0"}, {"downgrade", "1.1.0", "1.0.0"}, {"remove", "1.0.0", ""},
	} {
		for moment, come := range moments {
			when := step.name + ", killed when " + moment
			wants(step.from)
			settle(when+", before it", step.from)
			if come() {
				continue // it does not tell anything of this step
			}
			wants(step.to)
			cmd := apply()
			must(t, cmd.Start())
			ended := make(chan error, 1)
			go func() { ended <- cmd.Wait() }()
			killed := false
			for over := false; !over && !killed; {
				select {
				case <-ended:
					over = true
				case <-time.After(200 * time.Microsecond):
					if killed = come(); killed {
						_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
						<-ended
						hits++
					}
				}
			}
			settle(when, step.to)
		}
	}
	if hits < 8 {
		t.Errorf("only %d kills came in time", hits)
	}
	t.Logf("%d kills", hits)
}

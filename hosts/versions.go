package hosts

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"aisync.dev/aisync/hosts/facts"
)

// versionPatience is how long one program may take to say its version.
const versionPatience = 10 * time.Second

// asks are the words that a program is asked with, where that is not --version.
var asks = map[string]string{"go": "version", "tmux": "-V"}

// Versions returns which version each program and package manager of f is, by
// name. What npm installed is read where it lies; every other program is
// started once, with environ. One that does not answer is left out.
func Versions(ctx context.Context, f facts.Facts, path, environ []string) map[string]string {
	places := map[string]string{}
	for name, at := range f.Programs {
		places[name] = at
	}
	for _, name := range f.Managers {
		places[name] = FindProgram("", path, name)
	}
	var (
		mu    sync.Mutex
		group sync.WaitGroup
		found = map[string]string{}
		slots = make(chan struct{}, 4)
	)
	for name, at := range places {
		group.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			v := packageVersion(at)
			if v == "" {
				v = saidVersion(ctx, name, at, environ)
			}
			if v != "" {
				mu.Lock()
				found[name] = v
				mu.Unlock()
			}
		})
	}
	group.Wait()
	return found
}

// packageVersion reads the package.json of the npm package that a program is
// part of; "" where it is of none.
func packageVersion(program string) string {
	real, err := filepath.EvalSymlinks(program)
	if err != nil || !strings.Contains(real, "/node_modules/") {
		return ""
	}
	for dir := filepath.Dir(real); filepath.Base(dir) != "node_modules"; dir = filepath.Dir(dir) {
		var m struct{ Name, Version string }
		b, err := os.ReadFile(filepath.Join(dir, "package.json"))
		if err == nil && json.Unmarshal(b, &m) == nil && m.Name != "" {
			return m.Version
		}
	}
	return ""
}

// versionForm is what a version looks like among other words.
var versionForm = regexp.MustCompile(`\d+(\.\d+)+[0-9A-Za-z.+~_-]*`)

// saidVersion starts a program.
func saidVersion(ctx context.Context, name, program string, environ []string) string {
	ask := asks[name]
	if ask == "" {
		ask = "--version"
	}
	ctx, cancel := context.WithTimeout(ctx, versionPatience)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, ask)
	cmd.Env, cmd.Dir, cmd.WaitDelay = environ, "/", time.Second
	out, err := cmd.CombinedOutput()
	if err != nil {
		return ""
	}
	return strings.TrimRight(versionForm.FindString(string(out)), ".")
}

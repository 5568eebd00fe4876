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

// versionPatience bounds one program's answer.
const versionPatience = 10 * time.Second

// versionArgs are the version arguments of programs that do not take --version.
var versionArgs = map[string]string{"go": "version", "tmux": "-V"}

// Versions returns the versions of the programs and package managers of f, by
// name. It reads an npm package's version from its files, and starts each other
// program once, with environ. It omits programs that do not answer.
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
			v := ProgramVersion(at)
			if v == "" {
				v = askVersion(ctx, name, at, environ)
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

// ProgramVersion returns the version of a program as its files tell it, without
// starting it: in the package.json of its npm package, or as its name or folder, as
// in versions/2.1.329; "" if they do not.
func ProgramVersion(program string) string {
	real, err := filepath.EvalSymlinks(program)
	if err != nil {
		return ""
	}
	if !strings.Contains(real, "/node_modules/") {
		for _, name := range []string{filepath.Base(real), filepath.Base(filepath.Dir(real))} {
			if versionForm.FindString(name) == name && strings.Count(name, ".") >= 2 {
				return name
			}
		}
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

// versionForm matches a version in a text.
var versionForm = regexp.MustCompile(`\d+(\.\d+)+[0-9A-Za-z.+~_-]*`)

// askVersion starts a program and returns the version that it prints.
func askVersion(ctx context.Context, name, program string, environ []string) string {
	ask := versionArgs[name]
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

//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"aisync.dev/aisync/internal/realcli"
)

// doctor is the reference host with its agent programs as npm installs them,
// its rules, hooks, packages and a model, and ollama serving it where the tests
// have one. The two models that cannot be had here are left out.
func (w *world) doctor() ([]row, error) {
	here := filepath.Join(w.dir, "doctor")
	home, contract := filepath.Join(here, "home"), filepath.Join(here, "contract")
	if err := os.CopyFS(contract, os.DirFS("golden/contract")); err != nil {
		return nil, err
	}
	path, err := agentPrograms(home, filepath.Join(here, "bin"))
	if path == "" || err != nil {
		return nil, err
	}
	if err := referenceHost(filepath.Join(contract, "host/velox.cue")); err != nil {
		return nil, err
	}
	env := []string{"HOME=" + home, "PATH=" + path + ":/usr/sbin:/usr/bin:/sbin:/bin", "AISYNC_OFFLINE=1", "NO_COLOR=1", "AISYNC_SERVICE_MANAGER=supervise"}
	aisync := func(args ...string) []string {
		return append([]string{w.binary, "--config", filepath.Join(contract, "host"), "--host", "velox"}, args...)
	}
	pull := append(aisync("models", "pull", "tiny", "--quiet"), "--source", filepath.Join(contract, "models")+"/")
	if _, err := run(here, append(env, "AISYNC_OFFLINE="), pull...); err != nil {
		return nil, err
	}
	// What only the network would bring is not there, perhaps; all else is.
	_, applied := run(here, env, aisync("apply", "--yes", "--quiet", "--keep-going")...)
	defer func() { _, _ = run(here, env, aisync("services", "stop", "ollama")...) }()
	var all []sample
	var last error
	for range w.runs {
		s, err := run(here, env, aisync("doctor", "--offline", "--no-prompt")...)
		if s.time == 0 {
			return nil, errors.Join(applied, err)
		}
		all, last = append(all, s), err
	}
	what := "doctor, the reference host, 4 runtimes"
	if last != nil {
		what += ", something fails"
		fmt.Println(last)
	}
	return []row{{what: what, cost: middle(all), against: "the target, 300 ms", floor: 300 * time.Millisecond}}, nil
}

// agentPrograms puts the programs of the tests' cache where npm of aisync would
// have put them, and returns the folder for PATH; "" where there are none.
func agentPrograms(home, bin string) (string, error) {
	cache, err := realcli.DefaultCache()
	if err != nil {
		return "", err
	}
	modules, programs := filepath.Join(home, ".local/share/aisync/npm/lib/node_modules"), filepath.Join(home, ".local/share/aisync/npm/bin")
	if err := errors.Join(os.MkdirAll(modules, 0o755), os.MkdirAll(programs, 0o755), os.MkdirAll(bin, 0o755)); err != nil {
		return "", err
	}
	found := 0
	for _, p := range realcli.Agents {
		if !cache.Has(p) {
			continue
		}
		found++
		entries, err := os.ReadDir(cache.Bin(p))
		if err != nil {
			return "", err
		}
		for _, e := range entries {
			_ = os.Symlink(filepath.Join(cache.Bin(p), e.Name()), filepath.Join(programs, e.Name())) // the first of a name is the program's own
		}
		manifest, err := os.ReadFile(filepath.Join(cache.Dir(p), "node_modules", p.Name, "package.json"))
		if err == nil {
			err = write(filepath.Join(modules, p.Name, "package.json"), string(manifest)) // by which npm, and aisync, know it
		}
		if err != nil {
			return "", err
		}
	}
	if found == 0 {
		fmt.Println("doctor: left out, the cache has no agent programs: make test-runtimes")
		return "", nil
	}
	path := filepath.Join(home, ".local/bin") + ":" + bin + ":" + programs + ":" + cache.NodeBin()
	if dir, err := os.UserCacheDir(); err == nil {
		path += ":" + filepath.Join(dir, "aisync-test/ollama/v0.9.6")
	}
	return path, os.WriteFile(filepath.Join(bin, "uvx"), []byte("#!/bin/sh\n"), 0o755)
}

// referenceHost leaves out of the spec what cannot be had here: the large
// models with their service.
func referenceHost(file string) error {
	b, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	text := string(b)
	for _, line := range []string{`\t\t"qwen3-[^\n]*\n`, `\t\t(coder|quick|lan): [^\n]*\n`} {
		text = regexp.MustCompile(line).ReplaceAllString(text, "")
	}
	text = strings.Replace(text, `endpoint: "coder"`, `endpoint: "ollama"`, 1)
	text = strings.Replace(text, "port: 11434", "port: 11977", 1)
	return os.WriteFile(file, []byte(text), 0o644)
}

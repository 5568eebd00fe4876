//go:build linux

package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// chezmoi checks the same files, where it is installed.
func (w *world) chezmoi() ([]row, error) {
	program, err := exec.LookPath("chezmoi")
	if err != nil {
		return nil, nil
	}
	src, dst := filepath.Join(w.dir, rulesDir), filepath.Join(w.dir, "chezmoi")
	if err := os.MkdirAll(dst, 0o755); err != nil {
		return nil, err
	}
	args := []string{program, "-S", src, "-D", dst, "--no-tty", "--no-pager", "--use-builtin-git=on"}
	if _, err := run(w.dir, w.env(), append(args, "apply", "--force")...); err != nil {
		return nil, err
	}
	s, err := median(w.runs, w.dir, w.env(), append(args, "verify")...)
	return []row{{what: "chezmoi verify, the same rules", cost: s}}, err
}

// fsyncs counts the system calls of one more first apply.
func (w *world) fsyncs() error {
	strace, err := exec.LookPath("strace")
	if err != nil {
		fmt.Println("fsyncs of a first apply: not counted, strace is not installed")
		return nil
	}
	project, err := w.project("traced")
	if err := errors.Join(err, w.root("root")); err != nil {
		return err
	}
	log := filepath.Join(w.dir, "strace")
	argv := append([]string{strace, "-f", "-qq", "-e", "trace=fsync,fdatasync,syncfs", "-o", log},
		w.aisync("root", "apply", "--scope", "project", "--yes", "--trust", "--quiet")...)
	if _, err := run(project, w.env(), argv...); err != nil {
		return err
	}
	b, err := os.ReadFile(log)
	n := bytes.Count(b, []byte("sync("))
	fmt.Printf("fsyncs of a first apply of %d files: %d\n", w.rules, n)
	return err
}

// zeros is the sha256 of as many zero bytes as a file of 60 GB has:
// head -c 60000000000 /dev/zero | sha256sum
const zeros = "1bc9c9ab14d0469e353635df72786466e130e3977820a257d5a0c63ee44fa13a"

// largeModel plans, and looks for what is wrong, with a model of that size in
// place: a sparse file, so that it costs no disk. Taking it over reads it once;
// neither of them may.
func (w *world) largeModel(size int64) error {
	sum := zeros
	if size != 60_000_000_000 {
		out, err := exec.Command("sh", "-c", fmt.Sprintf("head -c %d /dev/zero | sha256sum", size)).Output()
		if err != nil {
			return err
		}
		sum, _, _ = strings.Cut(string(out), " ")
	}
	spec := fmt.Sprintf(`package aisync

hosts: bench: {
	store: "~/models"
	models: large: {}
}
catalog: models: large: {
	license: "none"
	context: 2048
	quants: F32: files: [{path: "large.bin", size: %d, sha256: %q, sources: ["http://127.0.0.1:9/large.bin"]}]
}
`, size, sum)
	if err := write(filepath.Join(w.dir, "host/bench.cue"), spec); err != nil {
		return err
	}
	store := filepath.Join(w.dir, "root/home/bench/models/large")
	if err := os.MkdirAll(store, 0o755); err != nil {
		return err
	}
	if err := sparse(filepath.Join(store, "large.bin"), size); err != nil {
		return err
	}
	begin := time.Now()
	if _, err := run(w.dir, w.env(), w.aisync("root", "apply", "--scope", "host", "--yes", "--quiet")...); err != nil {
		return err
	}
	adopt := time.Since(begin)
	fmt.Printf("taking over a model of %.0f GB, once, read it whole: %.1f s\n", float64(size)/1e9, adopt.Seconds())
	for _, command := range [][]string{{"plan", "--scope", "host", "--detailed-exitcode"}, {"doctor"}} {
		s, err := median(w.runs, w.dir, w.env(), w.aisync("root", command...)...)
		if err != nil {
			return err
		}
		fmt.Printf("%s, nothing to do, with that model in place: %s, %.0f MB; it read %d bytes in all\n",
			command[0], ms(s.time), float64(s.memory)/1e6, s.read)
		if s.read < 0 || s.read > 50_000_000 {
			return fmt.Errorf("%s read the model, or what it read cannot be known", command[0])
		}
	}
	return nil
}

func sparse(name string, size int64) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Truncate(size)
}

//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// drift is a checkout in order: with the sources at hand, and alone, as in a CI
// job, warm and out of a cold cache. Its cost grows with the number of files.
func (w *world) drift() ([]row, error) {
	var rows []row
	for _, of := range []struct {
		files  int
		target time.Duration
	}{{1000, 40 * time.Millisecond}, {10_000, 400 * time.Millisecond}} {
		r, err := w.driftOf(of.files, of.target)
		if err != nil {
			return nil, err
		}
		rows = append(rows, r...)
	}
	return rows, nil
}

func (w *world) driftOf(n int, target time.Duration) ([]row, error) {
	here := filepath.Join(w.dir, fmt.Sprintf("drift-%d", n))
	source, project, root := filepath.Join(here, "source"), filepath.Join(here, "project"), fmt.Sprintf("drift-%d/root", n)
	for i := range n {
		name := filepath.Join(source, "languages/many/rules", fmt.Sprintf("rule-%05d.md", i))
		if err := write(name, fmt.Sprintf("---\npaths: [\"**/*.go\"]\n---\n# Rule %05d\n\n%s\n", i, strings.Repeat("Read the whole file before you change a line of it.\n", 20))); err != nil {
			return nil, err
		}
	}
	spec := "package aisync\n\nproject: {\n\tname: \"many\"\n\truntimes: [\"claude\"]\n\tsources: rulesets: \"../source\"\n\tbundles: [\"rulesets//many\"]\n}\n"
	if err := errors.Join(write(filepath.Join(project, "aisync.cue"), spec), w.root(root)); err != nil {
		return nil, err
	}
	if _, err := run(project, w.env(), w.aisync(root, "apply", "--scope", "project", "--yes", "--trust", "--quiet")...); err != nil {
		return nil, err
	}
	made, err := under(filepath.Join(project, ".claude/rules"))
	if err != nil {
		return nil, err
	}
	sources, err := under(source)
	if err != nil {
		return nil, err
	}
	if len(made) != n {
		return nil, fmt.Errorf("the apply wrote %d rules, want %d", len(made), n)
	}
	look := w.aisync(root, "drift", "--quiet")
	ci := w.aisync(root+"-ci", "drift", "--quiet") // a machine that knows nothing of it
	if err := w.root(root + "-ci"); err != nil {
		return nil, err
	}
	both, err := median(w.runs, project, w.env(), look...)
	if err != nil {
		return nil, err
	}
	floor, err := medianOf(w.runs, func(int) (time.Duration, error) { return readAndHash(append(made, sources...)) })
	if err != nil {
		return nil, err
	}
	if err := os.Rename(source, source+".away"); err != nil {
		return nil, err
	}
	alone, err := median(w.runs, project, w.env(), ci...)
	if err != nil {
		return nil, err
	}
	floorAlone, err := medianOf(w.runs, func(int) (time.Duration, error) { return readAndHash(made) })
	if err != nil {
		return nil, err
	}
	var cold []sample
	floorCold, err := medianOf(max(w.runs/3, 3), func(int) (time.Duration, error) {
		if err := evict(made); err != nil {
			return 0, err
		}
		s, err := run(project, w.env(), ci...)
		if err != nil {
			return 0, err
		}
		cold = append(cold, s)
		if err := evict(made); err != nil {
			return 0, err
		}
		return readAndHash(made)
	})
	files := fmt.Sprintf("%d,%03d", n/1000, n%1000)
	return []row{
		{what: "drift, a checkout of " + files + " files", cost: alone, against: "target " + target.String(), floor: target},
		{what: "  the same", cost: alone, against: "reading and hashing them: " + ms(floorAlone), floor: floorAlone},
		{what: "  the same from a cold cache", cost: middle(cold), against: "reading and hashing them, cold: " + ms(floorCold), floor: floorCold},
		{what: "  with the sources at hand", cost: both, against: fmt.Sprintf("reading and hashing those %d files: %s", 2*n, ms(floor)), floor: floor},
	}, err
}

// evict has the system forget what is in files, as far as it does.
func evict(files []string) error {
	unix.Sync() // what is not on disk yet is not forgotten
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		err = unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED)
		if err := errors.Join(err, f.Close()); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

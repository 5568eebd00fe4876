package run

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Document returns the current text of a file that is derived from the events,
// by its name.
func (s *State) Document(name string) ([]byte, error) {
	if !slices.Contains(Projections, name) {
		return nil, fmt.Errorf("%s is not derived from the events", name)
	}
	return s.projection(name)
}

// CheckFiles checks the files beside the runs against their schemas: the
// configs, the pointer, learning/ and migrations/. It writes nothing.
func (s *Store) CheckFiles() []error {
	var out []error
	_, err := s.Config()
	out = append(out, err)
	_, err = s.Active()
	out = append(out, err)
	for _, name := range []string{"learning/policy-hints.json", "learning/strategy-stats.json", "learning/simulator-calibration.json", "migrations/storage-root.json"} {
		out = append(out, s.checkFile(s.root, s.Path, name, strings.TrimSuffix(filepath.Base(name), ".json")))
	}
	out = append(out, s.checkLines("learning/reward-ledger.jsonl", "reward"), s.checkLines(recoveryLog, "recovery"))
	for dir, kind := range resultFolders { // the seed's indentation may put them here too
		out = append(out, s.checkFolder(s.root, s.Path, dir, kind)...)
	}
	return slices.DeleteFunc(out, func(err error) bool { return err == nil })
}

// resultFolders hold other programs' JSON, which is read but decides nothing.
var resultFolders = map[string]string{"evaluations": "evaluation", "integration": "integration"}

// CheckFiles checks the files that other programs put beside the events of a
// run.
func (r *Run) CheckFiles() []error {
	var out []error
	for dir, kind := range resultFolders {
		out = append(out, r.store.checkFolder(r.root, r.Path, dir, kind)...)
	}
	return slices.DeleteFunc(out, func(err error) bool { return err == nil })
}

func (s *Store) checkFolder(root *os.Root, at, dir, kind string) []error {
	f, err := root.Open(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return []error{fmt.Errorf("read %s: %w", filepath.Join(at, dir), err)}
	}
	defer f.Close()
	names, err := f.Readdirnames(-1)
	if err != nil {
		return []error{fmt.Errorf("read %s: %w", filepath.Join(at, dir), err)}
	}
	var out []error
	slices.Sort(names)
	for _, name := range names {
		if strings.HasSuffix(name, ".json") && !strings.HasPrefix(name, ".") {
			out = append(out, s.checkFile(root, at, filepath.Join(dir, name), kind))
		}
	}
	return out
}

// checkFile checks one file; a missing one is valid.
func (s *Store) checkFile(root *os.Root, at, name, kind string) error {
	text, err := read(root, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return s.opts.Check(kind, filepath.Join(at, name), text)
}

// checkLines checks a file of lines, up to the first invalid one.
func (s *Store) checkLines(name, kind string) error {
	text, err := read(s.root, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	n := 0
	for line := range strings.Lines(string(text)) {
		n++
		if err := s.opts.Check(kind, fmt.Sprintf("%s:%d", filepath.Join(s.Path, name), n), []byte(line)); err != nil {
			return err
		}
	}
	return nil
}

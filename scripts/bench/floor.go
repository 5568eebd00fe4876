//go:build linux

package main

import (
	"crypto/sha256"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// readAndHash is the least that a check of files can cost: each is read and
// hashed, one after the other, in a process that runs already.
func readAndHash(files []string) (time.Duration, error) {
	begin := time.Now()
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			return 0, err
		}
		sha256.Sum256(b)
	}
	return time.Since(begin), nil
}

// writeSynced is a bare loop of atomic, synced writes: a temp file, its fsync,
// a rename; and one fsync of the folder at the end.
func writeSynced(dir string, contents [][]byte, names []string) (time.Duration, error) {
	begin := time.Now()
	for i, b := range contents {
		name := filepath.Join(dir, names[i])
		f, err := os.Create(name + ".tmp")
		if err != nil {
			return 0, err
		}
		if _, err := f.Write(b); err != nil {
			return 0, err
		}
		if err := f.Sync(); err != nil {
			return 0, err
		}
		if err := f.Close(); err != nil {
			return 0, err
		}
		if err := os.Rename(name+".tmp", name); err != nil {
			return 0, err
		}
	}
	d, err := os.Open(dir)
	if err != nil {
		return 0, err
	}
	defer d.Close()
	if err := d.Sync(); err != nil {
		return 0, err
	}
	return time.Since(begin), nil
}

func medianOf(n int, f func(i int) (time.Duration, error)) (time.Duration, error) {
	var all []time.Duration
	for i := range n {
		d, err := f(i)
		if err != nil {
			return 0, err
		}
		all = append(all, d)
	}
	slices.Sort(all)
	return all[len(all)/2], nil
}

// under lists the regular files below dir.
func under(dir string) ([]string, error) {
	var files []string
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			files = append(files, p)
		}
		return err
	})
	return files, err
}

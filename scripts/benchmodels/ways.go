//go:build linux

package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	bare      = "aisync, no journal, no sync"
	journaled = "aisync, journal and sync"
	floor     = "sha256 alone, of bytes in memory"
)

// ours is aisync's fetch in a process of its own.
func (w *world) ours(name string, connections int, volatile bool) way {
	return way{name, func(url, path string) (sample, error) {
		return run(w.fetchone, "-connections="+strconv.Itoa(connections), "-volatile="+strconv.FormatBool(volatile),
			url, path, strconv.FormatInt(w.size, 10), w.sum)
	}}
}

// ways are those to be compared where the network is fast.
func (w *world) ways() []way {
	curl := func(url, path string) (sample, error) { return run("curl", "-sf", "-o", path, url) }
	all := []way{
		w.ours(bare, 0, true),
		w.ours(journaled, 0, false),
		w.ours("aisync, no journal, 1 connection", 1, true),
		{floor, func(_, path string) (sample, error) {
			if err := os.WriteFile(path, nil, 0o600); err != nil {
				return sample{}, err
			}
			if err := os.Truncate(path, w.size); err != nil { // as if it had come
				return sample{}, err
			}
			return run(w.self, "hash", strconv.FormatInt(w.size, 10))
		}},
		{"curl, unverified", curl},
		{"curl + openssl", w.then(curl, "openssl", "dgst", "-sha256")},
		{"curl + sync + openssl", w.then(synced(curl), "openssl", "dgst", "-sha256")},
		{"curl + sha256sum", w.then(curl, "sha256sum")},
		w.aria2c(8),
	}
	if w.getter != "" {
		all = append(all, way{"go-getter, checksum", func(url, path string) (sample, error) {
			return run(w.getter, url+"?checksum=sha256:"+w.sum, path)
		}})
	}
	return w.installed(all)
}

// slowWays are those to be compared where each connection is slow.
func (w *world) slowWays() []way {
	return w.installed([]way{
		w.ours("aisync, 1 connection", 1, false),
		w.ours("aisync, 4 connections", 4, false),
		w.ours("aisync, 8 connections", 8, false),
		w.ours("aisync (default)", 0, false),
		w.aria2c(8),
		w.aria2c(16),
	})
}

// aria2c is aria2's fetch over so many connections, and its second pass.
func (w *world) aria2c(connections int) way {
	n := strconv.Itoa(connections)
	return way{"aria2c -x" + n + ", checksum", func(url, path string) (sample, error) {
		return run("aria2c", "-q", "-x"+n, "-s"+n, "--file-allocation=none", "--allow-overwrite=true",
			"-d", filepath.Dir(path), "-o", filepath.Base(path), "--checksum=sha-256="+w.sum, url)
	}}
}

// then adds a second pass over the file, by a program that prints its sha256.
func (w *world) then(fetch func(url, path string) (sample, error), program ...string) func(url, path string) (sample, error) {
	return func(url, path string) (sample, error) {
		first, err := fetch(url, path)
		if err != nil {
			return sample{}, err
		}
		var out bytes.Buffer
		second, err := runTo(&out, program[0], append(program[1:], path)...)
		if err != nil {
			return sample{}, err
		}
		if !strings.Contains(out.String(), w.sum) {
			return sample{}, fmt.Errorf("%s says %q, not %s", program[0], out.String(), w.sum)
		}
		return sample{first.wall + second.wall, first.cpu + second.cpu, max(first.rss, second.rss)}, nil
	}
}

// synced adds what makes the file survive a loss of power.
func synced(fetch func(url, path string) (sample, error)) func(url, path string) (sample, error) {
	return func(url, path string) (sample, error) {
		s, err := fetch(url, path)
		if err != nil {
			return s, err
		}
		start := time.Now()
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			return s, err
		}
		defer f.Close()
		err = f.Sync()
		s.wall += time.Since(start)
		return s, err
	}
}

// installed leaves out ways whose program is not there, and those not asked for.
func (w *world) installed(all []way) []way {
	var there []way
	for _, way := range all {
		if !slices.ContainsFunc(strings.Split(w.only, ","), func(part string) bool { return strings.Contains(way.name, part) }) {
			continue
		}
		missing := ""
		for _, program := range []string{"curl", "openssl", "sha256sum", "aria2c"} {
			if _, err := exec.LookPath(program); err != nil && strings.Contains(way.name, program) {
				missing = program
			}
		}
		if missing != "" {
			fmt.Printf("left out, as %s is not installed: %s\n", missing, way.name)
			continue
		}
		there = append(there, way)
	}
	return there
}

func run(program string, args ...string) (sample, error) { return runTo(nil, program, args...) }

func runTo(out *bytes.Buffer, program string, args ...string) (sample, error) {
	cmd := exec.Command(program, args...)
	cmd.Stderr = os.Stderr
	if out != nil {
		cmd.Stdout = out
	}
	start := time.Now()
	err := cmd.Run()
	wall := time.Since(start)
	if err != nil {
		return sample{}, fmt.Errorf("%s: %w", filepath.Base(program), err)
	}
	usage := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	return sample{wall, cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), usage.Maxrss << 10}, nil
}

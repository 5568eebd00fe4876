//go:build linux

// Benchmodels measures how a model is fetched and verified against the programs
// that people use for it now, in the same run on the same machine, and prints
// ratios. Programs that are not installed are left out. It serves and writes
// only on this machine, below a temp folder. Start reading at main.
package main

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"
)

// sample is one run of one way to fetch.
type sample struct {
	wall, cpu time.Duration
	rss       int64 // peak of the largest process, bytes
}

// way is one way to fetch a file: a name and what runs it, into a path that is
// not there yet.
type way struct {
	name string
	run  func(url, path string) (sample, error)
}

func main() {
	if is, err := child(os.Args[1:]); is {
		if err != nil {
			fmt.Fprintln(os.Stderr, "benchmodels:", err)
			os.Exit(1)
		}
		return
	}
	runs := flag.Int("n", 5, "runs of each way; the median counts")
	size := flag.Int64("size", 2<<30, "bytes over loopback")
	slow := flag.Int64("slow", 1<<30, "bytes from the throttled server")
	dir := flag.String("dir", "", "where to write; empty: the temp folder")
	only := flag.String("only", "", "ways to run: parts of their names, separated by commas")
	flag.Parse()
	if err := bench(*dir, *only, *runs, *size, *slow); err != nil {
		fmt.Fprintln(os.Stderr, "benchmodels:", err)
		os.Exit(1)
	}
}

// child is this program as one that it starts itself.
func child(args []string) (is bool, err error) {
	var n int64
	switch {
	case len(args) == 3 && args[0] == "serve":
		if n, err = strconv.ParseInt(args[2], 10, 64); err == nil {
			err = serve(args[1], int(n))
		}
	case len(args) == 2 && args[0] == "hash":
		if n, err = strconv.ParseInt(args[1], 10, 64); err == nil {
			hash(n)
		}
	case len(args) == 2 && args[0] == "touch":
		if n, err = strconv.ParseInt(args[1], 10, 64); err == nil {
			err = touch(n)
		}
	default:
		return false, nil
	}
	return true, err
}

func bench(dir, only string, runs int, size, slow int64) error {
	dir, err := os.MkdirTemp(dir, "aisync-benchmodels-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	w := &world{dir: dir, only: only}
	if err := w.make(size); err != nil {
		return err
	}
	defer w.close()
	fmt.Printf("%s\n\n%d MiB over loopback, medians of %d; the server runs on the same cores\n\n", machine(), size>>20, runs)
	fast, err := w.measure(w.ways(), w.url, runs)
	if err != nil {
		return err
	}
	table(fast)
	goals(fast)
	if slow <= 0 {
		return nil
	}
	if err := w.throttle(slow); err != nil {
		return err
	}
	fmt.Printf("\n%d MiB at 50 MB/s a connection and %s a request, medians of %d\n\n", slow>>20, latency, max(1, runs/2))
	throttled, err := w.measure(w.slowWays(), w.url, max(1, runs/2))
	if err != nil {
		return err
	}
	table(throttled)
	one, eight := throttled["aisync, 1 connection"].wall, throttled["aisync, 8 connections"].wall
	if one > 0 && eight > 0 {
		fmt.Printf("\n8 connections are %.1f times as fast as one (goal: 6)\n", one.Seconds()/eight.Seconds())
	}
	if ours, theirs := throttled["aisync (default)"].wall, throttled["aria2c -x16, checksum"].wall; ours > 0 && theirs > 0 {
		fmt.Printf("aisync (default) takes %.2f of aria2c -x16 with its checksum (goal: 0.60)\n", ours.Seconds()/theirs.Seconds())
	}
	return nil
}

// measure runs every way once in each round, so that a busy moment of the
// machine does not fall on one way alone.
func (w *world) measure(ways []way, url string, runs int) (map[string]sample, error) {
	all := make(map[string][]sample)
	for range runs {
		for _, way := range ways {
			s, err := w.one(way, url)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", way.name, err)
			}
			all[way.name] = append(all[way.name], s)
		}
	}
	medians := make(map[string]sample)
	for name, samples := range all {
		medians[name] = median(samples)
	}
	return medians, nil
}

// median is by wall time; its memory is the most of all runs.
func median(samples []sample) sample {
	slices.SortFunc(samples, func(a, b sample) int { return cmp.Compare(a.wall, b.wall) })
	m := samples[len(samples)/2]
	for _, s := range samples {
		m.rss = max(m.rss, s.rss)
	}
	return m
}

func table(medians map[string]sample) {
	names := make([]string, 0, len(medians))
	for name := range medians {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Compare(medians[a].wall, medians[b].wall) })
	fmt.Println("| way | wall s | CPU s | peak RSS MiB |\n|---|---|---|---|")
	for _, name := range names {
		s := medians[name]
		fmt.Printf("| %s | %.2f | %.2f | %.0f |\n", name, s.wall.Seconds(), s.cpu.Seconds(), float64(s.rss)/(1<<20))
	}
}

// goals prints the ratios that are promised. None that verifies can take less
// than its sha256, which one core computes from the first byte to the last.
func goals(m map[string]sample) {
	fmt.Println("\n| ratio | is | goal | sha256 alone |\n|---|---|---|---|")
	for _, g := range []struct {
		ours, theirs string
		most         float64
	}{
		{bare, "curl + sha256sum", 0.25}, {bare, "curl + openssl", 0.45}, {bare, "go-getter, checksum", 0.60},
		{bare, "aria2c -x8, checksum", 0.20}, {bare, "curl, unverified", 0.85}, {journaled, "curl, unverified", 1.10},
		{journaled, "curl + openssl", 0.50}, {journaled, "curl + sync + openssl", 0},
	} {
		ours, theirs := m[g.ours], m[g.theirs]
		if ours.wall == 0 || theirs.wall == 0 {
			continue
		}
		goal := "–"
		if g.most > 0 {
			goal = fmt.Sprintf("≤ %.2f", g.most)
		}
		least := "–"
		if alone := m[floor].wall; alone > 0 {
			least = fmt.Sprintf("%.2f", alone.Seconds()/theirs.wall.Seconds())
		}
		fmt.Printf("| %s / %s | %.2f | %s | %s |\n", g.ours, g.theirs, ours.wall.Seconds()/theirs.wall.Seconds(), goal, least)
	}
}

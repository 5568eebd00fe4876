//go:build linux

// Bench measures aisync against the least that the same work can cost on the
// same machine in the same run, and prints ratios: a figure without its floor
// says little. It needs the binary that make built and writes only below a
// temp folder. Start reading at main.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// row is one line of the table.
type row struct {
	what       string
	cost       sample
	against    string
	floor      time.Duration // what it is compared with; 0: nothing
	durability string
}

func main() {
	runs := flag.Int("n", 15, "runs of each; the median counts")
	binary := flag.String("aisync", "bin/aisync", "the binary to measure")
	rules := flag.Int("rules", 1000, "rules in the bundle")
	model := flag.Int64("model", 60_000_000_000, "bytes of the model that is there already; 0 leaves it out")
	install := flag.Bool("peers", false, "install rulesync and ruler from npm first, into the cache of make test-runtimes")
	only := flag.Bool("adapters", false, "measure the adapters alone")
	ledger := flag.Bool("ledger", false, "measure the ledger alone")
	drift := flag.Bool("drift", false, "measure drift alone")
	work := flag.Bool("agents", false, "measure what agents call at work alone")
	health := flag.Bool("doctor", false, "measure doctor on the contract's host alone")
	recorded := flag.Bool("runs", false, "measure runs alone")
	history := flag.Bool("history", false, "measure beside many projects, and with many runtimes, alone")
	many := flag.Bool("projects", false, "measure all projects at once alone")
	programs := flag.Bool("programs", false, "measure 500 rules for seven programs alone")
	skills := flag.Bool("skills", false, "measure skills that others publish alone")
	older := flag.String("older", "", "with -programs and -ledger: another binary, measured in turns with this one")
	flag.Parse()
	var err error
	if *install {
		err = installPeers()
	}
	alone := ""
	switch {
	case *only:
		alone = "adapters"
	case *ledger:
		alone = "ledger"
	case *drift:
		alone = "drift"
	case *work:
		alone = "agents"
	case *health:
		alone = "doctor"
	case *recorded:
		alone = "runs"
	case *history:
		alone = "history"
	case *many:
		alone = "projects"
	case *programs:
		alone = "programs"
	case *skills:
		alone = "skills"
	}
	if err == nil {
		err = bench(&world{binary: *binary, older: *older, runs: *runs, rules: *rules}, *model, alone)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func bench(w *world, model int64, alone string) (err error) {
	if w.binary, err = filepath.Abs(w.binary); err != nil {
		return err
	}
	if w.older != "" {
		if w.older, err = filepath.Abs(w.older); err != nil {
			return err
		}
	}
	size, err := os.Stat(w.binary)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "aisync-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	fmt.Printf("%s\nmedians of %d runs; bytes and times are of the whole process\n\n", machine(dir), w.runs)

	w.dir = dir
	if err := w.make(); err != nil {
		return err
	}
	all := []struct {
		group   string
		measure func() ([]row, error)
	}{
		{"", w.start}, {"agents", w.atWork}, {"", w.firstApply}, {"", w.noChange}, {"drift", w.drift}, {"doctor", w.doctor}, {"", w.chezmoi},
		{"history", w.history}, {"history", w.ownRuntimes}, {"projects", w.manyProjects}, {"ledger", w.ledger}, {"runs", w.recorded}, {"adapters", w.fewAdapters}, {"adapters", w.manyAdapters}, {"programs", w.programs}, {"skills", w.skillSources},
	}
	var rows []row
	for _, m := range all {
		if alone != "" && m.group != alone {
			continue
		}
		r, err := m.measure()
		if err != nil {
			return err
		}
		rows = append(rows, r...)
	}
	printTable(rows)
	if alone != "" {
		return nil
	}
	fmt.Printf("\nbinary: %.1f MB (limit 30 MB)\n", float64(size.Size())/1e6)
	if err := w.fsyncs(); err != nil {
		return err
	}
	if model > 0 {
		return w.largeModel(model)
	}
	return nil
}

func printTable(rows []row) {
	fmt.Printf("%-54s %9s %9s %7s  %-50s %6s\n", "", "time", "cpu", "memory", "against", "ratio")
	for _, r := range rows {
		ratio := ""
		if r.floor > 0 {
			ratio = fmt.Sprintf("%.2f", float64(r.cost.time)/float64(r.floor))
		}
		fmt.Printf("%-54s %9s %9s %4.0f MB  %-50s %6s\n", r.what, ms(r.cost.time), ms(r.cost.cpu), float64(r.cost.memory)/1e6, r.against, ratio)
		if r.durability != "" {
			fmt.Printf("  %s\n", r.durability)
		}
	}
}

func ms(d time.Duration) string { return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1000) }

//go:build linux

package main

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// ledgerLines is the length of the audit trail that a ledger has after years.
const ledgerLines = 100_000

// ledger is what agents call many times a minute: on a new ledger, and on one
// with a long audit trail, where appending must cost the same. PI_ENSEMBLE_PEER
// names a checkout of the original, whose overview is then measured beside ours
// (its program is taken to be bin/ensemble.mjs, or what ENSEMBLE_BIN says).
func (w *world) ledger() ([]row, error) {
	program := filepath.Join(w.dir, "ensemble")
	if err := os.Symlink(w.binary, program); err != nil {
		return nil, err
	}
	small, big := filepath.Join(w.dir, "ledger-new"), filepath.Join(w.dir, "ledger-old")
	for _, dir := range []string{small, big} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, err
		}
		if _, err := run(dir, nil, program, "init", "--agent", "pi"); err != nil {
			return nil, err
		}
	}
	if err := longTrail(filepath.Join(big, ".pi-ensemble/audit.jsonl")); err != nil {
		return nil, err
	}
	var rows []row
	measure := func(what, dir, against string, floor time.Duration, words ...string) (sample, error) {
		s, err := median(w.runs, dir, nil, append([]string{program}, words...)...)
		rows = append(rows, row{what: what, cost: s, against: against, floor: floor})
		return s, err
	}
	if _, err := measure("ensemble claim, cold", small, "the target, 10 ms", 10*time.Millisecond, "claim", "src"); err != nil {
		return nil, err
	}
	note, err := measure("ensemble note, new ledger", small, "", 0, "note", "a fact", "--from", "pi")
	if err != nil {
		return nil, err
	}
	if _, err := measure("ensemble note, 100,000 lines of audit trail", big, "the same on a new ledger", note.time, "note", "a fact", "--from", "pi"); err != nil {
		return nil, err
	}
	if _, err := measure("ensemble overview, 100,000 lines", big, "the target, 300 ms and 64 MB", 300*time.Millisecond, "overview"); err != nil {
		return nil, err
	}
	if peer := os.Getenv("PI_ENSEMBLE_PEER"); peer != "" {
		script := os.Getenv("ENSEMBLE_BIN")
		if script == "" {
			script = "bin/ensemble.mjs"
		}
		s, err := median(w.runs, big, nil, "node", filepath.Join(peer, script), "overview")
		if err != nil {
			return nil, err
		}
		rows[len(rows)-1].against, rows[len(rows)-1].floor = "the original", s.time
	}
	for i := range 40 {
		if _, err := run(big, nil, program, "send", fmt.Sprintf("reader-%d", i), "a question", "--from", "pi"); err != nil {
			return nil, err
		}
	}
	if _, err := measure("ensemble status, the same, 40 agents that never read", big, "the target, 300 ms", 300*time.Millisecond, "status"); err != nil {
		return nil, err
	}
	return rows, nil
}

// longTrail appends messages that are done and claims that are released.
func longTrail(file string) error {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	b := bufio.NewWriter(f)
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for i := range ledgerLines / 4 {
		ts := at.Add(time.Duration(i) * time.Minute).Format("2006-01-02T15:04:05.000Z")
		fmt.Fprintf(b, `{"ts":%q,"action":"send","from":"pi","to":"codex","type":"handoff","body":"Please review the change in src/parser/file%d.go, and say where your findings are","messageId":"msg_%016x"}`+"\n", ts, i, i)
		fmt.Fprintf(b, `{"ts":%q,"action":"claim","agent":"codex","path":"/p/src/parser/file%d.go","force":false}`+"\n", ts, i)
		fmt.Fprintf(b, `{"ts":%q,"action":"release","agent":"codex","path":"/p/src/parser/file%d.go","previous":{"agent":"codex","since":%q},"force":false}`+"\n", ts, i, ts)
		fmt.Fprintf(b, `{"ts":%q,"action":"done","from":"codex","messageId":"msg_%016x","body":"see docs/review.md"}`+"\n", ts, i)
	}
	if err := b.Flush(); err != nil {
		return err
	}
	return f.Close()
}

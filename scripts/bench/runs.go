//go:build linux

package main

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// recorded is what a run costs with little and with much history: appending
// must cost the same, and a look no more than its targets.
func (w *world) recorded() ([]row, error) {
	small, err := w.runOf("runs-small", 1_000)
	if err != nil {
		return nil, err
	}
	middle, err := w.runOf("runs-middle", 10_000)
	if err != nil {
		return nil, err
	}
	large, err := w.runOf("runs-large", 1_000_000)
	if err != nil {
		return nil, err
	}
	var rows []row
	measure := func(what string, r madeRun, n int, against string, floor time.Duration, words ...string) (sample, error) {
		s, err := median(n, r.dir, []string{"AISYNC_CLAIM=" + r.token}, append([]string{w.binary, "run"}, words...)...)
		rows = append(rows, row{what: what, cost: s, against: against, floor: floor})
		return s, err
	}
	if _, err := measure("run status, 10,000 events", middle, w.runs, "the target, 50 ms", 50*time.Millisecond, "status"); err != nil {
		return nil, err
	}
	beat, err := measure("run renew, 1,000 events", small, w.runs, "", 0, "renew")
	if err != nil {
		return nil, err
	}
	if _, err := measure("run renew, 1,000,000 events", large, w.runs, "the same behind 1,000 events", beat.time, "renew"); err != nil {
		return nil, err
	}
	if _, err := measure("run status, 1,000,000 events, from the checkpoint", large, w.runs, "the target, 50 ms", 50*time.Millisecond, "status"); err != nil {
		return nil, err
	}
	// A replay checks every line: it is measured beside reading and hashing them,
	// which comes later, because this program then holds the whole file.
	few := min(w.runs, 5)
	if _, err := measure("run events --last 1, 1,000,000 events: a replay", large, few, "the target, 3 s", 3*time.Second, "events", "--last", "1"); err != nil {
		return nil, err
	}
	floor, err := medianOf(few, func(int) (time.Duration, error) { return readAndHash([]string{large.events}) })
	if err != nil {
		return nil, err
	}
	last := rows[len(rows)-1]
	last.what, last.against, last.floor = "the same", "reading and hashing them", floor
	return append(rows, last), nil
}

// madeRun is a run whose only task is held.
type madeRun struct{ dir, events, token string }

// runOf makes a run of n events, most of them heartbeats, as a long one has.
func (w *world) runOf(name string, n int) (madeRun, error) {
	r := madeRun{dir: filepath.Join(w.dir, name)}
	if err := os.MkdirAll(r.dir, 0o700); err != nil {
		return r, err
	}
	for _, words := range [][]string{{"init"}, {"start", "--goal", "g", "--id", "r"}, {"worker", "register", "me"}} {
		if _, err := run(r.dir, nil, append([]string{w.binary, "--project", r.dir, "run"}, words...)...); err != nil {
			return r, err
		}
	}
	cmd := exec.Command(w.binary, "run", "claim", "main", "--worker", "me")
	cmd.Dir = r.dir
	token, err := cmd.Output()
	if err != nil {
		return r, err
	}
	r.token, r.events = strings.TrimSpace(string(token)), filepath.Join(r.dir, ".ilchul/runs/r/events.jsonl")
	if err := heartbeats(r.events, r.token, n); err != nil {
		return r, err
	}
	_, err = run(r.dir, nil, w.binary, "run", "worker", "ready", "--token", r.token) // which leaves a checkpoint
	return r, err
}

// heartbeats appends lines of the form that docs/runs.md describes.
func heartbeats(file, token string, n int) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	lines := bytes.Split(bytes.TrimSpace(text), []byte("\n"))
	last := lines[len(lines)-1]
	sum := string(last[len(last)-34 : len(last)-2])
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	b := bufio.NewWriterSize(f, 1<<20)
	at := time.Now().UTC()
	for seq := len(lines) + 1; seq < n; seq++ {
		line := fmt.Sprintf(`{"seq":%d,"ts":%q,"type":"worker-heartbeat","taskId":"main","workerId":"me","token":%q,"lease":900000`,
			seq, at.Add(time.Duration(seq)*time.Millisecond).Format("2006-01-02T15:04:05.000Z"), token)
		h := sha256.Sum256([]byte(sum + line))
		sum = hex.EncodeToString(h[:16])
		fmt.Fprintf(b, "%s,\"sum\":\"%s\"}\n", line, sum)
	}
	if err := b.Flush(); err != nil {
		return err
	}
	return f.Close()
}

package ensemble

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"aisync.dev/aisync/agents/ledger"
)

func (c *call) note() (int, error) {
	if err := c.checkSecrets(c.text(0)); err != nil {
		return exitError, err
	}
	rec, err := c.ledger.Note(c.caller("from"), c.text(0))
	if err != nil {
		return exitError, err
	}
	return c.say(rec, "noted")
}

// lifecycle implements ack and done.
func (c *call) lifecycle() (int, error) {
	body := c.valueOr("body", c.text(1))
	if err := c.checkSecrets(body); err != nil {
		return exitError, err
	}
	record, word := c.ledger.Ack, "acked"
	if c.command == "done" {
		record, word = c.ledger.Done, "resolved"
	}
	rec, err := record(c.caller("from"), c.word(0), body)
	if err != nil {
		return exitError, err
	}
	return c.say(rec, "%s %s", word, c.word(0))
}

func (c *call) inbox() (int, error) {
	r := ledger.Reading{Agent: c.caller("agent"), Since: c.on["since-last-read"], Peek: c.on["peek"]}
	switch {
	case c.on["clear"]:
		r.Clear = true
	case c.on["since-last-read"], c.on["peek"]:
	default:
		r.Clear = !c.on["no-clear"]
	}
	if r.Peek && r.Clear {
		return exitError, errors.New("--peek and --clear exclude each other")
	}
	inboxes := c.inboxes(r.Agent)
	if ledger.ValidAgent(r.Agent) && !c.ledger.Known(r.Agent) && !c.seated(r.Agent) {
		agents, _, _ := c.ledger.Agents() // used only for the warning
		c.warn("unknown agent %s; known: %s", r.Agent, strings.Join(agents, ", "))
	}
	show := func(content string) error { return c.print(c.shown(content)) }
	if c.on["json"] {
		show = func(content string) error {
			return c.json(struct {
				Agent         string `json:"agent"`
				Clear         bool   `json:"clear"`
				SinceLastRead bool   `json:"sinceLastRead"`
				Content       string `json:"content"`
			}{r.Agent, r.Clear, r.Since, content})
		}
	}
	if code, err := c.awaitMail(r, inboxes); err != nil {
		return code, err
	}
	if err := c.deliver(r, inboxes, show); err != nil {
		return exitError, err
	}
	return exitDone, nil
}

// print writes a text and ends its last line.
func (c *call) print(text string) error {
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	_, err := fmt.Fprint(c.Out, text)
	return err
}

// claim claims paths. With --wait it waits until they are free or reports who
// holds them.
func (c *call) claim() (int, error) {
	agent := c.caller("agent")
	paths, err := c.paths()
	if err != nil {
		return exitError, err
	}
	deadline, err := c.deadline()
	if err != nil {
		return exitError, err
	}
	for said := false; ; {
		done, err := c.ledger.ClaimAll(agent, paths, c.on["force"])
		if err == nil {
			for _, n := range done.Near {
				c.warn("%s overlaps %s, which %s claims", strings.Join(paths, ", "), n.Path, n.Agent)
			}
			for _, e := range done.Ended {
				c.warn("the claim of %s on %s has ended: its agent is gone", e.Agent, e.Path)
			}
			return c.claimed(done.Records, paths)
		}
		if !errors.Is(err, ledger.ErrClaimed) && !errors.Is(err, ledger.ErrOverlap) || deadline.IsZero() {
			return exitError, err
		}
		if !said {
			fmt.Fprintf(c.Err, "waiting: %v\n", err)
			said = true
		}
		if left := time.Until(deadline); left <= 0 {
			return exitTimeout, err
		} else if !c.pause(min(left, 100*time.Millisecond)) {
			return exitError, errInterrupted
		}
	}
}

func (c *call) claimed(recs []json.RawMessage, paths []string) (int, error) {
	if c.on["json"] {
		if c.on["glob"] || len(recs) > 1 {
			return exitDone, c.json(recs)
		}
		return exitDone, c.json(recs[0])
	}
	for _, p := range paths {
		fmt.Fprintf(c.Out, "claimed %s\n", p)
	}
	return exitDone, nil
}

// paths returns the named paths and patterns, or with --glob all paths that match
// the pattern now.
func (c *call) paths() ([]string, error) {
	if !c.on["glob"] {
		return c.named(), nil
	}
	if len(c.words) > 1 {
		return nil, fmt.Errorf("--glob takes one pattern: %s; quote it", strings.Join(c.words, " "))
	}
	pattern := c.word(0)
	if pattern == "" {
		return nil, errors.New("path is required")
	}
	base := ""
	if !filepath.IsAbs(pattern) {
		base = c.ledger.Base()
	}
	found, err := glob(base, pattern)
	if err != nil {
		return nil, fmt.Errorf("--glob %s: %w", pattern, err)
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("--glob %s: no path matches, and a pattern claims only existing paths", pattern)
	}
	return found, nil
}

// glob lists the paths below base that match a pattern, sorted: * and ? match
// within one name, ** any number of folders.
func glob(base, pattern string) ([]string, error) {
	if !strings.Contains(pattern, "**") {
		found, err := filepath.Glob(filepath.Join(base, pattern))
		for i := range found {
			if rel, err := filepath.Rel(base, found[i]); base != "" && err == nil {
				found[i] = rel
			}
		}
		return found, err
	}
	parts := strings.Split(filepath.Clean(pattern), "/")
	if err := goodPattern(parts); err != nil {
		return nil, err
	}
	root := base
	if base == "" {
		root = "/"
		parts = parts[1:]
	}
	var found []string
	err := fs.WalkDir(os.DirFS(root), ".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil || path == ".":
			return nil
		case d.IsDir() && (d.Name() == ".git" || d.Name() == ledger.Dir):
			return fs.SkipDir
		case !d.IsDir() && matches(parts, strings.Split(path, "/")):
			if base == "" {
				path = "/" + path
			}
			found = append(found, path)
		}
		return nil
	})
	return found, err
}

func goodPattern(parts []string) error {
	for _, p := range parts {
		if _, err := filepath.Match(p, "x"); err != nil {
			return err
		}
	}
	return nil
}

func matches(pattern, path []string) bool {
	switch {
	case len(pattern) == 0:
		return len(path) == 0
	case pattern[0] == "**":
		return matches(pattern[1:], path) || len(path) > 0 && matches(pattern, path[1:])
	case len(path) == 0:
		return false
	}
	ok, _ := filepath.Match(pattern[0], path[0]) // goodPattern has checked it
	return ok && matches(pattern[1:], path[1:])
}

// longWait is the limit of a --wait without one.
const longWait = 24 * time.Hour

// deadline returns when a wait ends; the zero time is never. --wait alone waits
// for a day.
func (c *call) deadline() (time.Time, error) {
	if c.on["wait"] {
		return time.Now().Add(longWait), nil
	}
	text, ok := c.value["wait"]
	if !ok {
		return time.Time{}, nil
	}
	seconds, err := strconv.ParseFloat(strings.TrimSuffix(text, "s"), 64)
	if err != nil || seconds <= 0 {
		return time.Time{}, fmt.Errorf("--wait=%s: want a number of seconds", text)
	}
	return time.Now().Add(time.Duration(seconds * float64(time.Second))), nil
}

// pause waits, unless the user has had enough.
func (c *call) pause(d time.Duration) bool {
	select {
	case <-c.Done:
		return false
	case <-time.After(d):
		return true
	}
}

// named returns the words, each once; "" where there is none, which is refused.
func (c *call) named() []string {
	if len(c.words) == 0 {
		return []string{""}
	}
	var out []string
	for _, w := range c.words {
		if !slices.Contains(out, w) {
			out = append(out, w)
		}
	}
	return out
}

// release releases all named paths or none.
func (c *call) release() (int, error) {
	paths := c.named()
	recs, free, err := c.ledger.ReleaseAll(c.caller("agent"), paths, c.on["force"])
	if err != nil {
		return exitError, err
	}
	for _, p := range free {
		c.warn("%s was not claimed", p)
	}
	switch {
	case c.on["json"] && len(recs) == 1:
		return exitDone, c.json(recs[0])
	case c.on["json"]:
		return exitDone, c.json(recs)
	}
	return exitDone, c.print("released " + strings.Join(paths, "\nreleased "))
}

func (c *call) retire() (int, error) {
	targets := slices.Clone(c.words)
	if text, ok := c.value["stale"]; ok {
		days, err := strconv.ParseFloat(text, 64)
		if err != nil || days <= 0 {
			return exitError, errors.New("--stale requires a positive number of days")
		}
		idle, err := c.ledger.Stale(days)
		if err != nil {
			return exitError, err
		}
		for _, i := range idle {
			targets = append(targets, i.Agent)
		}
		if len(targets) == 0 {
			return c.say(json.RawMessage("[]"), "nothing to retire")
		}
	}
	if len(targets) == 0 {
		return c.say(json.RawMessage("[]"), "no agents given (use AGENT... or --stale N)")
	}
	for _, t := range targets { // all, or none because of a slip
		if !c.ledger.Known(t) {
			return exitError, fmt.Errorf("Unknown agent: %s", t) //lint:ignore ST1005 the original's text
		}
	}
	if c.on["dry-run"] {
		if c.on["json"] {
			return exitDone, c.json(map[string]any{"dryRun": true, "targets": targets})
		}
		return exitDone, c.print(fmt.Sprintf("would retire %d agent(s): %s", len(targets), strings.Join(targets, ", ")))
	}
	recs := []json.RawMessage{}
	for _, t := range targets {
		rec, err := c.ledger.Retire(ledger.Retirement{Agent: t, By: c.caller("by"), Reason: c.value["reason"]})
		if err != nil {
			return exitError, err
		}
		recs = append(recs, rec)
	}
	if c.on["json"] {
		return exitDone, c.json(recs)
	}
	for _, rec := range recs {
		var r struct {
			Agent, ArchivedTo string
			PendingMessages   int
			ReleasedClaims    []string
		}
		if err := json.Unmarshal(rec, &r); err != nil {
			return exitError, err
		}
		if err := c.print(fmt.Sprintf("retired %s (%d pending archived, %d claim(s) released) → %s", r.Agent, r.PendingMessages, len(r.ReleasedClaims), r.ArchivedTo)); err != nil {
			return exitError, err
		}
	}
	return exitDone, nil
}

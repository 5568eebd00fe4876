package ledger

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"aisync.dev/aisync/agents/ledger/jsontext"
	"aisync.dev/aisync/agents/ledger/trail"
	"aisync.dev/aisync/agents/overlap"
	"aisync.dev/aisync/internal/unixpath"
)

// Claim is one entry of worktrees.json.
type Claim struct {
	Path     string          `json:"path"`
	Agent    string          `json:"agent"`
	Since    string          `json:"since"`
	Lease    json.RawMessage `json:"lease,omitempty"`
	Previous json.RawMessage `json:"previous,omitempty"`

	// State and Why are not in the file: what Leases says of the claim now.
	State State  `json:"state,omitempty"`
	Why   string `json:"why,omitempty"`
}

// State is what is known of the agent behind a claim; "" of a claim without a
// lease, which ends by release alone.
type State string

// Held and Stale claims keep others away. A Stale one should be looked at: its
// agent has shown no sign of life for longer than its lease. An Ended one, whose
// agent is gone, is free.
const (
	Held  State = "held"
	Stale State = "stale"
	Ended State = "ended"
)

// Leases gives claims their lease and judges them. A ledger without Leases makes
// claims without a lease, and no claim ends but by its release.
type Leases interface {
	// Lease returns the lease of a claim that the caller makes (had is nil) or
	// renews; nil where it gets none or need not be renewed.
	Lease(had *Claim) json.RawMessage
	// State returns the state of a claim and, of a Stale or Ended one, why.
	State(Claim) (State, string)
}

// ErrClaimed reports a path that another agent claims.
var ErrClaimed = errors.New("claimed by another agent")

// ErrOverlap reports a path inside or around another agent's claim.
var ErrOverlap = errors.New("overlaps another agent's claim")

// Resolve returns the key of a path in worktrees.json: absolute, relative paths
// taken from Base, links unresolved. The path need not exist.
func (l *Ledger) Resolve(path string) (string, error) {
	if path == "" {
		return "", errors.New("path is required")
	}
	if strings.ContainsRune(path, 0) {
		return "", errors.New("path has a zero byte")
	}
	if !unixpath.IsAbs(path) {
		path = unixpath.Join(l.Base(), path)
	}
	return unixpath.Clean(path), nil
}

// claimed reads worktrees.json. An unreadable file is an error and stays:
// treating it as empty would forget the owners. The original writes the file in
// place, so a half-written one is read again.
func (l *Ledger) claimed() (jsontext.Object, error) {
	for try := 0; ; try++ {
		text, err := l.read(claimsFile)
		if err != nil {
			return nil, err
		}
		if text == nil {
			return nil, nil
		}
		o, err := jsontext.Parse(text)
		if err == nil {
			for _, m := range o {
				if c := parseClaim(m); c.Agent == "" {
					return nil, fmt.Errorf("%s: the entry of %s names no agent; mend it by hand or run: ensemble repair", l.path(claimsFile), m.Key)
				}
			}
			return o, nil
		}
		if try == patience || !l.recentlyWritten(claimsFile) {
			return nil, fmt.Errorf("%s: %w; nothing was changed; mend it by hand or run: ensemble repair", l.path(claimsFile), err)
		}
		time.Sleep(time.Millisecond << try)
	}
}

// tries is how often a change that another writer overwrote is repeated;
// patience is how often a half-written file is read again: for a quarter of a
// second, with waits doubling from one millisecond.
const tries, patience = 5, 8

// recentlyWritten reports whether a file changed a moment ago and may be incomplete.
func (l *Ledger) recentlyWritten(file string) bool {
	info, err := os.Stat(l.path(file))
	return err == nil && time.Since(info.ModTime()) < time.Second
}

func parseClaim(m jsontext.Member) Claim {
	c := Claim{}
	_ = json.Unmarshal(m.Value, &c) // an invalid claim has no agent
	c.Path, c.State, c.Why = m.Key, "", ""
	return c
}

// Claims lists the claims in the order of worktrees.json, with their states: all
// as they were at one moment.
func (l *Ledger) Claims() ([]Claim, error) {
	o, err := l.claimed()
	for try := 0; err == nil; try++ {
		out := claimsOf(o)
		leased, changed := false, false
		for i := range out {
			l.judge(&out[i])
			leased = leased || out[i].State != ""
		}
		if !leased || try == tries {
			return out, nil
		}
		// An agent that is judged alive twice was alive when all others had been
		// judged; one that was gone stays so.
		for _, c := range out {
			was := c.State
			l.judge(&c)
			changed = changed || c.State != was
		}
		var now jsontext.Object
		if now, err = l.claimed(); err == nil && !changed && bytes.Equal(now.Compact(), o.Compact()) {
			return out, nil
		}
		o = now
	}
	return nil, err
}

// judge fills the state of a claim.
func (l *Ledger) judge(c *Claim) {
	if l.Leases != nil && c.Lease != nil {
		c.State, c.Why = l.Leases.State(*c)
	}
}

func claimsOf(o jsontext.Object) []Claim {
	var out []Claim
	for _, m := range o {
		out = append(out, parseClaim(m))
	}
	return out
}

// ClaimsText returns worktrees.json as JSON and audits the read.
func (l *Ledger) ClaimsText() (json.RawMessage, error) {
	o, err := l.claimed()
	if err != nil {
		return nil, err
	}
	return o.Compact(), l.audit("claims_read")
}

// overlaps lists the claims of other agents inside or around key.
func (p pathCache) overlaps(claims []Claim, agent, key string) []Claim {
	var out []Claim
	mine := p.physical(key)
	for _, c := range claims {
		if c.Agent == agent || c.Path == key {
			continue
		}
		if overlap.Paths(mine, p.physical(c.Path)) {
			out = append(out, c)
		}
	}
	return out
}

// places caches physical paths: most claims share their folders.
type pathCache map[string]string

// physical resolves the links in the existing part of a path.
func (p pathCache) physical(path string) string {
	if real, known := p[path]; known {
		return real
	}
	dir := unixpath.Dir(path)
	if dir == path {
		return path
	}
	real := unixpath.Join(p.physical(dir), unixpath.Base(path))
	if info, err := os.Lstat(real); err == nil && info.Mode()&os.ModeSymlink != 0 {
		if to, err := unixpath.EvalSymlinks(real); err == nil {
			real = to
		}
	}
	p[path] = real
	return real
}

// change replaces worktrees.json by the result of edit and checks it: if a
// writer without a lock wrote meanwhile, it applies edit to what that one wrote.
// Such a writer writes in place, perhaps into the replaced file.
func (l *Ledger) change(edit func(jsontext.Object) (jsontext.Object, error)) error {
	had, err := l.claimed()
	for try := 0; ; try++ {
		if err != nil {
			return err
		}
		after, err := edit(had)
		if err != nil {
			return err
		}
		text := after.Text()
		if bytes.Equal(text, had.Text()) {
			return nil
		}
		old, _ := l.open(claimsFile) // without the file there is no other writer to detect
		err = l.replace(claimsFile, text)
		theirs := readOld(old, had)
		if err != nil {
			return err
		}
		if had, err = l.claimed(); err != nil {
			return err
		}
		switch ours := bytes.Equal(had.Text(), text); {
		case ours && theirs == nil || try == tries:
			return nil
		case ours:
			had = theirs
		}
	}
}

// readOld returns what another writer wrote into the replaced file; nil if it is
// unchanged or unreadable.
func readOld(f *os.File, had jsontext.Object) jsontext.Object {
	if f == nil {
		return nil
	}
	defer f.Close()
	for try := range patience {
		text, err := io.ReadAll(io.NewSectionReader(f, 0, trail.MaxLine))
		if err != nil {
			return nil
		}
		if now, err := jsontext.Parse(text); err == nil {
			if bytes.Equal(now.Text(), had.Text()) {
				return nil
			}
			return now
		}
		time.Sleep(time.Millisecond << try) // it may be half written
	}
	return nil
}

package ledger

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Claim is one entry of worktrees.json.
type Claim struct {
	Path     string          `json:"path"`
	Agent    string          `json:"agent"`
	Since    string          `json:"since"`
	Previous json.RawMessage `json:"previous,omitempty"`
}

// ErrClaimed reports a path that another agent claims.
var ErrClaimed = errors.New("claimed by another agent")

// ErrOverlap reports a path inside or around another agent's claim.
var ErrOverlap = errors.New("overlaps another agent's claim")

// Resolve returns the key of a path in worktrees.json: absolute, relative paths
// taken from Root, links unresolved. The path need not exist.
func (l *Ledger) Resolve(path string) (string, error) {
	if path == "" {
		return "", errors.New("path is required")
	}
	if strings.ContainsRune(path, 0) {
		return "", errors.New("path has a zero byte")
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(l.Root, path)
	}
	return filepath.Clean(path), nil
}

// claimed reads worktrees.json. An unreadable file is an error and stays:
// treating it as empty would forget the owners. The original writes the file in
// place, so a half-written one is read again.
func (l *Ledger) claimed() (object, error) {
	for try := 0; ; try++ {
		text, err := l.read(claimsFile)
		if err != nil {
			return nil, err
		}
		if text == nil {
			return nil, nil
		}
		o, err := members(text)
		if err == nil {
			for _, m := range o {
				if c := parseClaim(m); c.Agent == "" {
					return nil, fmt.Errorf("%s: the entry of %s names no agent; mend it by hand or run: ensemble repair", l.path(claimsFile), m.key)
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

func parseClaim(m member) Claim {
	c := Claim{}
	_ = json.Unmarshal(m.value, &c) // an invalid claim has no agent
	c.Path = m.key
	return c
}

// Claims lists the claims in the order of worktrees.json.
func (l *Ledger) Claims() ([]Claim, error) {
	o, err := l.claimed()
	if err != nil {
		return nil, err
	}
	return claimsOf(o), nil
}

func claimsOf(o object) []Claim {
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
	return o.compact(), l.audit("claims_read")
}

// overlaps lists the claims of other agents inside or around key.
func (p pathCache) overlaps(claims []Claim, agent, key string) []Claim {
	var out []Claim
	mine := p.physical(key)
	for _, c := range claims {
		if c.Agent == agent || c.Path == key {
			continue
		}
		if theirs := p.physical(c.Path); isBelow(mine, theirs) || isBelow(theirs, mine) {
			out = append(out, c)
		}
	}
	return out
}

// isBelow reports whether path is folder or below it.
func isBelow(path, folder string) bool {
	return path == folder || strings.HasPrefix(path, strings.TrimSuffix(folder, "/")+"/")
}

// places caches physical paths: most claims share their folders.
type pathCache map[string]string

// physical resolves the links in the existing part of a path.
func (p pathCache) physical(path string) string {
	if real, known := p[path]; known {
		return real
	}
	dir := filepath.Dir(path)
	if dir == path {
		return path
	}
	real := filepath.Join(p.physical(dir), filepath.Base(path))
	if info, err := os.Lstat(real); err == nil && info.Mode()&os.ModeSymlink != 0 {
		if to, err := filepath.EvalSymlinks(real); err == nil {
			real = to
		}
	}
	p[path] = real
	return real
}

// ClaimAll makes agent the owner of all paths or of none, and returns the audit
// records and the claims of others that overlap. It creates the agent if needed.
// Without force it refuses a path of another agent with ErrClaimed and, in a
// strict ledger, an overlapping one with ErrOverlap. A crash may leave a claim
// without its audit record.
func (l *Ledger) ClaimAll(agent string, paths []string, force bool) (recs []json.RawMessage, near []Claim, err error) {
	var keys []string
	for _, p := range paths {
		key, err := l.owned(agent, p)
		if err != nil {
			return nil, nil, err
		}
		keys = append(keys, key)
	}
	err = l.changeLocked(func() error {
		previous := make([]json.RawMessage, len(keys))
		since := l.stamp()
		err := l.change(func(o object) (object, error) {
			near = nil
			claims, at := claimsOf(o), pathCache{}
			for i, key := range keys {
				if c := parseClaim(member{key, o.get(key)}); c.Agent == agent && c.Since == since {
					continue // written by an earlier try of this claim
				}
				around := at.overlaps(claims, agent, key)
				near = append(near, around...)
				if len(around) > 0 && l.Strict && !force {
					return nil, refusal{fmt.Sprintf("%s overlaps %s, which %s claims. Use --force to override.", key, around[0].Path, around[0].Agent), ErrOverlap}
				}
				entry, err := claimedEntry(o, agent, key, since, force)
				if err != nil {
					return nil, err
				}
				previous[i] = nil
				if had := o.get(key); had != nil {
					previous[i] = withoutReplaced(had)
				}
				o = o.with(key, entry)
			}
			return o, nil
		})
		if err != nil {
			return err
		}
		for i, key := range keys {
			action := "claim"
			if previous[i] != nil {
				action = "claim_update"
			}
			rec, err := l.record(action, pair{"agent", agent}, pair{"path", key}, pair{"previous", previous[i]}, pair{"force", force})
			if err != nil {
				return err
			}
			if err := l.verifyClaim(key, agent); err != nil {
				return err
			}
			recs = append(recs, rec)
		}
		return l.ensureAgent(agent)
	})
	return recs, near, err
}

// claimedEntry returns the entry of key once agent has claimed it, or why it may not.
func claimedEntry(o object, agent, key, since string, force bool) (json.RawMessage, error) {
	entry := claimEntry(agent, since)
	i := o.index(key)
	if i < 0 {
		return entry, nil
	}
	if owner := parseClaim(o[i]).Agent; owner != agent && !force {
		return nil, refusal{fmt.Sprintf("Path already claimed by %s: %s. Use --force to override.", owner, key), ErrClaimed}
	}
	if force {
		// Drop what the replaced entry had replaced: repeated claims would nest
		// without bound.
		had, _ := members(entry) // cannot fail: claimEntry made it
		entry = had.with("previous", withoutReplaced(o[i].value)).compact()
	}
	return entry, nil
}

func claimEntry(agent, since string) json.RawMessage {
	return object{{"agent", json.RawMessage(quote(agent))}, {"since", json.RawMessage(quote(since))}}.compact()
}

// verifyClaim checks again that the claim stands: a writer without a lock may have
// restored what it had read before.
func (l *Ledger) verifyClaim(key, agent string) error {
	o, err := l.claimed()
	if err != nil {
		return err
	}
	i := o.index(key)
	switch {
	case i < 0:
		return l.change(func(o object) (object, error) {
			return o.with(key, claimEntry(agent, l.stamp())), nil
		})
	case parseClaim(o[i]).Agent != agent:
		return refusal{fmt.Sprintf("Path already claimed by %s: %s. Use --force to override.", parseClaim(o[i]).Agent, key), ErrClaimed}
	}
	return nil
}

// Release releases path and returns the audit record. Without force it refuses a
// path of another agent with ErrClaimed. An unclaimed path is no error: held is
// false, and nothing is written.
func (l *Ledger) Release(agent, path string, force bool) (rec json.RawMessage, held bool, err error) {
	key, err := l.owned(agent, path)
	if err != nil {
		return nil, false, err
	}
	err = l.changeLocked(func() (err error) {
		rec, held, err = l.release(agent, key, force, "")
		return err
	})
	return rec, held, err
}

func (l *Ledger) owned(agent, path string) (string, error) {
	if err := checkAgent(agent); err != nil {
		return "", err
	}
	return l.Resolve(path)
}

func (l *Ledger) release(agent, key string, force bool, via string) (rec json.RawMessage, held bool, err error) {
	var previous json.RawMessage
	err = l.change(func(o object) (object, error) {
		i := o.index(key)
		if i < 0 {
			return o, nil
		}
		if owner := parseClaim(o[i]); owner.Agent != agent && !force {
			return nil, refusal{fmt.Sprintf("Path claimed by %s, not %s: %s. Use --force to release anyway.", owner.Agent, agent, key), ErrClaimed}
		}
		previous, held = withoutReplaced(o[i].value), true
		return o.without(key), nil
	})
	if err != nil {
		return nil, false, err
	}
	members := []pair{{"agent", agent}, {"path", key}, {"previous", previous}, {"force", force}, {"via", via}}
	if !held {
		return line(l.stamp(), "release", members), false, nil
	}
	rec, err = l.record("release", members...)
	return rec, true, err
}

// withoutReplaced returns an entry without the one that it had replaced.
func withoutReplaced(value json.RawMessage) json.RawMessage {
	o, err := members(value)
	if err != nil {
		return value
	}
	return o.without("previous").compact()
}

// change replaces worktrees.json by the result of edit and checks it: if a
// writer without a lock wrote meanwhile, it applies edit to what that one wrote.
// Such a writer writes in place, perhaps into the replaced file.
func (l *Ledger) change(edit func(object) (object, error)) error {
	had, err := l.claimed()
	for try := 0; ; try++ {
		if err != nil {
			return err
		}
		after, err := edit(had)
		if err != nil {
			return err
		}
		text := after.text()
		if bytes.Equal(text, had.text()) {
			return nil
		}
		old, _ := os.Open(l.path(claimsFile)) // without the file there is no other writer to detect
		err = l.replace(claimsFile, text)
		theirs := readOld(old, had)
		if err != nil {
			return err
		}
		if had, err = l.claimed(); err != nil {
			return err
		}
		switch ours := bytes.Equal(had.text(), text); {
		case ours && theirs == nil || try == tries:
			return nil
		case ours:
			had = theirs
		}
	}
}

// readOld returns what another writer wrote into the replaced file; nil if it is
// unchanged or unreadable.
func readOld(f *os.File, had object) object {
	if f == nil {
		return nil
	}
	defer f.Close()
	for try := range patience {
		text, err := io.ReadAll(io.NewSectionReader(f, 0, maxLine))
		if err != nil {
			return nil
		}
		if now, err := members(text); err == nil {
			if bytes.Equal(now.text(), had.text()) {
				return nil
			}
			return now
		}
		time.Sleep(time.Millisecond << try) // it may be half written
	}
	return nil
}

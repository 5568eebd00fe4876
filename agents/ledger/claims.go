package ledger

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
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

// ErrClaimed says that a path is another agent's.
var ErrClaimed = errors.New("claimed by another agent")

// ErrOverlap says that a path lies in, or around, one that another agent claims.
var ErrOverlap = errors.New("overlaps another agent's claim")

// Resolve returns the key of a path as it stands in worktrees.json: absolute,
// seen from Root, links as they are. The path need not exist.
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

// claimed reads worktrees.json. One that cannot be read is an error, and left
// as it is: taking it for empty would forget who owns what. The original writes
// it in place, so a reader may meet it half written: it is read again.
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
		if try == 5 {
			return nil, fmt.Errorf("%s: %w; nothing was changed; mend it by hand or run: ensemble repair", l.path(claimsFile), err)
		}
		time.Sleep(time.Millisecond << try)
	}
}

func parseClaim(m member) Claim {
	c := Claim{}
	_ = json.Unmarshal(m.value, &c) // what is no claim has no agent
	c.Path = m.key
	return c
}

// Claims lists who owns what, in the order of worktrees.json.
func (l *Ledger) Claims() ([]Claim, error) {
	o, err := l.claimed()
	if err != nil {
		return nil, err
	}
	var out []Claim
	for _, m := range o {
		out = append(out, parseClaim(m))
	}
	return out, nil
}

// ClaimsText is worktrees.json as JSON, and leaves the trace of a read.
func (l *Ledger) ClaimsText() (json.RawMessage, error) {
	o, err := l.claimed()
	if err != nil {
		return nil, err
	}
	return o.compact(), l.traced("claims_read")
}

// Overlaps lists the claims of others that path lies in or around, links
// resolved as far as the paths exist.
func (l *Ledger) Overlaps(agent, path string) ([]Claim, error) {
	key, err := l.Resolve(path)
	if err != nil {
		return nil, err
	}
	claims, err := l.Claims()
	if err != nil {
		return nil, err
	}
	return overlaps(claims, agent, key), nil
}

func overlaps(claims []Claim, agent, key string) []Claim {
	var out []Claim
	mine := physical(key)
	for _, c := range claims {
		if c.Agent == agent || c.Path == key {
			continue
		}
		if theirs := physical(c.Path); beneath(mine, theirs) || beneath(theirs, mine) {
			out = append(out, c)
		}
	}
	return out
}

// beneath reports whether path is folder or lies in it.
func beneath(path, folder string) bool {
	return path == folder || strings.HasPrefix(path, strings.TrimSuffix(folder, "/")+"/")
}

// physical resolves the links of the part of a path that exists.
func physical(path string) string {
	for dir, rest := path, ""; ; dir, rest = filepath.Dir(dir), filepath.Join(filepath.Base(dir), rest) {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			return filepath.Join(real, rest)
		}
		if dir == filepath.Dir(dir) {
			return path
		}
	}
}

// Claim makes agent the owner of path and returns the audit record and the
// claims of others that overlap it. A path that is another's is refused with
// ErrClaimed unless force is set, and one that overlaps with ErrOverlap where
// the ledger is strict. A crash may leave a claim that is not audited.
func (l *Ledger) Claim(agent, path string, force bool) (json.RawMessage, []Claim, error) {
	recs, near, err := l.ClaimAll(agent, []string{path}, force)
	if err != nil {
		return nil, near, err
	}
	return recs[0], near, nil
}

// ClaimAll claims every one of paths, or none, on the terms of Claim.
func (l *Ledger) ClaimAll(agent string, paths []string, force bool) (recs []json.RawMessage, near []Claim, err error) {
	var keys []string
	for _, p := range paths {
		key, err := l.owned(agent, p)
		if err != nil {
			return nil, nil, err
		}
		keys = append(keys, key)
	}
	err = l.locked(func() error {
		previous := make([]json.RawMessage, len(keys))
		since := l.stamp()
		err := l.change(func(o object) (object, error) {
			near = nil
			for i, key := range keys {
				entry, err := l.taken(o, agent, key, since, force, &near)
				if err != nil {
					return nil, err
				}
				previous[i] = nil
				if had := o.get(key); had != nil {
					previous[i] = before(had)
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
			if err := l.still(key, agent); err != nil {
				return err
			}
			recs = append(recs, rec)
		}
		return nil
	})
	return recs, near, err
}

// taken is the entry of key once agent has claimed it, or why it may not.
func (l *Ledger) taken(o object, agent, key, since string, force bool, near *[]Claim) (json.RawMessage, error) {
	var all []Claim
	for _, m := range o {
		all = append(all, parseClaim(m))
	}
	around := overlaps(all, agent, key)
	*near = append(*near, around...)
	if len(around) > 0 && l.Strict && !force {
		return nil, refusal{fmt.Sprintf("%s overlaps %s, which %s claims. Use --force to override.", key, around[0].Path, around[0].Agent), ErrOverlap}
	}
	entry := claimEntry(agent, since)
	i := o.index(key)
	if i < 0 {
		return entry, nil
	}
	if owner := parseClaim(o[i]).Agent; owner != agent && !force {
		return nil, refusal{fmt.Sprintf("Path already claimed by %s: %s. Use --force to override.", owner, key), ErrClaimed}
	}
	if force {
		// Without what that one had replaced: repeated claims would nest without bound.
		had, _ := members(entry) // of what claimEntry made: cannot fail
		entry = had.with("previous", before(o[i].value)).compact()
	}
	return entry, nil
}

func claimEntry(agent, since string) json.RawMessage {
	return object{{"agent", json.RawMessage(quote(agent))}, {"since", json.RawMessage(quote(since))}}.compact()
}

// still reads once more whether the claim stands: a writer without a lock may
// have put back what it had read before.
func (l *Ledger) still(key, agent string) error {
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

// Release gives path back and returns the audit record. A path that is
// another's is refused with ErrClaimed unless force is set; a path that is
// nobody's is released, as the original does.
func (l *Ledger) Release(agent, path string, force bool) (json.RawMessage, error) {
	key, err := l.owned(agent, path)
	if err != nil {
		return nil, err
	}
	var rec json.RawMessage
	return rec, l.locked(func() (err error) {
		rec, err = l.release(agent, key, force, "")
		return err
	})
}

func (l *Ledger) owned(agent, path string) (string, error) {
	if err := checkAgent(agent); err != nil {
		return "", err
	}
	return l.Resolve(path)
}

func (l *Ledger) release(agent, key string, force bool, via string) (json.RawMessage, error) {
	var previous json.RawMessage
	err := l.change(func(o object) (object, error) {
		i := o.index(key)
		if i < 0 {
			return o, nil
		}
		if owner := parseClaim(o[i]); owner.Agent != agent && !force {
			return nil, refusal{fmt.Sprintf("Path claimed by %s, not %s: %s. Use --force to release anyway.", owner.Agent, agent, key), ErrClaimed}
		}
		previous = before(o[i].value)
		return o.without(key), nil
	})
	if err != nil {
		return nil, err
	}
	return l.record("release", pair{"agent", agent}, pair{"path", key}, pair{"previous", previous}, pair{"force", force}, pair{"via", via})
}

// before is an entry without the one that it had replaced.
func before(value json.RawMessage) json.RawMessage {
	o, err := members(value)
	if err != nil {
		return value
	}
	return o.without("previous").compact()
}

// change replaces worktrees.json by what edit makes of it, and reads it again:
// where a writer without a lock has overwritten it, edit is applied to what
// that one wrote.
func (l *Ledger) change(edit func(object) (object, error)) error {
	for try := 0; ; try++ {
		before, err := l.claimed()
		if err != nil {
			return err
		}
		after, err := edit(before)
		if err != nil {
			return err
		}
		text := after.text()
		if bytes.Equal(text, before.text()) {
			return nil
		}
		if err := l.replace(claimsFile, text); err != nil {
			return err
		}
		now, err := l.read(claimsFile)
		if err != nil || bytes.Equal(now, text) || try == 5 {
			return err
		}
	}
}

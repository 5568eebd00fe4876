package reconcile

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
)

// Summary counts what a plan holds.
type Summary struct {
	Create      int   `json:"create"`
	Update      int   `json:"update"`
	Delete      int   `json:"delete"`
	Accept      int   `json:"accept"`  // recorded only
	Release     int   `json:"release"` // forgotten, left in place
	Conflict    int   `json:"conflict"`
	Unknown     int   `json:"unknown"`
	Unsupported int   `json:"unsupported"`
	Unchanged   int   `json:"unchanged"`
	Drift       int   `json:"drift"`
	Pending     int   `json:"pending"`
	FetchBytes  int64 `json:"fetch_bytes"`
}

// Summary counts p's changes.
func (p *Plan) Summary() Summary {
	s := Summary{Unsupported: len(p.Unsupported), Conflict: len(p.Conflicts)}
	for _, c := range p.Changes {
		switch c.Action {
		case Create:
			s.Create++
		case Update, PutBack:
			s.Update++
		case Delete:
			s.Delete++
		case Accept:
			s.Accept++
		case Release:
			s.Release++
		case Clash:
			s.Conflict++
		case Unclear:
			s.Unknown++
		default:
			s.Unchanged++
		}
		if c.Drift() {
			s.Drift++
		}
		if c.Pending() {
			s.Pending++
		}
		if c.Writes() {
			s.FetchBytes += c.Before.Fetch
		}
	}
	return s
}

// Empty reports whether an apply of p would do nothing and nothing is undecided.
func (p *Plan) Empty() bool {
	return len(p.Conflicts) == 0 && !slices.ContainsFunc(p.Changes, func(c Change) bool { return c.Action != None })
}

// Undecided returns the changes in which nobody chose what shall be done.
func (p *Plan) Undecided() []Change {
	var out []Change
	for _, c := range p.Changes {
		if c.Action == Clash {
			out = append(out, c)
		}
	}
	return out
}

// TrustItem is one command that an agent, or git, will run because of a plan.
type TrustItem struct {
	Address Address    `json:"address"`
	Key     LeafKey    `json:"key"`
	Command string     `json:"command"`
	Body    string     `json:"fingerprint"` // of what is run or of what calls it
	Origin  []Position `json:"origin"`
}

// Commands returns what owner asks agents and git to run, sorted: all of it,
// also what is there already.
func (p *Plan) Commands(owner Owner) []TrustItem {
	var out []TrustItem
	for _, c := range p.Changes {
		for _, l := range c.Leaves {
			if l.Want != nil && l.Want.Runs != "" && slices.Contains(l.Want.Owners, owner) {
				out = append(out, TrustItem{Address: c.Target.Resource.Address, Key: l.Key, Command: l.Want.Runs, Body: string(l.Want.Body.Fingerprint()), Origin: l.Want.Origin})
			}
		}
	}
	return out
}

// TrustDigest identifies a list of commands; the same commands give the same
// digest on every machine.
func TrustDigest(items []TrustItem) string {
	lines := make([]string, len(items))
	for i, t := range items {
		lines[i] = fmt.Sprintf("%s\x00%s\x00%s\x00%s", t.Address, t.Key, t.Command, t.Body)
	}
	slices.Sort(lines)
	sum := sha256.Sum256([]byte(strings.Join(lines, "\x01")))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// digest identifies what is run at one place. How it is called is part of it.
func (t TrustItem) digest() string {
	sum := sha256.Sum256([]byte(string(t.Address) + "\x00" + string(t.Key) + "\x00" + t.Body))
	return "sha256:" + hex.EncodeToString(sum[:])
}

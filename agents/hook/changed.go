package hook

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"aisync.dev/aisync/agents/identity"
	"aisync.dev/aisync/agents/keeper"
	"aisync.dev/aisync/agents/ledger"
	"aisync.dev/aisync/agents/overlap"
	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/internal/unixpath"
)

// maxFiles bounds the files that are looked at below claimed folders.
const maxFiles = 1000

// stateOf returns the size and time of the files that others claim, by path.
func (c *Call) stateOf(claims []ledger.Claim) map[string]string {
	out := map[string]string{}
	for _, claim := range claims {
		if c.isOwn(claim) {
			continue
		}
		base := overlap.Base(claim.Path)
		err := unixpath.WalkDir(base, func(name string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return nil // it has gone meanwhile, or never was
			case len(out) >= maxFiles:
				return fs.SkipAll
			case d.IsDir() && d.Name() == ".git" && name != base:
				return fs.SkipDir
			case d.IsDir(), !overlap.Covers(claim.Path, name):
				return nil
			}
			if info, err := d.Info(); err == nil {
				out[name] = state(info)
			}
			return nil
		})
		if _, there := out[claim.Path]; err == nil && !there && !overlap.IsPattern(claim.Path) && len(out) < maxFiles {
			if _, err := os.Lstat(claim.Path); errors.Is(err, fs.ErrNotExist) {
				out[claim.Path] = ""
			}
		}
	}
	return out
}

func state(info fs.FileInfo) string {
	return fmt.Sprintf("%d %d", info.Size(), info.ModTime().UnixNano())
}

// postToolUse finds files of others that changed during a command, and tells both
// sides; it brings mail, too.
func (c *Call) postToolUse() error {
	var say []string
	var fault error
	if c.in.kind != otherTool {
		if c.in.kind == shellTool && !c.own.Began.IsZero() {
			say, fault = c.changed()
		}
		c.own.Done, c.own.Before = c.Now, nil
		fault = errors.Join(fault, c.seen())
	}
	return errors.Join(fault, c.deliver(say))
}

// changed compares the claimed files of others with their state before the
// command.
func (c *Call) changed() ([]string, error) {
	claims, err := c.ledger.Claims()
	if err != nil {
		return nil, err
	}
	after := c.stateOf(claims)
	byOwner := map[string][]string{}
	for _, path := range slices.Sorted(maps.Keys(c.own.Before)) {
		was := c.own.Before[path]
		now, seen := after[path]
		if was == now || !seen && len(after) >= maxFiles {
			continue
		}
		owner := ownerOf(claims, path)
		if owner == "" || owner == c.own.Name || owner == c.Getenv(identity.VarTaskSeat) {
			continue
		}
		if r, ok := c.known(owner); ok && c.life(r) != keeper.Gone && r.workedSince(c.own.Began) {
			continue // the owner may have changed it
		}
		byOwner[owner] = append(byOwner[owner], c.relative(path))
	}
	var say []string
	command := termtext.Clip(termtext.OneLine(c.in.command), 200)
	for _, owner := range slices.Sorted(maps.Keys(byOwner)) {
		files := named(byOwner[owner])
		more := ""
		if n := len(files) - maxListed; n > 0 {
			files, more = files[:maxListed], fmt.Sprintf(" and %d more", n)
		}
		what := strings.Join(files, ", ") + more
		say = append(say, fmt.Sprintf("While your command ran, files changed that %s claims: %s. %s was told. Undo your change, or settle it: aisync ledger send %s \"…\" --from %s --type question",
			owner, what, owner, owner, c.own.Name))
		_, failed := c.ledger.Send(ledger.Message{From: c.own.Name, To: owner, Type: "note", Body: fmt.Sprintf("Files that you claim changed while a command of %s ran: %s. The command: %s", c.own.Name, what, command)})
		err = errors.Join(err, failed)
	}
	return say, err
}

// ownerOf returns the agent with the innermost claim around path.
func ownerOf(claims []ledger.Claim, path string) string {
	owner, longest := "", -1
	for _, k := range claims {
		if overlap.Covers(k.Path, path) && len(k.Path) > longest {
			owner, longest = k.Agent, len(k.Path)
		}
	}
	return owner
}

// workedSince reports whether a writing tool of r ran at some time since t.
func (r record) workedSince(t time.Time) bool {
	return !r.Began.IsZero() && (r.Done.Before(r.Began) || !r.Done.Before(t))
}

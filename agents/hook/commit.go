package hook

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"aisync.dev/aisync/agents/identity"
	"aisync.dev/aisync/agents/seat"
	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/internal/unixpath"
)

// Commit is the question of git's pre-commit hook: it reads the staged paths,
// relative to Dir and each ended by a zero byte, and returns 1 if an agent
// commits what another one claims, or a helper commits. A person is only told.
// What cannot be found out stops no commit.
func (c Call) Commit() int {
	refused, err := c.commit()
	if err != nil {
		fmt.Fprintf(c.Err, "aisync hook pre-commit: %s; nothing was checked\n", termtext.OneLine(err.Error()))
	}
	if refused {
		return 1
	}
	return 0
}

func (c *Call) commit() (refused bool, err error) {
	text, err := io.ReadAll(io.LimitReader(c.In, MaxInput))
	if err != nil {
		return false, fmt.Errorf("read the staged paths: %w", err)
	}
	c.in.cwd = c.Dir
	if err := c.find(); err != nil {
		return false, err
	}
	if c.others, err = c.readRecords(); err != nil {
		return false, err
	}
	agent := c.committer()
	claims, err := c.ledger.Claims()
	if err != nil {
		return false, err
	}
	if agent && c.isHelper() {
		fmt.Fprintf(c.Err, "aisync: not committed: only the primary changes git, and %s is a helper\n", c.own.Name)
		return true, nil
	}
	found := 0
	for name := range bytes.SplitSeq(text, []byte{0}) {
		if len(name) == 0 {
			continue
		}
		why, _ := c.held(claims, []string{unixpath.Join(c.Dir, string(name))})
		if why == "" {
			continue
		}
		if found++; found > maxListed {
			continue
		}
		if agent {
			fmt.Fprintf(c.Err, "aisync: %s\n", termtext.Safe(why))
		} else {
			what, _, _ := strings.Cut(why, ", so this")
			fmt.Fprintf(c.Err, "aisync: %s; it is committed with your changes\n", termtext.Safe(what))
		}
	}
	if found > maxListed {
		fmt.Fprintf(c.Err, "aisync: and %d more\n", found-maxListed)
	}
	return agent && found > 0, nil
}

// committer finds the agent that runs the commit: by its process, or by what its
// environment says. A person has no name.
func (c *Call) committer() bool {
	all := make([]*seat.Seat, len(c.others))
	for i := range c.others {
		all[i] = &c.others[i].Seat
	}
	name := cmp.Or(seat.Given(c.Getenv), strings.TrimSpace(c.Getenv(identity.VarID)))
	if own := c.seats().Own(all, c.Getenv, nil); own != nil {
		name = own.Name
	}
	c.own = record{Seat: seat.Seat{Name: name}}
	c.others = slices.DeleteFunc(c.others, func(r record) bool { return r.Name == name })
	return name != ""
}

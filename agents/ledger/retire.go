package ledger

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"aisync.dev/aisync/internal/unixpath"
)

// Retirement names an agent that leaves the ledger, who retires it, and why.
type Retirement struct{ Agent, By, Reason string }

// Retire releases an agent's claims and moves its folder below agents/.retired,
// where nothing of it is lost. It returns the audit record. A crash may leave
// the folder moved but the retirement not audited, which Repair completes.
func (l *Ledger) Retire(r Retirement) (json.RawMessage, error) {
	if err := checkAgent(r.Agent); err != nil {
		return nil, err
	}
	if !l.Known(r.Agent) {
		return nil, said("Unknown agent: %s", r.Agent)
	}
	var rec json.RawMessage
	err := l.changeLocked(func() error {
		s, err := l.statusOf(r.Agent, readings{}.known)
		if err = errors.Join(err, s.inbox); err != nil {
			return err
		}
		claims, err := l.Claims()
		if err != nil {
			return err
		}
		released := []string{}
		for _, c := range claims {
			if c.Agent == r.Agent {
				released = append(released, c.Path)
			}
		}
		if _, _, err := l.release(r.Agent, released, false, "retire"); err != nil {
			return err
		}
		to := unixpath.Join(agentsDir, retiredDir, r.Agent+"."+strings.NewReplacer(":", "-", ".", "-").Replace(l.stamp()))
		if err := os.MkdirAll(l.path(agentsDir, retiredDir), 0o700); err != nil {
			return fmt.Errorf("make %s: %w", retiredDir, err)
		}
		if err := l.about("rename", to); err != nil {
			return err
		}
		if err := os.Rename(l.path(agentsDir, r.Agent), l.path(to)); err != nil {
			return fmt.Errorf("retire %s: %w", r.Agent, err)
		}
		rec, err = l.record("retire", pair{"agent", r.Agent}, pair{"by", r.By}, pair{"reason", r.Reason},
			pair{"pendingMessages", s.Pending}, pair{"releasedClaims", released}, pair{"archivedTo", l.path(to)})
		return err
	})
	return rec, err
}

package hook

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"aisync.dev/aisync/agents/identity"
	"aisync.dev/aisync/agents/keeper"
	"aisync.dev/aisync/agents/ledger"
	"aisync.dev/aisync/agents/overlap"
	"aisync.dev/aisync/internal/unixpath"
)

// preToolUse refuses what another agent is known to hold, and claims what the
// agent is about to edit while another agent is here.
func (c *Call) preToolUse() error {
	if c.in.kind == otherTool {
		return nil
	}
	home := c.Getenv("HOME")
	targets := c.in.targets(home, c.Shell)
	if why := c.helperRefusal(targets, home); why != "" {
		return c.refuse(why)
	}
	claims, err := c.ledger.Claims()
	if err != nil {
		return fmt.Errorf("%w; nothing was checked", err)
	}
	why, ended := c.held(claims, targets)
	if why == "" {
		why, _ = c.held(claims, c.brought(claims, home))
	}
	if why != "" {
		return c.refuse(why)
	}
	if why, err = c.claim(claims, targets, ended); why != "" {
		return errors.Join(err, c.refuse(why))
	}
	c.own.Began, c.own.Done = c.Now, c.Now.Add(-1) // it has not ended
	c.own.Before = nil
	if c.in.kind == shellTool {
		c.own.Before = c.stateOf(claims)
	}
	return errors.Join(err, c.seen())
}

// held returns why targets must not be written, "" if they may; and the claims
// on them by agents that have ended.
func (c *Call) held(claims []ledger.Claim, targets []string) (why string, ended []ledger.Claim) {
	for _, target := range targets {
		near, err := c.ledger.Overlapping(claims, c.own.Name, target)
		if err != nil {
			continue // not a path
		}
		for _, claim := range near {
			if c.isOwn(claim) {
				continue
			}
			if c.ended(claim) {
				ended = append(ended, claim)
				continue
			}
			return c.heldText(target, claim), nil
		}
	}
	return "", ended
}

// brought returns the paths that git commands of a shell would write from commits and
// patches. Git is asked only where another agent holds something.
func (c *Call) brought(claims []ledger.Claim, home string) (out []string) {
	if c.in.kind != shellTool || c.Shell == nil || !slices.ContainsFunc(claims, func(k ledger.Claim) bool { return !c.isOwn(k) && !c.ended(k) }) {
		return nil
	}
	for _, m := range c.Shell.Moves(c.in.command, c.in.cwd, home) {
		paths, ok := c.Shell.Brings(m)
		if !ok {
			paths = append(paths, m.Else...)
		}
		out = append(out, paths...)
	}
	return out
}

// isOwn reports whether a claim is the agent's, or made for the task that it carries out.
func (c *Call) isOwn(claim ledger.Claim) bool {
	return claim.Agent == c.own.Name || claim.Agent == c.Getenv(identity.VarTaskSeat)
}

// ended reports whether the agent of a claim is gone: by the claim's lease, or,
// where it has none, by the hooks that called for an agent of that name.
func (c *Call) ended(claim ledger.Claim) bool {
	if claim.State != "" {
		return claim.State == ledger.Ended
	}
	r, ok := c.known(claim.Agent)
	return ok && c.life(r) == keeper.Gone
}

func (c *Call) heldText(target string, claim ledger.Claim) string {
	what := c.relative(target)
	if at := c.relative(claim.Path); at != what {
		what = fmt.Sprintf("%s (of %s)", what, at)
	}
	if claim.State == ledger.Stale {
		what = fmt.Sprintf("%s (stale: %s)", what, claim.Why)
	}
	return fmt.Sprintf("%s is claimed by %s since %s, so this was not done. Work on something else, or ask for it: aisync ledger send %s \"…\" --from %s --type question",
		what, claim.Agent, claim.Since, claim.Agent, c.own.Name)
}

// claim takes targets for the agent if another one is here, and takes over the
// claims of ended agents. It returns why the call must not happen if another
// agent was faster.
func (c *Call) claim(claims []ledger.Claim, targets []string, ended []ledger.Claim) (why string, err error) {
	if len(ended) > 0 {
		err = c.ledger.Drop(c.own.Name, ended)
	}
	if !c.second() {
		return "", err
	}
	var wanted []string
	for _, t := range targets {
		if c.claimable(t) && !slices.ContainsFunc(claims, func(k ledger.Claim) bool {
			return c.isOwn(k) && k.State != ledger.Ended && overlap.Covers(k.Path, t)
		}) {
			wanted = append(wanted, t)
		}
	}
	if len(wanted) == 0 {
		return "", err
	}
	_, failed := c.ledger.ClaimAll(c.own.Name, wanted, false)
	if errors.Is(failed, ledger.ErrClaimed) || errors.Is(failed, ledger.ErrOverlap) {
		if now, e := c.ledger.Claims(); e == nil {
			if why, _ := c.held(now, wanted); why != "" {
				return why, err
			}
		}
	}
	return "", errors.Join(err, failed)
}

// unclaimed are folders of a project with files that no agent keeps for itself.
var unclaimed = []string{".git", ledger.Dir, ".ai", ".ilchul", ".aisync"}

// claimable reports whether a path is a file of the project that an agent claims
// by editing it.
func (c *Call) claimable(target string) bool {
	rel, err := unixpath.Rel(c.root, target)
	if err != nil || rel == "." || !unixpath.IsLocal(rel) {
		return false
	}
	top, _, _ := strings.Cut(rel, "/")
	return !slices.Contains(unclaimed, top)
}

// helperRefusal returns why a helper must not do this: changes to git and to
// memory files are the primary's.
func (c *Call) helperRefusal(targets []string, home string) string {
	if !c.isHelper() {
		return ""
	}
	const ask = "ask the primary: aisync ledger send NAME \"…\" --from %s --type question"
	for _, t := range targets {
		if unixpath.Base(t) == "MEMORY.md" || strings.HasPrefix(t, unixpath.Join(home, ".claude/projects")+"/") && strings.Contains(t, "/memory/") {
			return fmt.Sprintf("%s is a memory file, which only the primary writes; you are a helper. Note it in your session journal, or "+ask, c.relative(t), c.own.Name)
		}
	}
	if c.in.kind == shellTool && c.Shell != nil {
		if line := c.Shell.ChangesGit(c.in.command, c.in.cwd, home); line != "" {
			return fmt.Sprintf("%s was not run: only the primary changes git, and you are a helper; "+ask, line, c.own.Name)
		}
	}
	return ""
}

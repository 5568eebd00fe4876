package ensemble

import (
	"fmt"
	"path/filepath"
	"time"

	"aisync.dev/aisync/agents/ledger"
)

// lookAgain is how often a wait for mail looks without a report of the kernel: a
// file system of another machine gives none.
const lookAgain = 10 * time.Second

// awaitMail waits, where --wait asks for it, until one of the inboxes has a message
// that r would show. At the end of its time it returns exitTimeout and an error.
func (c *call) awaitMail(r ledger.Reading, inboxes []string) (int, error) {
	deadline, err := c.deadline()
	if err != nil {
		return exitError, err
	}
	if deadline.IsZero() {
		return exitDone, nil
	}
	if len(c.words) > 0 {
		return exitError, fmt.Errorf("inbox takes no words; for a limit write --wait=%s", c.words[0])
	}
	agents := filepath.Join(c.ledger.Root, ledger.Dir, "agents")
	folders := []string{agents} // an inbox may be made meanwhile
	for _, name := range inboxes {
		folders = append(folders, filepath.Join(agents, name))
	}
	w, err := newArrivals(c.Done)
	if err != nil {
		return exitError, fmt.Errorf("wait for mail: %w", err)
	}
	defer w.close()
	for {
		w.watch(folders) // first, so that what comes during the look is reported
		for _, name := range inboxes {
			if has, err := c.ledger.HasMail(name, r.Since); has || err != nil {
				return exitDone, err
			}
		}
		left := time.Until(deadline)
		if left <= 0 {
			return exitTimeout, fmt.Errorf("no mail for %s came in %s seconds", r.Agent, waited(c))
		}
		if !w.wait(min(left, lookAgain)) {
			return exitError, errInterrupted
		}
	}
}

func waited(c *call) string {
	if text, ok := c.value["wait"]; ok {
		return text
	}
	return fmt.Sprint(longWait.Seconds())
}

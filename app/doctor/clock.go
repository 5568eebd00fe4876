package doctor

import (
	"context"
	"time"
)

// maxClockSkew is how far an apply may lie ahead of the clock.
const maxClockSkew = 5 * time.Minute

// checkClock compares the clock with the newest apply on record: certificates,
// logs and the age of what is kept go by it.
func checkClock(_ context.Context, e *Env) Outcome {
	if e.storeErr != nil {
		return Outcome{}
	}
	history, err := e.store.Heads()
	if err != nil {
		return Outcome{} // the check of records says why
	}
	now := time.Now()
	for _, h := range history {
		if ahead := h.Time.Sub(now); ahead > maxClockSkew {
			return found(warn("set the clock (timedatectl set-ntp true)", "the clock says %s, and the records hold an apply that began at %s: one of the two is wrong", now.Format(time.DateTime), h.Time.Local().Format(time.DateTime)))
		}
	}
	return Outcome{}
}

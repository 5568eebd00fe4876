//go:build !linux

package ensemble

import "time"

// arrivals looks once a second where the kernel's reports are not used.
type arrivals struct{ done <-chan struct{} }

func newArrivals(done <-chan struct{}) (*arrivals, error) { return &arrivals{done}, nil }

func (a *arrivals) close() {}

func (a *arrivals) watch([]string) {}

func (a *arrivals) wait(most time.Duration) bool {
	select {
	case <-a.done:
		return false
	case <-time.After(min(most, time.Second)):
		return true
	}
}

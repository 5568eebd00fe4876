package fsys

import "sync/atomic"

// CountOps returns a Hook that lets everything through, and its count.
func CountOps() (Hook, *atomic.Int64) {
	var n atomic.Int64
	return func(Op) error { n.Add(1); return nil }, &n
}

// FailAt returns a Hook that fails the n-th operation (from 1) with err and
// lets every other through, and the count of operations seen: one that stays
// below n tells that nothing failed.
func FailAt(n int64, err error) (Hook, *atomic.Int64) {
	var seen atomic.Int64
	return func(Op) error {
		if seen.Add(1) == n {
			return err
		}
		return nil
	}, &seen
}

// PanicAt returns a Hook that panics with a Killed at the n-th operation and at
// every one after it, as a stand-in for SIGKILL: code that recovers in between
// cannot touch the file system either.
func PanicAt(n int64) (Hook, *atomic.Int64) {
	var seen atomic.Int64
	return func(op Op) error {
		if seen.Add(1) >= n {
			panic(Killed{op})
		}
		return nil
	}, &seen
}

// Killed is what a hook of PanicAt panics with.
type Killed struct{ Op Op }

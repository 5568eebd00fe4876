package fsys

import (
	"fmt"
	"runtime/debug"
)

// Caught turns a panic into an error, deferred in a goroutine that works for
// somebody who waits: there Go would end the program at once, in the middle of
// everything, with a code that means something else.
func Caught(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("a fault in aisync itself: %v\n%s", p, debug.Stack())
	}
}

package lint

import (
	"regexp"
	"sync"
)

// lazily compiles a pattern when it is first used: all of this package together
// cost every start of the program a third of a millisecond.
func lazily(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}

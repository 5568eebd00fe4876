// Package problem holds the errors of specs, with their places, as their author reads
// them. Call Errors.Sorted.
package problem

import (
	"cmp"
	"errors"
	"slices"
	"sort"
	"strings"

	"aisync.dev/aisync/schema/position"
	"aisync.dev/aisync/schema/spec"
)

// Problem is one error in a spec, for its author. Pos is in the author's files
// if anything there is concerned.
type Problem struct {
	Pos     spec.Position
	Path    string // hosts.velox.services.coder.port
	Message string
	Hint    string // what to do, or what was probably meant

	NoHost bool // specs exist, but none of their hosts is this machine
}

// ErrNoHost is a Problem where specs exist, but none of their hosts is this
// machine.
var ErrNoHost = errors.New("no host is this machine")

// Is implements errors.Is for ErrNoHost.
func (p Problem) Is(target error) bool { return target == ErrNoHost && p.NoHost }

// Error returns "file:line:col: path: message; hint", without empty parts.
func (p Problem) Error() string {
	var b strings.Builder
	for _, part := range []string{p.Pos.String(), p.Path} {
		if part != "" {
			b.WriteString(part + ": ")
		}
	}
	b.WriteString(p.Message)
	if p.Hint != "" {
		b.WriteString("; " + p.Hint)
	}
	return b.String()
}

// Errors are all problems of a spec, sorted by position; those without a place
// in the author's files come last.
type Errors []Problem

// Error returns one problem a line.
func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i, p := range e {
		lines[i] = p.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap returns the problems.
func (e Errors) Unwrap() []error {
	errs := make([]error, len(e))
	for i, p := range e {
		errs[i] = p
	}
	return errs
}

// Sorted returns e in order, without duplicates; nil if it is empty.
func (e Errors) Sorted() error {
	if len(e) == 0 {
		return nil
	}
	sort.SliceStable(e, func(i, j int) bool {
		a, b := e[i], e[j]
		return 0 > cmp.Or(
			cmp.Compare(rank(a.Pos), rank(b.Pos)),
			cmp.Compare(a.Pos.File, b.Pos.File),
			cmp.Compare(a.Pos.Line, b.Pos.Line),
			cmp.Compare(a.Pos.Col, b.Pos.Col),
			cmp.Compare(a.Path, b.Path),
			cmp.Compare(a.Message, b.Message),
		)
	})
	return slices.Compact(e)
}

func rank(p spec.Position) int {
	switch {
	case p.File == "":
		return 2
	case strings.HasPrefix(p.File, position.Embedded):
		return 1
	}
	return 0
}

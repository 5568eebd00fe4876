package schema

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"aisync.dev/aisync/schema/spec"
)

// Problem is one thing that is wrong with a spec, said to the person who wrote
// it. Pos is theirs wherever they wrote anything that it concerns.
type Problem struct {
	Pos     spec.Position
	Path    string // hosts.velox.services.coder.port
	Message string
	Hint    string // what to do, or what was probably meant

	noHost bool
}

// ErrNoHost is what a Problem is when specs are there, and none of their hosts
// is this machine.
var ErrNoHost = errors.New("no host is this machine")

// Is makes errors.Is find ErrNoHost.
func (p Problem) Is(target error) bool { return target == ErrNoHost && p.noHost }

// Error is "file:line:col: path: message; hint", without what is empty.
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

// Errors is everything that is wrong with a spec, in the order of its places;
// what has no place in the person's files comes last.
type Errors []Problem

// Error is one problem a line.
func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i, p := range e {
		lines[i] = p.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap gives the problems one by one.
func (e Errors) Unwrap() []error {
	errs := make([]error, len(e))
	for i, p := range e {
		errs[i] = p
	}
	return errs
}

// sorted is e in order, every problem once; nil if there is none.
func (e Errors) sorted() error {
	if len(e) == 0 {
		return nil
	}
	slices.SortStableFunc(e, func(a, b Problem) int {
		return cmp.Or(
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
	case strings.HasPrefix(p.File, embedded):
		return 1
	}
	return 0
}

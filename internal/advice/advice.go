// Package advice gives an error its next step: what a person can type or do
// about it. The step is no part of the error's text; a command prints it after
// that. Call New or Command, and Of to read it.
package advice

import (
	"errors"
	"strings"
)

// advised is an error with a next step.
type advised struct {
	error
	hint string
}

func (e *advised) Unwrap() error { return e.error }

// Hint returns the next step as it is printed.
func (e *advised) Hint() string { return e.hint }

// New returns err with what to do next, in words.
func New(err error, what string) error { return &advised{err, what} }

// Command returns err with the command to run next.
func Command(err error, command string) error { return &advised{err, run + command} }

const run = "run: "

// Of returns the next step of err, without the words that announce a command;
// "" where err or what it wraps has none.
func Of(err error) string {
	var h interface{ Hint() string }
	if errors.As(err, &h) {
		return strings.TrimPrefix(h.Hint(), run)
	}
	return ""
}

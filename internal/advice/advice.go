// Package advice adds a next step to an error: what a person can type or do
// about it. The step is separate from the error's text; a command prints it
// after that. Call New or Command, and Of to read it.
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

// Hint returns the next step as printed.
func (e *advised) Hint() string { return e.hint }

// New returns err with a next step in words.
func New(err error, what string) error { return &advised{err, what} }

// Command returns err with the next command to run.
func Command(err error, command string) error { return &advised{err, run + command} }

const run = "run: "

// Of returns the next step of err, without the words that announce a command; ""
// if neither err nor an error in its chain has one.
func Of(err error) string {
	var h interface{ Hint() string }
	if errors.As(err, &h) {
		return strings.TrimPrefix(h.Hint(), run)
	}
	return ""
}

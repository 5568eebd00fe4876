// Package effects tells what agent programs and git will obey in a project
// after an apply: what they run by themselves, where they send what they have,
// what they allow, which folders they trust. It looks at files as they will
// be, no matter who wrote them, and never runs, dials or writes anything. Start
// reading at Of, then Answers.
package effects

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"aisync.dev/aisync/reconcile"
)

// Class says how grave an effect is.
type Class int

const (
	Runs    Class = iota // a command, or code that a program loads
	Sends                // what the program has goes elsewhere, or comes from there
	Loosens              // the program asks less, or is fenced in less
	Trusts               // the program no longer asks about the folder
)

// classes are the classes by their words in the catalog and in JSON.
var classes = []string{"runs", "sends", "loosens", "trusts"}

// String is the word for c in JSON.
func (c Class) String() string { return classes[c] }

// Title is what a list of effects of c is headed with.
func (c Class) Title() string {
	return [...]string{"runs by itself", "sends elsewhere", "loosens", "trusts"}[c]
}

// MarshalJSON implements json.Marshaler.
func (c Class) MarshalJSON() ([]byte, error) { return json.Marshal(c.String()) }

// Effect is one thing that a program, or git, will obey.
type Effect struct {
	Program string               `json:"program"` // id of a runtime, "git", or "aisync launch"
	Class   Class                `json:"class"`
	Text    string               `json:"text"` // what the program does, to follow its name
	File    string               `json:"file"` // that it obeys, as addresses name it
	Key     string               `json:"key,omitempty"`
	Origin  []reconcile.Position `json:"origin"` // the lines of specs that ask for it; none where the file came with the project
	Digest  string               `json:"digest"` // of what is obeyed and of the files that it names

	named  []string            // files of the project that it names or that are loaded as code
	asks   []reconcile.Address // targets of a plan that bring it about, besides File and named
	whole  bool                // all of File brings it about
	in     []setting           // what of File is obeyed; none where all of it is
	local  bool                // its file is one in which the program keeps its user's answers, and git does not carry it
	source string              // the pinned bundle source that all of it comes from; "" otherwise
}

// seal sets e's digest. parts are what is obeyed besides what e says of itself,
// files the digests of what e names.
func (e *Effect) seal(files []string, parts ...string) {
	h := sha256.New()
	for _, list := range [][]string{{"effect 2", e.Program, e.Class.String(), e.File}, parts, files} {
		fmt.Fprintf(h, "%d\x00", len(list))
		for _, p := range list {
			fmt.Fprintf(h, "%d\x00%s", len(p), p)
		}
	}
	e.Digest = "sha256:" + hex.EncodeToString(h.Sum(nil))
}

// sorted puts effects in the order in which people read them: by program, the
// gravest class first. What is listed twice is one.
func sorted(list []Effect) []Effect {
	slices.SortStableFunc(list, func(a, b Effect) int {
		if c := strings.Compare(a.Program, b.Program); c != 0 {
			return c
		}
		if a.Class != b.Class {
			return int(a.Class) - int(b.Class)
		}
		if n := len(a.Text) - len(b.Text); a.Class == Loosens && n != 0 {
			return n // what allows the most is said in the fewest words: Bash(*)
		}
		if c := strings.Compare(a.File, b.File); c != 0 {
			return c
		}
		return strings.Compare(a.Text, b.Text)
	})
	return slices.CompactFunc(list, func(a, b Effect) bool { return a.Program == b.Program && a.Digest == b.Digest })
}

// Digest identifies a list of effects, in any order.
func Digest(list []Effect) string {
	var all []string
	for _, e := range list {
		all = append(all, e.Digest)
	}
	slices.Sort(all)
	sum := sha256.Sum256([]byte(strings.Join(all, "\n")))
	return "sha256:" + hex.EncodeToString(sum[:])
}

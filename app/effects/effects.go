// Package effects tells what agent programs and git will obey in a project
// after an apply: what they run by themselves, where they send data, what they
// allow, which folders they trust. It examines files as they will be after the
// apply, whether aisync or a person wrote them, and never runs, dials or writes
// anything. Start reading at Of, then Answers.
package effects

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"sort"
	"strings"

	"aisync.dev/aisync/reconcile"
)

// Class is the severity of an effect.
type Class int

const (
	Runs    Class = iota // a command, or code that a program loads
	Sends                // data goes elsewhere, or comes from there
	Loosens              // the program asks less, or is less confined
	Trusts               // the program no longer asks about the folder
)

// classes are the names of the classes in the catalog and in JSON.
var classes = []string{"runs", "sends", "loosens", "trusts"}

// String is the name of c in JSON.
func (c Class) String() string { return classes[c] }

// Title is the heading of a list of effects of c.
func (c Class) Title() string {
	return [...]string{"runs by itself", "sends elsewhere", "loosens", "trusts"}[c]
}

// MarshalJSON implements json.Marshaler.
func (c Class) MarshalJSON() ([]byte, error) { return json.Marshal(c.String()) }

// Effect is one thing that a program, or git, will obey.
type Effect struct {
	Program string               `json:"program"` // id of a runtime, "git", or "aisync launch"
	Class   Class                `json:"class"`
	Text    string               `json:"text"` // the action, as a phrase after the program's name
	File    string               `json:"file"` // where the program reads it, in the form of an address
	Key     string               `json:"key,omitempty"`
	Origin  []reconcile.Position `json:"origin"` // the spec lines that ask for it; none if the file came with the project
	Digest  string               `json:"digest"` // of the settings and of the files that they name

	named  []string            // files of the project that it names or that are loaded as code
	asks   []reconcile.Address // targets of a plan that cause it, besides File and named
	entry  bool                // an entry in a file outside the project causes it: Key
	whole  bool                // all of File causes it
	in     []setting           // the settings of File that cause it; none if all of it does
	local  bool                // File holds the program's answers from its user, and git does not carry it
	source string              // the pinned bundle source of all of it; "" otherwise
}

// seal sets e's digest. parts are obeyed in addition to e's fields, files are
// digests of the files that e names.
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

// sorted orders effects for reading: by program, the gravest class first,
// without duplicates.
func sorted(list []Effect) []Effect {
	sort.SliceStable(list, func(i, j int) bool {
		a, b := list[i], list[j]
		switch {
		case a.Program != b.Program:
			return a.Program < b.Program
		case a.Class != b.Class:
			return a.Class < b.Class
		case a.Class == Loosens && len(a.Text) != len(b.Text):
			return len(a.Text) < len(b.Text) // the widest permission is the shortest: Bash(*)
		case a.File != b.File:
			return a.File < b.File
		}
		return a.Text < b.Text
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

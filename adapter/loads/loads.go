// Package loads computes what an agent program reads of a tree by itself: which
// instructions, rules, skills, commands, subagents, MCP servers and hooks it has
// at its start and after it has read some files, how often it takes each, and
// what it never takes, with the reason. It interprets spec.Loads, the catalog's
// record of what programs were seen to do; it knows no program by name, writes
// nothing and runs nothing. Call Loads.
//
// A program that another one drives (a generic runtime started as another
// program) loads what the driver loads: ask for the driver.
package loads

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"aisync.dev/aisync/schema/spec"
)

// ErrUnknown is the error for a program of which the catalog does not say what
// it loads.
var ErrUnknown = errors.New("not known what it loads")

// Tree is what Loads reads: the files of a machine as they are, such as
// os.DirFS("/"), or as they would be (Planned). Names are absolute paths without
// the first slash. Loads resolves links itself, so that a Tree need not.
type Tree interface {
	fs.ReadFileFS
	fs.ReadDirFS
	fs.ReadLinkFS
}

// Trust says whose word counts on whether a person trusts the project.
type Trust int

const (
	Recorded Trust = iota // the program's own record
	Granted               // as if the person had said yes to everything
)

// Machine is the tree that programs find, and what else decides what they read.
type Machine struct {
	Tree        Tree
	Home        string            // absolute
	Environment map[string]string // of the program's process
	Trust       Trust
}

// Kind is what an item is.
type Kind string

const (
	Note      Kind = "note"
	Rule      Kind = "rule"
	Skill     Kind = "skill"
	Command   Kind = "command"
	Subagent  Kind = "subagent"
	MCPServer Kind = "mcp"
	Hook      Kind = "hook"
)

// When says what makes a program take an item.
type When string

const (
	AtStart   When = "start"
	OnPath    When = "path"    // a file was read
	OnRequest When = "request" // the model asks for it
	Manual    When = "manual"  // a person asks for it
)

// Item is one thing that a program has, or will have on a condition. Two files
// of one content are one item.
type Item struct {
	Kind    Kind
	Name    string // of a rule its file without folder and suffix, of a block of ours its name; of others their own name
	Digest  string // of the content: see Digest
	When    When
	Paths   []string // of a rule for some paths: its patterns, as written
	Start   int      // copies that the program has at its start
	Total   int      // copies that it has after the files were read; of a rule that waits, 0
	From    []File   // where each copy comes from, in order; where it would come from, without copies
	Bytes   int      // of Text
	Later   int      // bytes that reach the model once it, or a person, asks: of a skill, a command, a subagent
	Text    []byte   // what reaches the model by itself: of a skill or subagent its name and description, of a command, an MCP server or a hook nothing
	Cut     int      // bytes at the end of its file that the program does not take
	CutLine int      // the line of the file from which on they are missing, at least in part
	Broken  string   // what is wrong with its front matter, which then counts as text
}

// File is one place that an item comes from.
type File struct {
	Path  string   // absolute
	Real  string   // where links lead to; as Path where there is none
	Via   []string // the files whose lines import it, the first one first
	Why   string   // such as "at the start" or "after src/a.go was read"
	After string   // the path that was read; "" at the start
}

// Reason says why a program never takes a file that lies in one of its places.
type Reason string

const (
	Shadowed  Reason = "shadowed"   // another file comes first
	Ended     Reason = "ended"      // the presence of another file ends the reading of its kind
	Off       Reason = "off"        // a setting or a variable
	Excluded  Reason = "excluded"   // a pattern of a setting
	Same      Reason = "same"       // its content is there already
	Cut       Reason = "cut"        // nothing of it fits
	Untrusted Reason = "untrusted"  // the person has not said yes
	Outside   Reason = "outside"    // an import that leaves the folder which the program allows
	TooDeep   Reason = "too deep"   // an import at the end of a long chain
	Circular  Reason = "circular"   // links in a circle
	Missing   Reason = "missing"    // an import or a link that leads nowhere
	Link      Reason = "link"       // a link, where the program reads files only
	Unread    Reason = "unreadable" // the tree gives an error
	Nameless  Reason = "nameless"   // a skill without the front matter that the program needs
)

// Never is a file of a program's places that it does not take, nor by an import
// from another file. With the reason Same its content is there all the same.
type Never struct {
	Kind   Kind
	Path   string // absolute
	Reason Reason
	Says   string // a clause, such as "AGENTS.override.md in the same folder comes first"
}

// Result is what one program loads.
type Result struct {
	Program string
	Top     string // of the project
	Limit   int64  // bytes that it takes of some of its texts, all in all; -1: all
	Items   []Item // in the order in which the program takes them
	Never   []Never
}

// Loads returns what program loads where it is started in the folder start and
// then reads the files touched, in that order. Both are absolute; touched files
// need not exist. The error is ErrUnknown, or about start; what is wrong with
// single files stands in the result.
func Loads(program spec.Runtime, m Machine, start string, touched ...string) (Result, error) {
	if program.Loads == nil {
		return Result{}, fmt.Errorf("%s: %w", program.ID, ErrUnknown)
	}
	if !path.IsAbs(start) || !path.IsAbs(m.Home) {
		return Result{}, fmt.Errorf("start folder %q and home %q: want absolute paths", start, m.Home)
	}
	s := newSession(program, m, path.Clean(start))
	s.texts()
	s.parts()
	for _, t := range touched {
		s.touch(path.Clean(t))
	}
	s.partsBelow()
	return s.result(), nil
}

// Count returns how many copies of text the program has in its first request,
// and after the files were read. Line ends, and blank lines around text, count
// for nothing.
func (r Result) Count(text []byte) (start, total int) {
	want := string(normal(text))
	if want == "" {
		return 0, 0
	}
	for _, i := range r.Items {
		if n := strings.Count(string(normal(i.Text)), want); n > 0 {
			start += n * i.Start
			total += n * i.Total
		}
	}
	return start, total
}

// Twice returns the items of which the program has more than one copy.
func (r Result) Twice() []Item {
	var out []Item
	for _, i := range r.Items {
		if i.Total > 1 {
			out = append(out, i)
		}
	}
	return out
}

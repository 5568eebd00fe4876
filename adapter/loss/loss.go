// Package loss says what programs lose of the commands and subagents of a bundle, each
// loss once. Call Add for each file and program, then Notes.
package loss

import (
	"fmt"
	"strconv"
	"strings"

	"aisync.dev/aisync/adapter/render"
)

// File is a command or subagent of a bundle, and what programs lose of it.
type File struct {
	Name string

	holds                          []string // programs that lose no limit
	limits, models, fields, absent []lost
}

// lost is a loss that some programs share.
type lost struct{ what, limit, programs string }

// Add notes what program loses of l, as it was made for it.
func (l *File) Add(program string, made render.Prompt) {
	if len(made.Lost) > 0 {
		addLost(&l.limits, program, list(made.Lost), made.Limit)
	} else if made.Only == "" {
		l.holds = append(l.holds, program)
	}
	if made.Model != "" {
		addLost(&l.models, program, made.Model, "")
	}
	if len(made.Dropped) > 0 {
		addLost(&l.fields, program, list(made.Dropped), "")
	}
	if made.Only != "" {
		addLost(&l.absent, program, made.Only, "")
	}
}

func addLost(to *[]lost, program, what, limit string) {
	for i, l := range *to {
		if l.what == what && l.limit == limit {
			(*to)[i].programs += ", " + program
			return
		}
	}
	*to = append(*to, lost{what, limit, program})
}

// shared is a loss that some files of a bundle share.
type shared struct {
	lost
	holds string // the programs that lose no limit of these files
	files []string
}

// share adds x, a loss of the file f, to the loss like it. The limits of several files
// differ mostly: share leaves their words out.
func share(to []shared, x lost, f File) []shared {
	holds := list(f.holds)
	if x.limit != "" {
		x.limit = strconv.Quote(x.limit)
	}
	for i, s := range to {
		if s.what == x.what && s.programs == x.programs && s.holds == holds && (s.limit == "") == (x.limit == "") {
			if s.limit != x.limit {
				to[i].limit = "their tools"
			}
			to[i].files = append(s.files, f.Name)
			return to
		}
	}
	return append(to, shared{x, holds, []string{f.Name}})
}

// form is the word for one file, or that for several.
func (s shared) form(one, several string) string {
	if len(s.files) == 1 {
		return one
	}
	return several
}

// named names the files.
func (s shared) named() string {
	const most = 3
	n := len(s.files)
	if n > most {
		return fmt.Sprintf("%s and %d more", list(s.files[:most-1]), n-most+1)
	}
	return strings.TrimPrefix(list(s.files[:n-1])+" and "+s.files[n-1], " and ")
}

// Note is a sentence for the plan.
type Note struct {
	Warning bool
	Text    string
}

// Notes names what is lost of the files of a bundle, and what to do about a limit that
// does not hold.
func Notes(bundle string, files []File) (out []Note) {
	note := func(warning bool, format string, args ...any) {
		out = append(out, Note{warning, fmt.Sprintf(format, args...)})
	}
	var limits, models, fields, absent []shared
	for _, l := range files {
		for _, x := range l.limits {
			limits = share(limits, x, l)
		}
		l.holds = nil // of limits alone
		for _, x := range l.models {
			models = share(models, x, l)
		}
		for _, x := range l.fields {
			fields = share(fields, x, l)
		}
		for _, x := range l.absent {
			absent = share(absent, x, l)
		}
	}
	for _, s := range limits {
		fix := "take it out of the bundle, or deny that to all of the program in permissions.json"
		if s.holds != "" {
			fix = "to leave them out, write runtimes: [" + s.holds + "] into " + s.form("its", "their") + " front matter"
		}
		if s.limit == "" {
			note(true, "%s cannot express %s in %s of %s; %s", s.programs, s.what, s.named(), bundle, fix)
			continue
		}
		note(true, "%s cannot hold %s of %s to %s: %s may use %s there; %s", s.programs, s.named(), bundle, s.limit, s.form("it", "they"), s.what, fix)
	}
	for _, s := range models {
		note(false, "%s of %s %s for the model %s, which has no name with %s: %s the model of the session there",
			s.named(), bundle, s.form("asks", "ask"), s.what, s.programs, s.form("it gets", "they get"))
	}
	for _, s := range fields {
		note(false, "%s of %s %s fields that %s does not have, so they are left out there: %s", s.named(), bundle, s.form("has", "have"), strings.ReplaceAll(s.programs, ", ", " or "), s.what)
	}
	for _, s := range absent {
		note(false, "%s of %s %s of %s and no subagent, so %s does not get %s", s.named(), bundle, s.form("is a mode", "are modes"), s.what, strings.ReplaceAll(s.programs, ", ", " or "), s.form("it", "them"))
	}
	return out
}

func list(names []string) string { return strings.Join(names, ", ") }

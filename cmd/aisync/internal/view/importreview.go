package view

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"sort"
	"strings"

	"aisync.dev/aisync/app/contextreport"
	"aisync.dev/aisync/app/gather"
	"aisync.dev/aisync/internal/quantity"
	"aisync.dev/aisync/internal/termtext"
)

// ImportReview is what a person reads of an import before it writes: for each
// program what becomes what, what all programs share then, and what stays where it
// is. Equal lines are one line with a count.
type ImportReview struct {
	Bundle   string // the folder of the bundle, as the person has it
	Servers  bool   // some go to the spec
	Programs []ImportProgram
	Shared   []string // such as "3 rules"
	By       []string // the runtimes that share them
	Kept     []KeptGroup
}

// ImportProgram is what is taken from the files of one program.
type ImportProgram struct {
	Name string
	Rows []ImportRow
}

// ImportRow is one thing, or several of one kind from one folder.
type ImportRow struct {
	What, From, To, Note string
}

// KeptGroup is what stays where it is for one reason.
type KeptGroup struct {
	Paths []string
	Why   string
}

// groupOf is the number of things of one kind and folder from which on they are
// one line.
const groupOf = 3

// NewImportReview returns the review of found. Destinations are below bundle, and
// without the folder languages/NAME.
func NewImportReview(found *gather.Result, bundle, name string) ImportReview {
	r := ImportReview{Bundle: bundle, Servers: len(found.Servers) > 0}
	within := "languages/" + name + "/"
	if slices.ContainsFunc(found.Files, func(f gather.File) bool { return !strings.HasPrefix(f.Path, within) }) {
		within = ""
	} else {
		r.Bundle = path.Join(bundle, within)
	}
	r.Programs = programsOf(found.Taken, within)
	if len(found.Runtimes) > 1 {
		r.By, r.Shared = found.Runtimes, shared(found)
	}
	r.Kept = keptGroups(found.Kept)
	return r
}

// Text returns the review in lines of 80 columns, where names allow it.
func (r ImportReview) Text(paint func(string) string) string {
	var b strings.Builder
	for _, p := range r.Programs {
		b.WriteString(paint(termtext.Safe(p.Name)) + "\n")
		var what, from int
		for _, row := range p.Rows {
			what, from = max(what, len(row.What)), max(from, min(len(row.From), 34))
		}
		for _, row := range p.Rows {
			head := fmt.Sprintf("  %-*s  %-*s  ", what, row.What, from, termtext.Safe(row.From))
			indent := strings.Repeat(" ", min(what+4, 24))
			b.WriteString(hanging(head+"→ "+termtext.Safe(row.To), indent+"  ", 80))
			if row.Note != "" {
				b.WriteString(hanging(indent+termtext.Safe(row.Note), indent, 80))
			}
		}
	}
	if len(r.Programs) > 0 {
		where := "→ is below " + termtext.Safe(r.Bundle) + ", the bundle"
		if r.Servers {
			where += "; mcp: is in the spec"
		}
		b.WriteString(hanging(where, "  ", 80))
	}
	if len(r.Shared) > 0 {
		b.WriteString(paint("Shared") + "\n" + hanging("  "+joinAnd(r.Shared)+", by "+joinAnd(r.By), "  ", 80))
	}
	if len(r.Kept) > 0 {
		b.WriteString(paint("Stays as it is") + "\n")
	}
	for _, k := range r.Kept {
		b.WriteString(hanging("  "+termtext.Safe(strings.Join(k.Paths, ", ")+": "+k.Why), "    ", 80))
	}
	return b.String()
}

// programsOf groups what was taken by program and kind, in the order of found.
func programsOf(taken []gather.Taken, within string) []ImportProgram {
	type key struct{ program, what, from, to, note string }
	groups, order := map[key][]gather.Taken{}, []key{}
	for _, t := range taken {
		t.To = strings.TrimPrefix(t.To, within)
		from, to := folders(t.From, t.To)
		k := key{cmp.Or(gather.ProgramOf(t), severalPrograms), t.What, from, to, withoutName(t)}
		if groups[k] == nil {
			order = append(order, k)
		}
		groups[k] = append(groups[k], t)
	}
	var out []ImportProgram
	for _, k := range order {
		at := slices.IndexFunc(out, func(p ImportProgram) bool { return p.Name == k.program })
		if at < 0 {
			at, out = len(out), append(out, ImportProgram{Name: k.program})
		}
		out[at].Rows = append(out[at].Rows, rowsOf(groups[k], k.from, k.to, k.note)...)
	}
	sort.SliceStable(out, func(i, j int) bool { return later(out[i].Name) < later(out[j].Name) })
	return out
}

// later puts what several programs read after the programs.
func later(name string) int {
	if name == severalPrograms {
		return 1
	}
	return 0
}

// severalPrograms is the section of places that many programs read.
const severalPrograms = "several programs"

// rowsOf is one line for all of a group, or one for each of a small one.
func rowsOf(group []gather.Taken, from, to, note string) []ImportRow {
	what := group[0].What
	if server := strings.HasPrefix(group[0].To, "mcp: "); server && len(group) > 1 || len(group) >= groupOf {
		if server {
			var names []string
			for _, t := range group {
				names = append(names, strings.TrimPrefix(t.To, "mcp: "))
			}
			to = "mcp: " + strings.Join(names, ", ")
		} else {
			from, to = from+"/", to+"/"
		}
		return []ImportRow{{quantity.Count(len(group), strings.TrimSuffix(what, "s")), from, to, note}}
	}
	var rows []ImportRow
	for _, t := range group {
		at, _, _ := strings.Cut(t.From, ", server ")
		rows = append(rows, ImportRow{what, at, t.To, t.Note})
	}
	return rows
}

// folders returns the folders that things of one kind come from and go to: the
// names without their equal ends. Of a server it is the file, and the spec.
func folders(from, to string) (string, string) {
	if file, _, server := strings.Cut(from, ", server "); server || strings.HasPrefix(to, "mcp: ") {
		return file, "mcp"
	}
	a, b := strings.Split(from, "/"), strings.Split(to, "/")
	n := 0
	for n < len(a) && n < len(b) && stem(a[len(a)-1-n]) == stem(b[len(b)-1-n]) {
		n++
	}
	n = max(1, n-1) // the folder of the kind stays, such as rules
	if n >= len(a) || n >= len(b) {
		return path.Dir(from), path.Dir(to)
	}
	return strings.Join(a[:len(a)-n], "/"), strings.Join(b[:len(b)-n], "/")
}

// stem is a file's name up to its first dot that is not at the beginning.
func stem(name string) string {
	if i := strings.Index(name[min(1, len(name)):], "."); i >= 0 {
		return name[:i+1]
	}
	return name
}

// withoutName is the note on t without the part that names t, so that the notes
// of things in one folder are equal.
func withoutName(t gather.Taken) string {
	name := path.Base(t.From)
	if _, server, ok := strings.Cut(t.From, ", server "); ok {
		name = server
	}
	note := strings.ReplaceAll(t.Note, name, "…")
	if s := stem(name); len(s) > 3 {
		note = strings.ReplaceAll(note, s, "…")
	}
	return note
}

// shared counts what goes to every runtime, by kind.
func shared(found *gather.Result) []string {
	counts, kinds, seen := map[string]int{}, []string{}, map[string]bool{}
	for _, s := range found.Servers {
		seen["mcp: "+s.Name] = len(s.Runtimes) > 0
	}
	for _, t := range found.Taken {
		if strings.Contains("/"+t.To, "/runtimes/") || seen[t.To] {
			continue
		}
		seen[t.To] = true
		if counts[t.What] == 0 {
			kinds = append(kinds, t.What)
		}
		counts[t.What]++
	}
	var out []string
	for _, k := range kinds {
		out = append(out, quantity.Count(counts[k], strings.TrimSuffix(k, "s")))
	}
	return out
}

// keptGroups brings together what stays for one reason; of several files in one
// folder it names the folder.
func keptGroups(kept []gather.Kept) []KeptGroup {
	var out []KeptGroup
	byWhy := map[string][]string{}
	for _, k := range kept {
		if byWhy[k.Why] == nil {
			out = append(out, KeptGroup{Why: k.Why})
		}
		byWhy[k.Why] = append(byWhy[k.Why], k.Path)
	}
	for i := range out {
		var dirs []string
		files := map[string][]string{}
		for _, p := range byWhy[out[i].Why] {
			dir := path.Dir(p)
			if files[dir] == nil {
				dirs = append(dirs, dir)
			}
			files[dir] = append(files[dir], p)
		}
		for _, dir := range dirs {
			if n := len(files[dir]); n >= groupOf && dir != "." {
				out[i].Paths = append(out[i].Paths, fmt.Sprintf("%d in %s", n, dir))
			} else {
				out[i].Paths = append(out[i].Paths, files[dir]...)
			}
		}
	}
	return out
}

// hanging breaks text between words into lines of at most width columns, of which
// all but the first begin with indent. Blanks in the first line stay as they are.
func hanging(text, indent string, width int) string {
	var lines []string
	for len([]rune(text)) > width {
		runes := []rune(text)
		cut := -1
		for i := width; i > len(indent); i-- {
			if runes[i] == ' ' && runes[i-1] != '→' && strings.TrimSpace(string(runes[:i])) != "" {
				cut = i
				break
			}
		}
		if cut < 0 { // a long word
			for i := width; i < len(runes); i++ {
				if runes[i] == ' ' && runes[i-1] != '→' {
					cut = i
					break
				}
			}
		}
		if cut < 0 {
			break
		}
		lines = append(lines, strings.TrimRight(string(runes[:cut]), " "))
		text = indent + strings.TrimLeft(string(runes[cut:]), " ")
	}
	return strings.Join(append(lines, text), "\n") + "\n"
}

// joinAnd is a list in a sentence.
func joinAnd(list []string) string {
	switch n := len(list); n {
	case 0:
		return ""
	case 1:
		return list[0]
	default:
		return strings.Join(list[:n-1], ", ") + " and " + list[n-1]
	}
}

// LoadChangesText says what programs will load more and less after an apply, in
// lines of 80 columns; programs of which the same is true are named together.
func LoadChangesText(changes []contextreport.LoadChange) string {
	programs, order := map[string][]string{}, []string{}
	for _, c := range changes {
		text := loadChange(c)
		if programs[text] == nil {
			order = append(order, text)
		}
		programs[text] = append(programs[text], c.Program)
	}
	var b strings.Builder
	for _, text := range order {
		b.WriteString(hanging("  "+termtext.Safe(joinAnd(programs[text])+": "+text), "    ", 80))
	}
	return b.String()
}

// loadChange is what is more and less, without the program.
func loadChange(c contextreport.LoadChange) string {
	var parts []string
	for _, side := range []struct {
		word  string
		items []contextreport.LoadItem
	}{{"also", c.More}, {"no longer", c.Less}} {
		var names []string
		for _, i := range side.items {
			name := string(i.Kind) + " " + i.Name
			if len(i.From) > 0 && path.Base(i.From[0]) != i.Name {
				name += " (" + strings.Join(i.From, ", ") + ")"
			}
			names = append(names, name)
		}
		if n := len(names) - 3; n > 1 {
			names = append(names[:3], fmt.Sprintf("%d more", n))
		}
		if len(names) > 0 {
			parts = append(parts, side.word+" "+joinAnd(names))
		}
	}
	return strings.Join(parts, "; ")
}

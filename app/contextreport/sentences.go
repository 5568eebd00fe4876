package contextreport

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"aisync.dev/aisync/adapter/loads"
	"aisync.dev/aisync/internal/quantity"
	"aisync.dev/aisync/internal/shellquote"
)

// TakeOver is the command that removes what Duplicate.Removable names.
const TakeOver = "aisync apply --take-over"

// Sentence says of some duplicates what programs load twice, and what to do.
type Sentence struct {
	Text string
	Fix  string // a command, or what to do by hand; "" for nothing
}

// Sentences describes duplicates: those with the same programs, folders and fix
// together. short is a path as people read it.
func Sentences(list []Duplicate, short func(string) string) []Sentence {
	type group struct {
		first Duplicate
		names []string
		paths []string
	}
	var groups []group
	for _, d := range list {
		like := func(g group) bool {
			f := g.first
			return slices.Equal(f.Programs, d.Programs) && f.Kind == d.Kind && f.Is == d.Is && d.Is != Imported && f.Extra.Ours == d.Extra.Ours &&
				folder(f, f.Kept) == folder(d, d.Kept) && folder(f, f.Extra) == folder(d, d.Extra)
		}
		i := slices.IndexFunc(groups, like)
		if i < 0 {
			groups, i = append(groups, group{first: d}), len(groups)
		}
		groups[i].names = append(groups[i].names, d.Name)
		groups[i].paths = append(groups[i].paths, d.Extra.Path)
	}
	var out []Sentence
	for _, g := range groups {
		out = append(out, sentence(g.first, g.names, g.paths, short))
	}
	return out
}

// folder is the place of copies that are told of together: one file, or the folder
// of a rule, of skills or of commands.
func folder(d Duplicate, p Place) string {
	switch {
	case p.Path == "" || d.Kind == loads.Note || d.Kind == loads.MCPServer || p.Ours && !strings.Contains(p.Path, "/rules/"):
		return p.Path
	case d.Kind == loads.Skill:
		return path.Dir(path.Dir(p.Path))
	}
	return path.Dir(p.Path)
}

func sentence(d Duplicate, names, paths []string, short func(string) string) Sentence {
	one := len(names) == 1
	verb := "loads"
	if len(d.Programs) > 1 {
		verb = "load"
	}
	who := strings.Join(d.Programs, ", ") + " " + verb
	kept, extra := short(d.Kept.Path), short(d.Extra.Path)
	if !one {
		kept, extra = short(folder(d, d.Kept)), short(folder(d, d.Extra))
	}
	switch d.Is {
	case Imported:
		s := Sentence{Text: fmt.Sprintf("%s %s twice: by itself, and by the line of %s that imports it", who, extra, short(d.Extra.By))}
		if d.Extra.Ours {
			s.Fix = "aisync plan, which says how to make one file of both"
		}
		return s
	case Gone:
		text := fmt.Sprintf("%s %s, which its source has no more", who, extra)
		if !one {
			text = fmt.Sprintf("%s %s of %s, which their source has no more", who, few(names), extra)
		}
		return Sentence{text, TakeOver}
	}
	if d.Kept.Ours {
		kept += ", which aisync writes,"
	}
	s := Sentence{Text: fmt.Sprintf("%s %s twice: from %s and from %s%s", who, named(d.Kind, names), kept, extra, extraIs(d, one))}
	switch {
	case d.Removable():
		s.Fix = TakeOver
	case d.Extra.Ours:
	case d.Kind == loads.MCPServer:
		s.Fix = "remove one of them by hand"
	case d.Is == Within:
		s.Fix = "remove that text from " + extra + " by hand"
	case !d.Kept.Ours:
		s.Fix = "keep one of them, and remove the other by hand"
	default:
		remove := "rm"
		if d.Kind == loads.Skill {
			remove = "rm -r"
		}
		for _, p := range paths {
			if d.Kind == loads.Skill {
				p = path.Dir(p)
			}
			remove += " " + shellquote.Terminal(short(p))
		}
		s.Fix = "compare them, then: " + remove
	}
	return s
}

// extraIs says what the second copy is, as an apposition.
func extraIs(d Duplicate, one bool) string {
	switch {
	case d.Extra.Ours:
		return ", which aisync writes too"
	case d.Is == Copied && one:
		return ", a copy that aisync did not make"
	case d.Is == Copied:
		return ", copies that aisync did not make"
	case d.Is == Earlier && one:
		return ", an earlier version that aisync did not make"
	case d.Is == Earlier:
		return ", earlier versions that aisync did not make"
	case d.Is == Edited && one:
		return ", an edited copy"
	case d.Is == Edited:
		return ", edited copies"
	case d.Is == Within:
		return ", which holds that text too"
	case d.Is == Differs:
		return ", of the same name, with another content"
	case d.Kept.Ours:
		return ", which aisync did not make"
	}
	return ""
}

// named is the kind of some items and their names.
func named(kind loads.Kind, names []string) string {
	word := string(kind)
	if kind == loads.MCPServer {
		word = "MCP server"
	}
	if len(names) == 1 {
		return word + " " + names[0]
	}
	return quantity.Count(len(names), word) + " (" + few(names) + ")"
}

// few lists some names and counts the rest.
func few(names []string) string {
	const most = 5
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return strings.Join(names[:most], ", ") + " and more"
}

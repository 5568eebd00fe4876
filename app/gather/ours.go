package gather

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"aisync.dev/aisync/internal/merge"
)

// written is in the first lines of files that aisync owns as a whole.
const written = "ritten by aisync, which owns this file"

// isOurs reports whether the file at from is aisync's own: by its records, or by
// what the file says.
func (g *gatherer) isOurs(from string) bool {
	if g.Ours != nil && g.Ours(from, "") {
		return true
	}
	if !g.isFile(from) {
		return false
	}
	content, _, ok := g.readAny(from)
	head := content[:min(len(content), 400)]
	return ok && bytes.Contains(head, []byte(written))
}

// personal returns a text without the blocks that aisync put into it; nil where
// nothing is left but lines by which it imports the common instruction file.
func personal(content []byte) []byte {
	if !bytes.Contains(content, []byte("<!-- aisync:begin ")) {
		return content
	}
	var out []string
	end := ""
	rest := false
	for line := range strings.Lines(string(content)) {
		trimmed := strings.TrimSpace(line)
		name, begins := strings.CutPrefix(trimmed, "<!-- aisync:begin ")
		switch {
		case end != "":
			if trimmed == end {
				end = ""
			}
			continue
		case begins && strings.Contains(string(content), "<!-- aisync:end "+name):
			end = "<!-- aisync:end " + name
			continue
		case trimmed != "" && trimmed != "@AGENTS.md" && trimmed != "@../AGENTS.md":
			rest = true
		}
		out = append(out, line)
	}
	if !rest {
		return nil
	}
	return []byte(strings.TrimRight(strings.Join(out, ""), "\n") + "\n")
}

// withoutOurs removes from the settings in o the entries that aisync's records
// own, with the objects and lists that are empty then. It reports whether there
// were any.
func (g *gatherer) withoutOurs(runtime, name string, o object) bool {
	if g.Ours == nil {
		return false
	}
	doc, err := json.Marshal(o)
	if err != nil {
		return false
	}
	var rules merge.Rules
	if s, ok := g.scope(runtime); ok && s.Settings != nil {
		rules = merge.Rules{Sets: s.Settings.Sets, Hooks: s.Settings.Hooks}
	}
	leaves, err := merge.Flatten(doc, rules)
	if err != nil {
		return false
	}
	some := false
	for _, l := range leaves {
		if !g.Ours(name, l.Key) {
			continue
		}
		pointer, _, member := strings.Cut(l.Key, "#")
		names, err := merge.Names(pointer)
		if err != nil {
			continue
		}
		some = true
		if !member {
			removeKey(o, names)
		} else if list := objectAt(o, names[:len(names)-1]); list != nil {
			removeMember(o, names, l.Value)
		}
	}
	return some
}

// objectAt is the object at names in o, nil if there is none.
func objectAt(o object, names []string) object {
	for _, n := range names {
		o, _ = o[n].(object)
	}
	return o
}

// removeKey removes a key, and the objects that hold nothing else.
func removeKey(o object, names []string) {
	if len(names) == 0 {
		return
	}
	if inner, ok := o[names[0]].(object); ok && len(names) > 1 {
		if removeKey(inner, names[1:]); len(inner) > 0 {
			return
		}
	}
	delete(o, names[0])
}

// removeMember removes the elements of a list that equal a value.
func removeMember(o object, names []string, value merge.Value) {
	at := objectAt(o, names[:len(names)-1])
	last := names[len(names)-1]
	list, _ := at[last].([]any)
	list = slices.DeleteFunc(slices.Clone(list), func(e any) bool {
		b, err := json.Marshal(e)
		return err == nil && merge.Equal(b, value)
	})
	if at[last] = list; len(list) == 0 {
		removeKey(o, names)
	}
}

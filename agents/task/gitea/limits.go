package gitea

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// limits are the fields of a task that an issue bounds it with.
type limits struct {
	write, read      []string
	files, diff      *int
	seconds, retries *int
	denied           []string
	requires, blocks []string
}

// fields are the names of limits, in lower case and with blanks, and the field of
// a task that each of them sets.
var fields = map[string]string{
	"allowed write globs": "write", "allowed files": "write", "write": "write", "files": "write",
	"allowed read globs": "read", "read": "read",
	"max files changed": "files", "max files": "files",
	"max diff bytes": "diff", "max diff": "diff",
	"timeout seconds": "seconds", "timeout": "seconds",
	"retries": "retries", "network": "network",
	"denylisted commands": "denied", "denied commands": "denied", "forbidden commands": "denied",
	"requires completed": "requires", "depends on": "requires", "dependencies": "requires", "requires": "requires", "blocked by": "requires",
	"blocks": "blocks",
}

// fieldName returns a name as fields has it.
func fieldName(s string) string {
	return strings.ToLower(strings.Join(strings.FieldsFunc(s, func(r rune) bool { return strings.ContainsRune(" \t_-*`", r) }), " "))
}

// entry is one item or line of a section, with the lines that continue it.
type entry struct {
	indent       int
	item, ticked bool
	fenced       bool
	text         string
}

// entries splits a section. Each line of a code block is one, as in YAML.
func entries(text string) (out []entry) {
	blank := true
	for l := range fencedLines(text) {
		t := strings.TrimSpace(l.text)
		if t == "" || l.fence {
			blank = true
			continue
		}
		e := entry{indent: len(l.text) - len(strings.TrimLeft(l.text, " \t")), fenced: l.fenced, text: t}
		if m := item.FindStringSubmatch(l.text); m != nil {
			e.item, e.ticked, e.text = true, strings.EqualFold(m[2], "x"), strings.TrimSpace(m[3])
		}
		if e.fenced {
			e.text = strings.TrimSpace(comment.ReplaceAllString(e.text, ""))
		}
		if last := len(out) - 1; last >= 0 && !e.item && !e.fenced && (!blank || e.indent > out[last].indent) && out[last].item {
			out[last].text += "\n" + e.text
		} else if e.text != "" {
			out = append(out, e)
		}
		blank = false
	}
	return out
}

var (
	comment = regexp.MustCompile(`(^|[ \t]+)#[ \t].*$`)
	keyed   = regexp.MustCompile("^[*_`]*([A-Za-z][A-Za-z _-]*)[*_`]*[ \t]*[:=][*_]*(?:[ \t]+|$)((?s:.*))$")
)

// readSection reads the limits of a section. What no name stands before is of the
// given field; "" is none. rest has what was not read.
func (l *limits) readSection(text, field string, in Repo, idOf func(int64) string) (rest []string) {
	all := entries(text)
	key, at := "", entry{} // the name whose values follow, and its entry
	for n := 0; n < len(all); n++ {
		e := all[n]
		to := field
		switch m := keyed.FindStringSubmatch(e.text); {
		case e.ticked:
			rest = append(rest, e.text+" (ticked)")
			continue
		case m != nil && m[2] == "" && slices.Contains([]string{"scope", "constraints"}, fieldName(m[1])): // as in a task's file
			continue
		case m != nil && fields[fieldName(m[1])] != "":
			key, at = "", e
			to, e.text = fields[fieldName(m[1])], strings.TrimSpace(m[2])
			if e.text == "" {
				key = to
				continue
			}
		case key != "" && (e.indent > at.indent || !at.item && e.item && e.indent == at.indent):
			to = key
		default:
			key = ""
		}
		// What stands below an item may take back what the item allows.
		below := n+1 < len(all) && all[n+1].item && e.item && all[n+1].indent > e.indent
		if below || !l.set(to, e.text, in, idOf) {
			rest = append(rest, all[n].text)
		}
		for below && n+1 < len(all) && all[n+1].indent > e.indent {
			n++
			rest = append(rest, all[n].text)
		}
	}
	return rest
}

// set sets a field to a value as written, and reports whether it could read all of
// it. Of two numbers the lower one counts.
func (l *limits) set(field, value string, in Repo, idOf func(int64) string) bool {
	switch field {
	case "write", "read", "denied":
		list, ok := words(value, field == "denied")
		to := map[string]*[]string{"write": &l.write, "read": &l.read, "denied": &l.denied}[field]
		*to = appendNew(*to, list...)
		return ok
	case "requires", "blocks":
		list, ok := references(value, in, idOf)
		if field == "requires" {
			l.requires = appendNew(l.requires, list...)
		} else {
			l.blocks = appendNew(l.blocks, list...)
		}
		return ok
	case "files", "diff", "seconds", "retries":
		n, ok := number(field, value)
		to := map[string]**int{"files": &l.files, "diff": &l.diff, "seconds": &l.seconds, "retries": &l.retries}[field]
		if ok && (*to == nil || n < **to) {
			*to = &n
		}
		return ok
	case "network": // a person allows it, not the author of an issue
		return slices.Contains([]string{"false", "no", "none"}, strings.ToLower(value))
	}
	return false
}

// words returns the list that a value is: texts in backquotes or quotes, a list of
// YAML, or bare words between commas. A command may have blanks, a glob may not.
// ok is false if there is anything else in it: "`src/**` but not `src/gen/**`" is
// no list, and to read half of it would allow more than it says.
func words(value string, blanks bool) (list []string, ok bool) {
	value = strings.TrimSpace(strings.TrimSuffix(value, "."))
	switch {
	case strings.Contains(value, "\n"):
		return nil, false
	case slices.Contains(nothing, strings.ToLower(value)):
		return nil, true
	case strings.HasPrefix(value, "["), strings.HasPrefix(value, `"`), strings.HasPrefix(value, "'"):
		if !strings.HasPrefix(value, "[") {
			value = "[" + value + "]"
		}
		if yaml.Unmarshal([]byte(value), &list) != nil || slices.Contains(list, "") {
			return nil, false
		}
		return list, true
	case strings.Contains(value, "`"):
		between := quoted.ReplaceAllString(value, " ")
		for _, w := range strings.FieldsFunc(between, func(r rune) bool { return strings.ContainsRune(" \t,;", r) }) {
			if !slices.Contains([]string{"and", "or"}, strings.ToLower(w)) {
				return nil, false
			}
		}
		for _, m := range quoted.FindAllStringSubmatch(value, -1) {
			list = append(list, m[1])
		}
		return list, true
	}
	list = []string{value}
	if !strings.ContainsAny(value, "{[") {
		list = strings.Split(value, ", ")
	}
	for i, w := range list {
		list[i] = strings.TrimSpace(strings.Trim(w, ","))
		if list[i] == "" || !blanks && strings.ContainsAny(list[i], " \t") {
			return nil, false
		}
	}
	return list, true
}

var nothing = []string{"none", "nothing", "n/a", "-", "[]"}

var (
	reference = regexp.MustCompile(`([A-Za-z0-9_][A-Za-z0-9_.-]*/[A-Za-z0-9_][A-Za-z0-9_.-]*)?(?:#|/issues/)([0-9]+)\b`)
	taskName  = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)
	taskNamed = regexp.MustCompile(`\btask-[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*\b`)
)

// references returns the ids of the tasks that a value names: issues of the
// repository as #N or by their address, tasks by their ids. ok is false if it
// names none, or an issue of another repository.
func references(value string, in Repo, idOf func(int64) string) (ids []string, ok bool) {
	if slices.Contains(nothing, strings.ToLower(strings.Trim(value, " ."))) {
		return nil, true
	}
	ok = true
	for _, m := range reference.FindAllStringSubmatch(value, -1) {
		n, err := strconv.ParseInt(m[2], 10, 64)
		if err != nil || m[1] != "" && !strings.EqualFold(m[1], in.String()) {
			ok = false
			continue
		}
		ids = appendNew(ids, idOf(n))
	}
	ids = appendNew(ids, taskNamed.FindAllString(value, -1)...)
	if list, isList := words(value, false); isList {
		for _, w := range list {
			if taskName.MatchString(w) {
				ids = appendNew(ids, w)
			}
		}
	}
	return ids, ok && len(ids) > 0
}

var amount = regexp.MustCompile(`^([0-9][0-9_]*)[ \t]*([A-Za-z]*)\.?$`)

// units are what a number may be counted in, by field.
var units = map[string]map[string]int{
	"files":   {"": 1, "file": 1, "files": 1},
	"retries": {"": 1, "time": 1, "times": 1},
	"diff":    {"": 1, "b": 1, "byte": 1, "bytes": 1, "kb": 1000, "kib": 1024},
	"seconds": {"": 1, "s": 1, "sec": 1, "second": 1, "seconds": 1, "m": 60, "min": 60, "minute": 60, "minutes": 60, "h": 3600, "hour": 3600, "hours": 3600},
}

func number(field, value string) (int, bool) {
	m := amount.FindStringSubmatch(strings.Trim(value, "`\"'* "))
	if m == nil {
		return 0, false
	}
	n, err := strconv.Atoi(strings.ReplaceAll(m[1], "_", ""))
	unit, ok := units[field][strings.ToLower(m[2])]
	return n * unit, ok && err == nil && n < 1_000_000_000
}

// appendNew returns list with those of more that it lacks.
func appendNew(list []string, more ...string) []string {
	for _, s := range more {
		if !slices.Contains(list, s) {
			list = append(list, s)
		}
	}
	return list
}

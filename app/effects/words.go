package effects

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"aisync.dev/aisync/internal/secret"
	"aisync.dev/aisync/internal/shellquote"
)

// maxText bounds the part of a value that is shown, in bytes.
const maxText = 1000

// commandNames are the settings that programs run or dial, the most telling first.
var commandNames = []string{"command", "cmd", "bash", "script", "url", "httpUrl", "serverUrl", "baseURL", "base_url", "prompt"}

// plainNames are settings that add nothing to a command.
var plainNames = []string{"type", "matcher", "timeout", "name", "description", "statusMessage"}

// describe summarizes a group of settings without leaving out anything that
// could matter. n is the number of names that their paths share.
func describe(group []setting, n int) string {
	if len(group) == 1 && len(group[0].path) == n {
		return clip(text(group[0]))
	}
	var found []string
	shown := make([]bool, len(group))
	for _, name := range commandNames {
		found = append(found, told(group, n, name, shown)...)
	}
	commands := len(found) > 0
	var rest []string
	for i, s := range group {
		names := s.path[n:]
		switch {
		case shown[i], commands && len(names) > 0 && (slices.Contains(plainNames, names[len(names)-1]) || empty(s.value) || names[len(names)-1] == "enabled" && s.value == true):
		case len(names) > 1 && s.arrays[len(s.path)-1]:
			rest = append(rest, strings.Join(names[:len(names)-1], ".")+": "+text(s))
		case len(names) > 0 && !(len(names) == 1 && s.arrays[n]):
			rest = append(rest, strings.Join(names, ".")+": "+text(s))
		default:
			rest = append(rest, text(s))
		}
	}
	switch {
	case !commands:
		return clip(strings.Join(rest, ", "))
	case len(rest) > 0:
		return clip(strings.Join(found, "; ") + " (" + strings.Join(rest, ", ") + ")")
	}
	return clip(strings.Join(found, "; "))
}

// lines are the commands under name, below the first n names of a group, each
// with its arguments.
func lines(group []setting, n int, name string) []string {
	return told(group, n, name, make([]bool, len(group)))
}

// told is lines; it also marks the settings that the lines show.
func told(group []setting, n int, name string, shown []bool) []string {
	var found []string
	for k, s := range group {
		i := slices.Index(s.path[n:], name)
		if i < 0 {
			continue
		}
		at := n + i
		var words, args []string
		beside := func(of func(arg setting) bool) {
			for k, arg := range group {
				if of(arg) {
					args, shown[k] = append(args, scalar(arg)), true
				}
			}
		}
		switch {
		case at == len(s.path)-1: // command: "npx", with its args
			if _, ok := s.value.(string); !ok {
				continue
			}
			words, shown[k] = append(words, text(s)), true
			beside(func(arg setting) bool {
				return len(arg.path) == at+2 && arg.path[at] == "args" && slices.Equal(arg.path[:at], s.path[:at])
			})
		case at == len(s.path)-2 && s.path[at+1] == "0": // command: ["npx", …]
			beside(func(arg setting) bool {
				return len(arg.path) == at+2 && slices.Equal(arg.path[:at+1], s.path[:at+1])
			})
		default:
			continue
		}
		for _, arg := range secret.ShowArgs(args) {
			words = append(words, shellquote.Word(arg))
		}
		if line := strings.Join(words, " "); !slices.Contains(found, line) {
			found = append(found, line)
		}
	}
	return found
}

// text is a scalar as people write it, without its secrets.
func text(s setting) string { return secret.Show(scalar(s), s.path...) }

// scalar is s as people write it.
func scalar(s setting) string {
	if v, ok := s.value.(string); ok {
		return v
	}
	return s.canonical()
}

// clip leaves out the middle of a long text, and says how much: the end of a
// command matters as much as its start.
func clip(s string) string {
	if len(s) <= maxText {
		return s
	}
	head, tail := maxText*2/3, len(s)-maxText/3
	for head > 0 && s[head]&0xC0 == 0x80 {
		head--
	}
	for tail < len(s) && s[tail]&0xC0 == 0x80 {
		tail++
	}
	return fmt.Sprintf("%s … (%d bytes are not shown; read them in the file) … %s", s[:head], tail-head, s[tail:])
}

// fill inserts the values of an effect into the text of a rule.
func fill(says, file, value string, wild []string) string {
	pairs := []string{"{file}", file, "{value}", value}
	for i, w := range wild {
		pairs = append(pairs, "{"+strconv.Itoa(i+1)+"}", w)
	}
	return strings.NewReplacer(pairs...).Replace(says)
}

// Fold lists texts of one program and class in at most n lines: all of them,
// or the first few and how many more there are.
func Fold(list []Effect, n int) (lines []Effect, more string) {
	if len(list) <= n {
		return list, ""
	}
	return list[:n-1], fmt.Sprintf("and %d more", len(list)-n+1)
}

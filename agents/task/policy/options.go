package policy

import (
	"slices"
	"strings"

	"aisync.dev/aisync/internal/termtext"
)

// long maps short options to their long names, by the program and, for git, its
// command.
var long = map[string]map[string]string{
	"rm":           {"r": "recursive", "R": "recursive", "f": "force", "d": "dir"},
	"cp":           {"r": "recursive", "R": "recursive", "f": "force"},
	"mv":           {"f": "force"},
	"chmod":        {"R": "recursive"},
	"chown":        {"R": "recursive"},
	"chgrp":        {"R": "recursive"},
	"curl":         {"X": "request", "d": "data", "o": "output", "k": "insecure"},
	"git push":     {"f": "force", "d": "delete"},
	"git clean":    {"f": "force", "d": "d", "x": "x"},
	"git checkout": {"f": "force"},
	"git branch":   {"f": "force", "D": "delete", "d": "delete"},
	"git commit":   {"a": "all", "n": "no-verify"},
	"git fetch":    {"f": "force"},
	"git add":      {"f": "force", "A": "all"},
	"git tag":      {"f": "force", "d": "delete"},
	"git switch":   {"f": "force"},
}

// gitValues are options of git that take the next word.
var gitValues = []string{"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--super-prefix", "--config-env", "--exec-path", "--attr-source"}

// subcommand removes from a call of git the words before its command.
func subcommand(words []word) []word {
	if words[0].text != "git" {
		return words
	}
	rest := words[1:]
	for len(rest) > 0 && strings.HasPrefix(rest[0].text, "-") && !rest[0].unknown() {
		if slices.Contains(gitValues, rest[0].text) && len(rest) > 1 {
			rest = rest[1:]
		}
		rest = rest[1:]
	}
	return append([]word{words[0]}, rest...)
}

// spellings returns the usual spellings of a command: options before, after and
// between, joined and separate, short and long.
func spellings(words []word) []string {
	out := []string{join(words)}
	words = subcommand(words)
	out = append(out, join(words))
	head, args := words[:1], words[1:]
	if words[0].text == "git" && len(args) > 0 {
		head, args = words[:2], args[1:]
	}
	names := long[join(head)]
	var letters, options, operands []string
	only := false
	for _, a := range args {
		switch {
		case only || len(a.text) < 2 || a.text[0] != '-':
			operands = append(operands, a.text)
			if join(head) == "git push" && strings.HasPrefix(a.text, "+") {
				options = append(options, "--force") // of one branch
			}
		case a.text == "--":
			only = true
		case a.text[1] == '-':
			name, value, has := strings.Cut(a.text[2:], "=")
			for _, l := range names { // in its shortest form
				if len(name) > 0 && strings.HasPrefix(l, name) {
					name = l
				}
			}
			if has {
				name += "=" + value
			}
			options = append(options, "--"+name)
		default:
			for _, r := range a.text[1:] {
				letters = append(letters, string(r))
				if l, ok := names[string(r)]; ok {
					options = append(options, "--"+l)
				}
			}
			options = append(options, a.text)
		}
	}
	for short, l := range names { // other letters with the same meaning
		if slices.Contains(options, "--"+l) {
			letters = append(letters, short)
		}
	}
	slices.Sort(letters)
	letters = slices.Compact(letters)
	first, rest := join(head), strings.Join(operands, " ")
	line := func(parts ...string) { out = append(out, termtext.OneLine(strings.Join(parts, " "))) }
	line(first, strings.Join(options, " "), rest)
	line(first, rest, strings.Join(options, " "))
	for _, o := range options {
		line(first, o, rest)
		line(first, rest, o)
	}
	for _, some := range permutations(letters) {
		glued, apart := "-"+strings.Join(some, ""), "-"+strings.Join(some, " -")
		line(first, glued, rest)
		line(first, rest, glued)
		line(first, apart, rest)
		var named []string
		for _, s := range some {
			if l, ok := names[s]; ok {
				named = append(named, "--"+l)
			}
		}
		line(first, strings.Join(named, " "), rest)
	}
	return out
}

// permutations returns the orders of up to three of the first twelve letters.
func permutations(letters []string) [][]string {
	var out [][]string
	letters = letters[:min(12, len(letters))]
	for i, a := range letters {
		out = append(out, []string{a})
		for j, b := range letters {
			if i == j {
				continue
			}
			out = append(out, []string{a, b})
			for k, c := range letters {
				if k != i && k != j {
					out = append(out, []string{a, b, c})
				}
			}
		}
	}
	return out
}

package ensemble

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// args is a parsed command line: flags may stand anywhere before a --, as --name
// value or --name=value.
type args struct {
	words []string
	on    map[string]bool   // flags without a value
	value map[string]string // flags with one

	literal bool // a -- stood before the last words
}

// flagSpec lists the flags of a command, and whether it takes a text; as in the
// original, an unknown flag is then part of the text.
type flagSpec struct {
	switches, values string // names, separated by spaces
	text             bool
}

func (g flagSpec) parse(argv []string) (args, error) {
	a := args{on: map[string]bool{}, value: map[string]string{}}
	for i := 0; i < len(argv); i++ {
		word := argv[i]
		if word == "--" {
			a.words, a.literal = append(a.words, argv[i+1:]...), true
			break
		}
		name, value, joined := strings.Cut(strings.TrimPrefix(word, "--"), "=")
		flag := strings.HasPrefix(word, "--")
		switch {
		case flag && !joined && slices.Contains(strings.Fields(g.switches), name):
			a.on[name] = true
		case flag && slices.Contains(strings.Fields(g.values), name):
			if !joined {
				if i++; i == len(argv) {
					return a, fmt.Errorf("--%s requires a value", name)
				}
				value = argv[i]
			}
			a.value[name] = value
		case flag && !g.text:
			return a, fmt.Errorf("unknown flag %s; run: ensemble help", word)
		default:
			a.words = append(a.words, word)
		}
	}
	return a, nil
}

// valueOr returns the value of a flag, or otherwise if the flag is missing.
func (a args) valueOr(name, otherwise string) string {
	if v, ok := a.value[name]; ok {
		return v
	}
	return otherwise
}

// limit reads --limit. A word that is not a number means the default; 0 or less
// means all.
func (a args) limit(otherwise int) int {
	n, err := strconv.ParseFloat(strings.TrimSpace(a.value["limit"]), 64)
	if err != nil {
		return otherwise
	}
	return max(0, int(n))
}

// word returns the n-th word, or "".
func (a args) word(n int) string {
	if n < len(a.words) {
		return a.words[n]
	}
	return ""
}

// text joins the words from the n-th on.
func (a args) text(n int) string {
	return strings.Join(a.words[min(n, len(a.words)):], " ")
}

// cutRoot removes --root PATH or --root=PATH from the words before a --.
func cutRoot(argv []string) (rest []string, root string, err error) {
	for i, word := range argv {
		switch {
		case word == "--":
			return argv, "", nil
		case word == "--root" && i+1 == len(argv):
			return nil, "", fmt.Errorf("--root requires a folder")
		case word == "--root":
			return slices.Concat(argv[:i], argv[i+2:]), argv[i+1], nil
		case strings.HasPrefix(word, "--root="):
			return slices.Concat(argv[:i], argv[i+1:]), strings.TrimPrefix(word, "--root="), nil
		}
	}
	return argv, "", nil
}

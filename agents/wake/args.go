package wake

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// args are the words of a command, apart from its flags.
type args struct {
	words   []string
	literal int // how many of them stood behind a --
	on      map[string]bool
	value   map[string]string
}

// grammar lists the flags of a command: without a value, and with one.
type grammar struct{ switches, values []string }

var (
	sends = grammar{[]string{"no-wake", "wait", "strict"}, []string{"from", "type", "reply-to", "file", "pane", "timeout", "interval"}}
	flags = map[string]grammar{
		"status": {}, "panes": {}, "note": {values: []string{"from"}}, "wake": {values: []string{"message", "pane"}},
		"send": sends, "task": sends, "wait": {values: []string{"timeout", "interval"}},
	}
)

// parse refuses unknown flags: as a part of the text, one would be lost. Flags may
// stand anywhere before a --.
func (g grammar) parse(command string, argv []string) (args, error) {
	a := args{on: map[string]bool{}, value: map[string]string{}}
	for i := 0; i < len(argv); i++ {
		word := argv[i]
		if word == "--" {
			a.literal = len(argv) - i - 1
			a.words = append(a.words, argv[i+1:]...)
			break
		}
		name, value, joined := strings.Cut(strings.TrimPrefix(word, "--"), "=")
		switch {
		case !strings.HasPrefix(word, "--"):
			a.words = append(a.words, word)
		case slices.Contains(g.switches, name) && !joined:
			a.on[name] = true
		case !slices.Contains(g.values, name):
			return a, badUsage(fmt.Sprintf("%s: unknown flag %s (a text that begins with -- stands behind a --)", command, word))
		case joined:
			a.value[name] = value
		case i+1 == len(argv):
			return a, badUsage(fmt.Sprintf("%s: --%s requires a value", command, name))
		default:
			i++
			a.value[name] = argv[i]
		}
	}
	if (command == "status" || command == "panes") && len(a.words) > 0 {
		return a, badUsage(command + " takes no words")
	}
	return a, nil
}

// times returns how long to wait for an answer, and how often to look.
func (a args) times() (timeout, interval time.Duration, err error) {
	if timeout, err = seconds("timeout", cmp.Or(a.value["timeout"], "600")); err == nil {
		interval, err = seconds("interval", cmp.Or(a.value["interval"], "0.2"))
	}
	return timeout, interval, err
}

func seconds(flag, text string) (time.Duration, error) {
	n, err := strconv.ParseFloat(strings.TrimSuffix(text, "s"), 64)
	if err != nil || n <= 0 || n > 1e6 {
		return 0, badUsage(fmt.Sprintf("--%s %s: want a number of seconds", flag, text))
	}
	return max(time.Duration(n*float64(time.Second)), time.Millisecond), nil
}

// forward returns the words of a command of the ledger.
func (p Program) forward(command string, a args) []string {
	words := []string{command}
	if command == "send" {
		words = append(words, "--json")
	}
	for _, flag := range []string{"type", "reply-to", "file"} {
		if v, ok := a.value[flag]; ok {
			words = append(words, "--"+flag, v)
		}
	}
	if a.on["strict"] {
		words = append(words, "--strict")
	}
	if v := cmp.Or(a.value["from"], p.Getenv("ENSEMBLE_FROM"), p.Getenv("ENSEMBLE_DEFAULT_FROM")); v != "" {
		words = append(words, "--from", v)
	}
	n := len(a.words) - a.literal
	words = append(words, a.words[:n]...)
	if a.literal > 0 {
		words = append(append(words, "--"), a.words[n:]...)
	}
	return words
}

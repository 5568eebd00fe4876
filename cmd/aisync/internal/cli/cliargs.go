package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// CommandLine returns args with those of AISYNC_CLI_ARGS and AISYNC_CLI_ARGS_<command>
// after the command's name and before the typed ones, so that a typed flag wins.
func (a *App) CommandLine(root *cobra.Command, args []string) ([]string, error) {
	path, rest := SplitCommand(root, args)
	if len(path) == 0 {
		return args, knownWord(root, rest)
	}
	cmd := root
	for _, name := range path {
		cmd = child(cmd, name)
	}
	if cmd.DisableFlagParsing { // its flags mean something else, such as the ledger's --root
		return slices.Concat(path, rest), nil
	}
	forAll, err := a.wordsOf("AISYNC_CLI_ARGS")
	if err == nil {
		forAll, err = fitting(root, cmd, forAll)
	}
	if err != nil {
		return nil, err
	}
	name := "AISYNC_CLI_ARGS_" + strings.ReplaceAll(strings.Join(path, "_"), "-", "_")
	forThis, err := a.wordsOf(name)
	if err == nil {
		err = known(cmd, name, forThis)
	}
	return slices.Concat(path, forAll, forThis, rest), err
}

func (a *App) wordsOf(variable string) ([]string, error) {
	words, err := ShellWords(a.Env.Get(variable))
	if err != nil {
		return nil, Usagef("%s: %v", variable, err)
	}
	return words, nil
}

// knownWord refuses an unknown command, even beside --help.
func knownWord(root *cobra.Command, args []string) error {
	for i := 0; i < len(args); i++ {
		switch arg := args[i]; {
		case arg == "--", arg == "help", strings.HasPrefix(arg, "__"): // cobra handles these
			return nil
		case takesValue(root, arg):
			i++
		case !strings.HasPrefix(arg, "-"):
			return UnknownCommand(root, arg)
		}
	}
	return nil
}

// SplitCommand separates the names of the command in args, wherever global flags
// stand, from everything else.
func SplitCommand(root *cobra.Command, args []string) (path, rest []string) {
	at := root
	for i := 0; i < len(args); i++ {
		arg := args[i]
		switch {
		case arg == "--":
			return path, append(rest, args[i:]...)
		case strings.HasPrefix(arg, "-") && arg != "-":
			rest = append(rest, arg)
			if i+1 < len(args) && takesValue(root, arg) {
				i++
				rest = append(rest, args[i])
			}
			continue
		}
		next := child(at, arg)
		if at != root && at.Name() == "agents" && at.Parent() == root && slices.Contains(at.ValidArgs, arg) {
			path, next = nil, child(root, arg) // aisync agents who is aisync who
		}
		if next == nil {
			return path, append(rest, args[i:]...)
		}
		at = next
		path = append(path, next.Name())
	}
	return path, rest
}

func takesValue(root *cobra.Command, arg string) bool {
	name, long := strings.CutPrefix(arg, "--")
	if !long || strings.Contains(name, "=") {
		return false
	}
	f := root.PersistentFlags().Lookup(name)
	return f != nil && f.NoOptDefVal == ""
}

func child(cmd *cobra.Command, name string) *cobra.Command {
	for _, c := range cmd.Commands() {
		if c.Name() == name || c.HasAlias(name) {
			return c
		}
	}
	return nil
}

// ShellWords splits s as a shell does: at blanks outside of single quotes, double
// quotes and backslashes. It expands nothing.
func ShellWords(s string) ([]string, error) {
	var (
		out   []string
		word  strings.Builder
		open  bool // a word has begun, perhaps an empty one
		quote rune
	)
	runes := []rune(s)
	for i := 0; i < len(runes); i++ {
		r := runes[i]
		switch {
		case quote == '\'' && r != '\'', quote == '"' && r != '"' && r != '\\':
			word.WriteRune(r)
		case quote != 0 && r == quote:
			quote = 0
		case r == '\\' && quote != '\'':
			if i++; i == len(runes) {
				return nil, fmt.Errorf("ends in a backslash: %s", s)
			}
			if quote == '"' && !strings.ContainsRune("\"\\$`", runes[i]) {
				word.WriteRune('\\')
			}
			word.WriteRune(runes[i])
			open = true
		case r == '\'' || r == '"':
			quote, open = r, true
		case r == ' ' || r == '\t' || r == '\n':
			if open {
				out = append(out, word.String())
				word.Reset()
				open = false
			}
		default:
			word.WriteRune(r)
			open = true
		}
	}
	if quote != 0 {
		return nil, fmt.Errorf("unclosed %c: %s", quote, s)
	}
	if open {
		out = append(out, word.String())
	}
	return out, nil
}

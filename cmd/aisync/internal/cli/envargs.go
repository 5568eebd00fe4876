package cli

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"aisync.dev/aisync/internal/termtext"
)

// fitting is the words of AISYNC_CLI_ARGS that cmd has use for: that variable
// is for every command, so a flag that only others have is left out with its
// value. One that no command has is an error.
func fitting(root, cmd *cobra.Command, words []string) ([]string, error) {
	var out []string
	for i := 0; i < len(words); i++ {
		word := words[i]
		if word == "--" {
			return append(out, words[i:]...), nil
		}
		f, mine := flagOf(cmd, word), true
		if f == nil {
			f, mine = flagOfAny(root, word), false
		}
		switch {
		case !strings.HasPrefix(word, "-") || word == "-":
			out = append(out, word)
			continue
		case f == nil:
			return nil, unknownFlag(cmd, "AISYNC_CLI_ARGS", word)
		case mine:
			out = append(out, word)
		}
		if valueFollows(f, word) && i+1 < len(words) {
			i++
			if mine {
				out = append(out, words[i])
			}
		}
	}
	return out, nil
}

// known refuses words with a flag that cmd has not; variable is where they are
// from.
func known(cmd *cobra.Command, variable string, words []string) error {
	for i := 0; i < len(words); i++ {
		word := words[i]
		if word == "--" {
			return nil
		}
		if !strings.HasPrefix(word, "-") || word == "-" {
			continue
		}
		f := flagOf(cmd, word)
		if f == nil {
			return unknownFlag(cmd, variable, word)
		}
		if valueFollows(f, word) {
			i++
		}
	}
	return nil
}

// valueFollows reports whether the word after word is the value of f.
func valueFollows(f *pflag.Flag, word string) bool {
	attached := strings.Contains(word, "=") || !strings.HasPrefix(word, "--") && len(word) > 2
	return f.NoOptDefVal == "" && !attached
}

func unknownFlag(cmd *cobra.Command, variable, word string) error {
	name, _, _ := strings.Cut(word, "=")
	u := Usagef("%s: unknown flag: %s (%s)", variable, termtext.Safe(name), cmd.CommandPath())
	u.Advice = "set " + variable + " right, or unset it"
	return u
}

// flagOf is the flag of cmd, or of all commands, that word begins with.
func flagOf(cmd *cobra.Command, word string) *pflag.Flag {
	cmd.InitDefaultHelpFlag()
	name, _, _ := strings.Cut(strings.TrimLeft(word, "-"), "=")
	switch {
	case name == "":
		return nil
	case strings.HasPrefix(word, "--"):
		return cmd.Flag(name)
	}
	if f := cmd.Flags().ShorthandLookup(name[:1]); f != nil {
		return f
	}
	return cmd.InheritedFlags().ShorthandLookup(name[:1])
}

func flagOfAny(cmd *cobra.Command, word string) *pflag.Flag {
	if f := flagOf(cmd, word); f != nil {
		return f
	}
	for _, c := range cmd.Commands() {
		if f := flagOfAny(c, word); f != nil {
			return f
		}
	}
	return nil
}

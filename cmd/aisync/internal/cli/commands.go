package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/internal/termtext"
)

// UnknownCommand returns a usage error that suggests similar commands.
func UnknownCommand(cmd *cobra.Command, name string) error {
	err := Usagef("unknown command %q", termtext.Safe(name))
	cmd.SuggestionsMinimumDistance = cmd.Root().SuggestionsMinimumDistance
	if advice := habitAdvice(name); advice != "" && !cmd.HasParent() {
		err.Advice = advice
	} else if near := cmd.SuggestionsFor(name); len(near) > 0 {
		err.Advice = "did you mean " + strings.Join(near, ", ") + "?"
	} else if cmd.HasParent() {
		err.Advice = cmd.CommandPath() + " --help"
	} else {
		err.Advice = "aisync help"
	}
	return err
}

// FlagError turns an error of pflag into a usage error that suggests a similar flag.
func FlagError(cmd *cobra.Command, err error) error {
	u := Usagef("%v (%s)", err, cmd.CommandPath())
	near, typed := nearFlag(cmd, err)
	if advice := flagHabits[typed]; advice != "" {
		u.Advice = advice
	} else if near != "" {
		u.Advice = "did you mean --" + near + "?"
	} else {
		u.Advice = cmd.CommandPath() + " --help"
	}
	return u
}

// GroupCommand returns a command that only groups the commands below it.
func GroupCommand(name, short, long, example string) *cobra.Command {
	return &cobra.Command{
		Use: name, Short: short, Long: long, Example: example, SuggestionsMinimumDistance: 2,
		Annotations: map[string]string{"effect": "writes"},
		Args:        cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return UnknownCommand(cmd, args[0])
			}
			return cmd.Help()
		},
	}
}

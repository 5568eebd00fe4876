package docs

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"aisync.dev/aisync/cmd/aisync/internal/cli"
)

// topics are the texts of aisync help TOPIC, by their names.
var topics = []struct {
	name string
	text func(root *cobra.Command) string
}{
	{"flags", func(root *cobra.Command) string {
		return "Every command takes these flags, before or after its name:\n\n" + flagText(root.PersistentFlags())
	}},
	{"exit-codes", func(*cobra.Command) string { return exitCodes }},
	{"environment", func(*cobra.Command) string {
		return "A typed flag wins over its variable.\n\n" + environmentText()
	}},
	{"files", func(*cobra.Command) string { return files }},
}

func flagText(fs *pflag.FlagSet) string { return strings.TrimRight(fs.FlagUsages(), "\n") }

// TopicNames returns the names of the topics.
func TopicNames() (names []string) {
	for _, t := range topics {
		names = append(names, t.name)
	}
	return names
}

// HelpCommand builds the command help: of a command, or of a topic.
func HelpCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:         "help [COMMAND | TOPIC]",
		Short:       "explain a command or a topic",
		Annotations: map[string]string{"effect": "read-only"},
		ValidArgs:   TopicNames(),
		RunE: func(cmd *cobra.Command, args []string) error {
			root := cmd.Root()
			if len(args) == 1 {
				for _, t := range topics {
					if t.name == args[0] {
						_, err := fmt.Fprintln(a.Out, t.text(root))
						return err
					}
				}
			}
			if of, _, err := root.Find(args); err == nil && of != root {
				return of.Help()
			} else if len(args) > 0 {
				u := cli.Usagef("help: no command and no topic is called %q", strings.Join(args, " "))
				u.Advice = "the topics are " + strings.Join(TopicNames(), ", ")
				return u
			}
			return root.Help()
		},
	}
}

const exitCodes = `Exit codes of every command, unless its own help says otherwise:

  0        done, or in order
  1        an error, or something that cannot be observed
  2        differences: plan --detailed-exitcode, drift, an apply that left edits undecided
  3        applied in part
  4        a conflict or an effect that is not decided; nothing changed
  5        the plan file is out of date
  6        another apply is running
  7        the network is required, but --offline
  64       a wrong command, flag or argument
  130, 143 interrupted, after the journal was written

Read an unknown code as a failure.`

const files = `Files, with the folders that XDG_CONFIG_HOME, XDG_STATE_HOME and XDG_CACHE_HOME move:

  ~/.config/aisync/*.cue       the host's specs
  ~/.config/aisync/aisync.lock its pins
  aisync.cue, aisync.lock      a project's spec and pins; git carries both
  aisync.local.cue             what one person adds to a project; git leaves it out
  ~/.local/state/aisync        journals, backups, records, answers
  ~/.cache/aisync              sources and archives, which can be fetched again
  .ai/                         the ledger of a project's agents

docs/files.md has all files that aisync writes for programs.`

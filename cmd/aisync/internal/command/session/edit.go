package session

import (
	"path/filepath"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/agents/session"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
)

func sessionEdit(a *cli.App) *cobra.Command {
	var e session.Edit
	var show bool
	var body string
	cmd := &cobra.Command{
		Use:   "edit FILE --heading HEADING (--append TEXT | --body TEXT | --old TEXT --new TEXT | --show)",
		Short: "change what stands below one heading of a shared file, losing nobody's work",
		Long: `Changes an org or Markdown file within the subtree of one heading: takes the
file's lock, reads it again, refuses a heading that is not there exactly once,
writes the intent to this agent's journal, and replaces the file in one step. A
text given as - is read from the input. --show prints the subtree and, on
stderr, its digest; with --digest the edit is refused if it has changed since.`,
		Example:     "  $ aisync session edit todo.org --heading \"Inbox\" --append \"** TODO call back\"",
		Annotations: map[string]string{"effect": "writes"},
		Args:        cli.ExactArgs(1, "a file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			w, c, err := a.Own()
			if err != nil {
				return err
			}
			e.File = args[0]
			if !filepath.IsAbs(e.File) {
				e.File = filepath.Join(cli.WorkingFolder(), e.File)
			}
			if show {
				tree, digest, err := c.Show(e.File, e.Heading)
				if err != nil {
					return err
				}
				a.Printf("%s", tree)
				a.Say("digest %s", digest)
				return nil
			}
			if cmd.Flags().Changed("body") {
				e.Body = &body
			}
			if err := editTexts(a, &e); err != nil {
				return err
			}
			if err := atWorkOn(a, w, c); err != nil {
				return err
			}
			tree, err := c.Apply(e, cli.Now)
			if err != nil {
				return err
			}
			if a.Flags.Verbose {
				a.Printf("%s", tree)
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVar(&e.Heading, "heading", "", "the `HEADING`, with or without stars, keyword and tags")
	f.StringVar(&e.Append, "append", "", "add `TEXT` at the end of the subtree")
	f.StringVar(&body, "body", "", "make `TEXT` what stands below the heading")
	f.StringVar(&e.Old, "old", "", "replace `TEXT`, which stands there once")
	f.StringVar(&e.New, "new", "", "by `TEXT`")
	f.StringVar(&e.Digest, "digest", "", "refuse if the subtree is not that of `DIGEST`")
	f.StringVar(&e.What, "intent", "", "one line for the journal `TEXT`")
	f.BoolVar(&show, "show", false, "print the subtree and change nothing")
	cmd.MarkFlagsMutuallyExclusive("append", "body", "old", "show")
	return cmd
}

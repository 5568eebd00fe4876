package session

import (
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/agents/lease"
	"aisync.dev/aisync/agents/session"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/internal/termtext"
)

func sessionEdit(a *cli.App) *cobra.Command {
	var e session.Edit
	var show bool
	var body, state string
	cmd := &cobra.Command{
		Use:   "edit FILE --heading HEADING (--append TEXT | --body TEXT | --state STATE | --old TEXT --new TEXT | --show)",
		Short: "edit below one heading of a shared file without losing other agents' edits",
		Long: `Edits the subtree of one heading in an org or Markdown file. It locks the file,
reads it again, refuses a heading that is missing or not unique, writes the
intent and the lines that go to this agent's journal, and replaces the file
atomically. A text given as - is read from stdin. --body replaces the heading's
text: sub-headings stay, and in org planning lines and drawers too. --show prints
the subtree and, on stderr, its digest; --digest refuses the edit if the subtree
has changed since. An agent's edit of a file that another one claims in the
ledger is refused; a person is told.`,
		Example: `  $ aisync session edit todo.org --heading "Inbox" --append "** TODO call back"
  $ aisync session edit todo.org --heading "call back" --state DONE`,
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
			if cmd.Flags().Changed("state") {
				e.State = &state
			}
			if err := editTexts(a, &e); err != nil {
				return err
			}
			if err := askClaims(a, w.Root, c.ID, e.File); err != nil {
				return err
			}
			if err := ensureContext(a, w, c); err != nil {
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
	f.StringVar(&body, "body", "", "replace the heading's text with `TEXT`")
	f.StringVar(&state, "state", "", "org: set the heading's keyword to `STATE`, such as DONE; \"\" removes it")
	f.StringVar(&e.Old, "old", "", "replace `TEXT`, which must occur once")
	f.StringVar(&e.New, "new", "", "with --old: the new `TEXT`")
	f.StringVar(&e.Digest, "digest", "", "refuse if the subtree does not have `DIGEST`")
	f.StringVar(&e.What, "intent", "", "write `TEXT`, one line, to the journal")
	f.BoolVar(&show, "show", false, "print the subtree and change nothing")
	cmd.MarkFlagsMutuallyExclusive("append", "body", "state", "old", "show")
	return cmd
}

// askClaims refuses an agent's edit of a file that another one claims. A person
// is told.
func askClaims(a *cli.App, root, id, file string) error {
	asker, ok, err := a.Asker(root, id)
	if err != nil || !ok {
		return err
	}
	held, err := asker.Held(file)
	if err != nil || len(held) == 0 {
		return err
	}
	if asker.Agent() {
		return fmt.Errorf("not edited: %s", termtext.Safe(lease.Text(held[0])))
	}
	a.Say("note: %s", termtext.Safe(lease.Text(held[0])))
	return nil
}

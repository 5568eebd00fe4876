package session

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/agents/launch"
	"aisync.dev/aisync/agents/ledger"
	"aisync.dev/aisync/agents/process"
	"aisync.dev/aisync/agents/roster"
	"aisync.dev/aisync/agents/session"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/internal/termtext"
)

// whoDoc is who --json; see docs/json.md.
type whoDoc struct {
	FormatVersion string          `json:"format_version"`
	Project       string          `json:"project"`
	Agents        []roster.Agent  `json:"agents"`           // including the caller
	Hidden        []roster.Agent  `json:"hidden"`           // of other users, perhaps in this project
	Doubts        []string        `json:"doubts,omitempty"` // why there may be more agents
	Contexts      []session.Entry `json:"contexts"`
	Claims        []ledger.Claim  `json:"claims"`
	Work          []piece         `json:"work"` // running tasks of the queue and of runs
	Messages      []openMessage   `json:"open_messages"`
	Seats         []seatView      `json:"seats,omitempty"` // the agents' names in the ledger
	Problems      []string        `json:"problems"`        // what could not be read
}

// openMessage is a message of the ledger that is open or acknowledged.
type openMessage struct {
	ID     string `json:"id"`
	From   string `json:"from"`
	To     string `json:"to"`
	Type   string `json:"type"`
	Status string `json:"status"` // open, acked
	Since  string `json:"since"`
	Text   string `json:"text"` // its first line
}

// WhoCommand builds the command who.
func WhoCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "who",
		Short: "list this project's agents, session files, tasks and claims",
		Long: `Shows who is at work in this project: the running agents including the caller,
their session files, the claimed tasks of the queue and of runs, and the seats,
claimed paths and open messages of the ledger. A seat is an agent's name, which
stays when its program is started again. If something cannot be read, it reports
that, shows the rest and exits 1.`,
		Annotations: map[string]string{"effect": "read-only"},
		Args:        cli.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			w, err := a.AtWork()
			if err != nil {
				return err
			}
			doc := who(a, w)
			if a.Flags.JSON {
				if err := a.WriteJSON(doc); err != nil {
					return err
				}
			} else {
				whoText(a, doc)
			}
			if len(doc.Problems) > 0 {
				return cli.Exit(cli.ExitError)
			}
			return nil
		},
	}
}

// who collects everything. Errors are among its Problems.
func who(a *cli.App, w cli.AtWork) whoDoc {
	doc := whoDoc{FormatVersion: cli.ViewVersion, Project: w.Root, Agents: []roster.Agent{}, Hidden: []roster.Agent{},
		Contexts: []session.Entry{}, Work: []piece{}, Claims: []ledger.Claim{}, Messages: []openMessage{}, Problems: []string{}}
	problem := func(err error) bool {
		if err != nil {
			doc.Problems = append(doc.Problems, err.Error())
		}
		return err != nil
	}
	here := launch.Everybody(process.System(), w.Root, w.Runtimes)
	doc.Agents, doc.Hidden, doc.Doubts = here.Agents, here.Hidden, here.Doubts()
	list, err := session.List(w.Root, here, session.Context{})
	if !problem(err) {
		doc.Contexts = list
	}
	for _, look := range inHand {
		some, err := look(w.Root)
		problem(err)
		doc.Work = append(doc.Work, some...)
	}
	l, err := ledger.Find(w.Root)
	if errors.Is(err, ledger.ErrNoLedger) {
		return doc
	}
	if problem(err) {
		return doc
	}
	seats, faults := seatsOf(l, doc.Agents)
	doc.Seats = seats
	for _, err := range faults {
		problem(err)
	}
	l.Leases = a.Leases(l.Root)
	if claims, err := l.Claims(); !problem(err) {
		doc.Claims = append(doc.Claims, claims...)
		sort.Slice(doc.Claims, func(i, j int) bool {
			x, y := doc.Claims[i], doc.Claims[j]
			return cmp.Or(strings.Compare(x.Agent, y.Agent), strings.Compare(x.Path, y.Path)) < 0
		})
	}
	if open, err := l.Messages(0, true); !problem(err) {
		for _, m := range open {
			line, _, _ := strings.Cut(strings.TrimSpace(m.Body), "\n")
			doc.Messages = append(doc.Messages, openMessage{m.MessageID, m.From, m.To, m.Type, m.Status, m.TS, line})
		}
	}
	return doc
}

func whoText(a *cli.App, doc whoDoc) {
	section := func(title string, n int, none string) bool {
		if n == 0 {
			a.Printf("%s: %s\n", title, none)
			return false
		}
		a.Printf("%s\n", title)
		return true
	}
	none := "none at work here"
	if len(doc.Doubts) > 0 {
		none = "none that is visible from here"
	}
	if section("agents", len(doc.Agents), none) {
		for _, g := range doc.Agents {
			id := cmp.Or(g.ID, "no id")
			if !g.Known {
				id = "id not known"
			}
			at := "in " + below(doc.Project, g.Cwd)
			if g.Outside != "" {
				at += ", seen by its keeper or its last hook call, " + g.Outside
			}
			if g.Seat != "" && g.ID == "" {
				id = g.Seat
			} else if g.Seat != "" {
				id = g.Seat + ", " + id
			}
			a.Printf("  %s%s process %d %s\n", Pad(termtext.Safe(id), 40), Pad(g.Runtime, 12), g.PID, termtext.Safe(at))
		}
	}
	for _, why := range doc.Doubts {
		a.Printf("  there may be more: %s\n", termtext.Safe(why))
	}
	seatsText(a, doc.Seats)
	if section("session files", len(doc.Contexts), "none") {
		for _, e := range doc.Contexts {
			a.Printf("  %s\n", EntryLine(a, e))
		}
	}
	if section("work in hand", len(doc.Work), "none") {
		for _, p := range doc.Work {
			a.Printf("  %s\n", strings.TrimRight(fmt.Sprintf("%s %s%s  %s", p.Kind, Pad(termtext.Safe(p.Name), 40), termtext.Safe(p.Path), termtext.Safe(p.note)), " "))
		}
	}
	if section("claims", len(doc.Claims), "none") {
		for _, c := range doc.Claims {
			a.Printf("  %s%s since %s%s\n", Pad(termtext.Safe(c.Agent), 40), termtext.Safe(below(doc.Project, c.Path)), termtext.Safe(c.Since), termtext.Safe(c.Note()))
		}
	}
	if section("open messages", len(doc.Messages), "none") {
		for _, m := range doc.Messages {
			a.Printf("  %s to %s, %s, %s: %s (%s)\n", termtext.Safe(m.From), termtext.Safe(m.To), termtext.Safe(m.Type), m.Status, termtext.Safe(m.Text), termtext.Safe(m.ID))
		}
	}
	for _, p := range doc.Problems {
		a.Say("aisync: not shown: %s", termtext.Safe(p))
	}
}

// below returns path relative to root, or as it is if it is outside.
func below(root, path string) string {
	rel, err := filepath.Rel(root, path)
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(os.PathSeparator)) {
		return path
	}
	return rel
}

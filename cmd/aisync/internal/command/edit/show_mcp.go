package edit

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/app/mcpserver"
	"aisync.dev/aisync/app/stack"
	"aisync.dev/aisync/app/stack/place"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/internal/shellquote"
	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/schema/spec"
)

// ShowMCPCommand builds the command show mcp.
func ShowMCPCommand(a *cli.App) *cobra.Command {
	var address string
	cmd := &cobra.Command{
		Use:   "mcp NAME",
		Short: "show what the MCP registry has of a server, and what it asks for",
		Long: `Shows a server of the MCP registry: its newest version, or NAME@VERSION, the
packages and remote servers it offers, and the arguments, variables and headers
that each asks for, with the flag of aisync add mcp that gives it. For a server of
the spec that came from a registry it says whether there is a newer version. A
NAME that is neither lists the servers of the registry whose names contain it.

It asks the registry; with --offline it shows what aisync add mcp was told before.
It writes nothing.`,
		Example:     "  $ aisync show mcp io.github.acme/notes\n  $ aisync show mcp filesystem",
		Annotations: map[string]string{"effect": "read-only"},
		Args:        cli.ExactArgs(1, "the name"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return showMCP(cmd.Context(), a, args[0], address)
		},
	}
	RegisterRegistry(cmd, &address)
	return cmd
}

// shownServer is show mcp --json of one server; see docs/json.md.
type shownServer struct {
	FormatVersion string            `json:"format_version"`
	Registry      string            `json:"registry"`
	Name          string            `json:"name"`
	Version       string            `json:"version"`
	Title         string            `json:"title,omitempty"`
	Description   string            `json:"description"`
	Status        string            `json:"status,omitempty"`
	StatusMessage string            `json:"status_message,omitempty"`
	Kept          bool              `json:"kept"` // the registry was not asked now
	Offers        []mcpserver.Offer `json:"offers"`
	Cannot        []string          `json:"cannot"`  // why other packages are no offer
	InSpec        []specEntry       `json:"in_spec"` // the entries that came from this server
}

// specEntry is an entry of a spec that a registry's server became.
type specEntry struct {
	Name    string      `json:"name"`
	Scope   stack.Scope `json:"scope"`
	Version string      `json:"version"`
	At      string      `json:"at"`
	Newer   bool        `json:"newer"` // the registry's version is another
	from    mcpserver.Source
}

func showMCP(ctx context.Context, a *cli.App, name, address string) error {
	p, err := a.Places()
	if err != nil {
		return err
	}
	entries, made := entriesOf(ctx, a, p)
	src := mcpserver.Source{}
	if mcpserver.IsSource(name) {
		if src, err = mcpserver.ParseSource(name); err != nil {
			return err
		}
	} else {
		i := slices.IndexFunc(entries, func(e specEntry) bool { return e.Name == name })
		switch {
		case i >= 0 && entries[i].Scope == stack.ScopeProject && entries[i].from.Registry != "" && entries[i].from.Registry != NamedRegistry(a, address):
			// A project is input from strangers: nothing that it names is dialed.
			return advice.Command(fmt.Errorf("mcp %s came from the registry %s, which the project names and not you", termtext.Safe(name), termtext.Safe(entries[i].from.Registry)),
				shellquote.Join([]string{"aisync", "show", "mcp", name, "--registry", entries[i].from.Registry}))
		case i >= 0:
			src = mcpserver.Source{Registry: entries[i].from.Registry, Name: entries[i].from.Name}
		case slices.Contains(made, name):
			return fmt.Errorf("mcp %s of the spec came from no registry: it has no field from", termtext.Safe(name))
		default:
			return searchServers(ctx, a, p, name, address)
		}
	}
	registry, src := RegistryOf(a, p, src, address)
	answer, err := registry.Get(ctx, src)
	if err != nil {
		return err
	}
	offers, reasons := answer.Offers()
	doc := shownServer{
		FormatVersion: cli.ViewVersion, Registry: registry.Client.Address(), Name: answer.Name, Version: answer.Version, Title: answer.Title, Description: answer.Description,
		Status: answer.Status, StatusMessage: answer.StatusMessage, Kept: answer.Kept, Offers: offers, Cannot: []string{}, InSpec: []specEntry{},
	}
	for _, r := range reasons {
		text := r.Error()
		if next := advice.Of(r); next != "" {
			text += "; " + next
		}
		doc.Cannot = append(doc.Cannot, text)
	}
	for _, e := range entries {
		if e.from.Name != answer.Name || e.from.Registry != answer.Source.Registry {
			continue
		}
		e.Newer = e.Version != answer.Version
		doc.InSpec = append(doc.InSpec, e)
		if e.from.SHA256 != "" && !e.Newer && !slices.ContainsFunc(offers, func(o mcpserver.Offer) bool { return o.SHA256 == e.from.SHA256 }) {
			a.Say("aisync: warning: %s: the registry has another sha256 for the package of version %s than when it was added", e.At, termtext.Safe(e.Version))
		}
	}
	if a.Flags.JSON {
		return a.WriteJSON(doc)
	}
	doc.print(a)
	return nil
}

// print shows doc to a person.
func (doc shownServer) print(a *cli.App) {
	line := func(prefix, text string) { a.Printf("%s\n", a.Hang(prefix, termtext.Safe(text))) }
	a.Printf("%s\n", a.Paint().Bold(doc.Name+" "+doc.Version))
	for _, text := range []string{doc.Title, doc.Description} {
		if text = termtext.OneLine(text); text != "" {
			line("", text)
		}
	}
	if doc.Status == "deprecated" {
		line("", strings.TrimSuffix("deprecated: "+termtext.OneLine(doc.StatusMessage), ": "))
	}
	for _, e := range doc.InSpec {
		text := fmt.Sprintf("in the %s's spec: %s, version %s (%s)", e.Scope, e.Name, e.Version, e.At)
		if e.Newer {
			text += "; the registry has " + doc.Version
		}
		line("", text)
	}
	for _, o := range doc.Offers {
		a.Printf("\n")
		line("  ", "--package "+o.Package+": "+o.What)
		for _, q := range o.Asks {
			kind := "optional"
			if q.Required {
				kind = "required"
			}
			if q.Secret {
				kind += ", secret"
			}
			line("    "+termtext.Safe(q.Name)+" ", strings.TrimSuffix(fmt.Sprintf("(%s) %s", kind, q.Hint), " "))
			line("      ", q.How)
		}
	}
	for _, text := range doc.Cannot {
		a.Printf("\n")
		line("  cannot be added: ", text)
	}
	if doc.Kept {
		a.Hint("as %s said it before: it was not asked (--offline)", doc.Registry)
	}
}

// entriesOf returns the entries of the specs that came from a registry, and the
// names of the others. A spec that cannot be read has none, with a warning.
func entriesOf(ctx context.Context, a *cli.App, p place.Places) (entries []specEntry, made []string) {
	add := func(scope stack.Scope, list []spec.MCPServer) {
		for _, m := range list {
			src, err := mcpserver.ParseSource(m.From)
			if m.From == "" || err != nil {
				made = append(made, m.Name)
				continue
			}
			entries = append(entries, specEntry{Name: m.Name, Scope: scope, Version: src.Version, At: m.Pos.String(), from: src})
		}
	}
	for _, scope := range []stack.Scope{stack.ScopeProject, stack.ScopeHost} {
		if scope == stack.ScopeProject && p.Project == "" {
			continue
		}
		e := &Editing{App: a, Places: p, Scope: scope}
		s, err := e.load(ctx, nil)
		switch {
		case err != nil:
			a.Say("aisync: warning: the %s's spec is not looked at: %s", scope, termtext.Safe(err.Error()))
		case scope == stack.ScopeProject && s.Project != nil:
			add(scope, s.Project.MCP)
		case scope == stack.ScopeHost && s.Host != nil:
			add(scope, s.Host.MCP)
		}
	}
	return entries, made
}

// foundServer is a row of show mcp --json of a search.
type foundServer struct {
	Name        string `json:"name"`
	Version     string `json:"version"`
	Description string `json:"description"`
	Status      string `json:"status,omitempty"`
}

// maxFound is how many servers a search shows.
const maxFound = 50

// searchServers lists the servers of the registry whose names contain text.
func searchServers(ctx context.Context, a *cli.App, p place.Places, text, address string) error {
	registry, _ := RegistryOf(a, p, mcpserver.Source{}, address)
	found, more, err := registry.Search(ctx, text, maxFound)
	if err != nil {
		return err
	}
	rows := []foundServer{}
	for _, s := range found {
		rows = append(rows, foundServer{s.Name, s.Version, s.Description, s.Status})
	}
	switch {
	case len(rows) == 0:
		return fmt.Errorf("neither the spec nor %s has a server with %q in its name", registry.Client.Address(), termtext.Safe(text))
	case a.Flags.JSON:
		return a.WriteJSON(struct {
			FormatVersion string        `json:"format_version"`
			Registry      string        `json:"registry"`
			More          bool          `json:"more"` // than these
			Servers       []foundServer `json:"servers"`
		}{cli.ViewVersion, registry.Client.Address(), more, rows})
	}
	t := a.Table()
	for _, r := range rows {
		fmt.Fprintf(t, "%s\t%s\t%s\n", r.Name, r.Version, termtext.Safe(termtext.OneLine(r.Description)))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if more {
		a.Hint("the registry has more with %q in their names; type more of it", termtext.Safe(text))
	}
	a.Hint("next: aisync show mcp NAME, or aisync add mcp NAME")
	return nil
}

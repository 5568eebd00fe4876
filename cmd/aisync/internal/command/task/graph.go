package task

import (
	"cmp"
	"maps"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/agents/task"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/internal/termtext"
)

func taskGraph(a *cli.App) *cobra.Command {
	var p taskPlace
	var format string
	cmd := &cobra.Command{
		Use:   "graph",
		Short: "print which task waits for which",
		Long: `Prints each task with the tasks it waits for, as text, as a graph for dot(1), or
as JSON. With --project it prints one queue, and the tasks of others that it
waits for.`,
		Example:     "  $ aisync task graph --format dot | dot -Tsvg > tasks.svg",
		Annotations: map[string]string{"effect": "read-only"},
		Args:        cli.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if a.Flags.JSON {
				format = "json"
			}
			if !slices.Contains([]string{"text", "dot", "json"}, format) {
				return cli.Usagef("--format %q: want text, dot or json", termtext.Safe(format))
			}
			q, err := taskQueue(a, p)
			if err != nil {
				return err
			}
			if p.project != "" {
				if _, err := oneQueue(q, p.project); err != nil {
					return err
				}
			}
			all, err := q.List()
			if err != nil {
				return err
			}
			g := graphOf(q, all, p.project)
			switch format {
			case "json":
				return a.WriteJSON(g)
			case "dot":
				a.Printf("%s", g.dot())
			default:
				a.Printf("%s", g.text())
				if len(g.Nodes) == 0 {
					a.Say("no tasks in %s", termtext.Safe(q.Dir))
				}
			}
			return nil
		},
	}
	p.inProject(cmd, "print only the queue `NAME`")
	cmd.Flags().StringVar(&format, "format", "text", "`FORM` of the output: text, dot or json")
	return cmd
}

// graphDoc is task graph --json. An edge leads from a task to one that it waits for.
type graphDoc struct {
	FormatVersion string      `json:"format_version"`
	Nodes         []graphNode `json:"nodes"`
	Edges         []graphEdge `json:"edges"`
}

type graphNode struct {
	ID      string     `json:"id"`
	Project string     `json:"project,omitempty"`
	State   task.State `json:"state"` // "" for an unknown task
	Free    bool       `json:"free"`
	Never   string     `json:"never,omitempty"` // why it can never start
}

type graphEdge struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// graphOf returns the graph of the queue project, or of all, with what they wait for.
func graphOf(q task.Queue, all []task.Item, project string) graphDoc {
	g := task.NewGraph(all)
	nodes := map[string]graphNode{}
	doc := graphDoc{FormatVersion: cli.ViewVersion, Nodes: []graphNode{}, Edges: []graphEdge{}}
	for _, v := range taskViews(q, all, all) {
		if v.Error != "" || g.State(v.ID) != v.State {
			continue // not a task, or an older file of one
		}
		n := graphNode{ID: v.ID, Project: v.Project, State: v.State, Free: v.Free}
		if len(v.Never) > 0 {
			n.Never = task.Gate{Never: v.Never}.Why(v.ID)
		}
		nodes[v.ID] = n
	}
	var add func(id string)
	seen := map[string]bool{}
	add = func(id string) {
		if seen[id] {
			return
		}
		seen[id] = true
		n, ok := nodes[id]
		if !ok {
			n = graphNode{ID: id}
		}
		doc.Nodes = append(doc.Nodes, n)
		for _, need := range g.Needs(id) {
			doc.Edges = append(doc.Edges, graphEdge{id, need})
			add(need)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(nodes)) {
		if project == "" || nodes[id].Project == project {
			add(id)
		}
	}
	sort.Slice(doc.Nodes, func(i, j int) bool { return doc.Nodes[i].ID < doc.Nodes[j].ID })
	sort.Slice(doc.Edges, func(i, j int) bool {
		return doc.Edges[i].From+"\x00"+doc.Edges[i].To < doc.Edges[j].From+"\x00"+doc.Edges[j].To
	})
	return doc
}

// summary returns the state of a node and why it cannot start.
func (n graphNode) summary() string {
	switch {
	case n.State == "":
		return "no such task"
	case n.Never != "":
		return string(n.State) + ", can never start: " + n.Never
	case n.Free:
		return "queued, free"
	}
	return string(n.State)
}

// text returns each task that no other waits for, with what it waits for below. It
// shows each part once.
func (g graphDoc) text() string {
	node, needs, awaited := map[string]graphNode{}, map[string][]string{}, map[string]bool{}
	for _, n := range g.Nodes {
		node[n.ID] = n
	}
	for _, e := range g.Edges {
		needs[e.From] = append(needs[e.From], e.To)
		awaited[e.To] = true
	}
	var b strings.Builder
	shown := map[string]bool{}
	var show func(id, before, below string)
	show = func(id, before, below string) {
		b.WriteString(termtext.Safe(before + id + "  " + node[id].summary()))
		again := shown[id] && len(needs[id]) > 0
		if again {
			b.WriteString("  (above)")
		}
		b.WriteString("\n")
		if again {
			return
		}
		shown[id] = true
		for n, next := range needs[id] {
			branch, further := "├─ ", "│  "
			if n == len(needs[id])-1 {
				branch, further = "└─ ", "   "
			}
			show(next, below+branch, below+further)
		}
	}
	for _, n := range g.Nodes {
		if !awaited[n.ID] {
			show(n.ID, "", "")
		}
	}
	for _, n := range g.Nodes { // tasks that are only in cycles
		if !shown[n.ID] {
			show(n.ID, "", "")
		}
	}
	return b.String()
}

// dot returns the graph for Graphviz.
// https://graphviz.org/doc/info/lang.html
func (g graphDoc) dot() string {
	colour := map[task.State]string{task.Done: "palegreen", task.Failed: "lightcoral", task.Running: "lightblue", task.Queued: "white", task.Inbox: "lightgrey", "": "orange"}
	var b strings.Builder
	b.WriteString("digraph tasks {\n\trankdir=RL;\n\tnode [shape=box, style=filled];\n")
	for _, n := range g.Nodes {
		b.WriteString("\t" + strconv.Quote(n.ID) + " [label=" + strconv.Quote(n.ID+"\n"+cmp.Or(string(n.State), "no such task")) + ", fillcolor=" + colour[n.State])
		if n.Never != "" {
			b.WriteString(", color=red, tooltip=" + strconv.Quote(n.Never))
		}
		b.WriteString("];\n")
	}
	for _, e := range g.Edges {
		b.WriteString("\t" + strconv.Quote(e.From) + " -> " + strconv.Quote(e.To) + ";\n")
	}
	b.WriteString("}\n")
	return b.String()
}

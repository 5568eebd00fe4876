package executor

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"aisync.dev/aisync/agents/task"
	"aisync.dev/aisync/schema/spec"
)

// EndpointName is the endpoint's name as an executor.
const EndpointName = "endpoint"

// Candidate is one possible executor of a host.
type Candidate struct {
	Name     string   // EndpointName, or the id of a runtime
	Tools    []string // kinds of tools that it has; the endpoint has none
	Executor task.Executor
	Missing  string // why it is unavailable here; "" if it is available
	// Unfit returns why it does a task only when named explicitly, "" if it does
	// the task unasked; nil: it does every task.
	Unfit func(spec.Task) string
}

// TooComplex is the Unfit of the endpoint.
func TooComplex(t spec.Task) string {
	if t.Tier == "moderate" || t.Tier == "complex" {
		return "a " + t.Tier + " task is for a runtime; --executor " + EndpointName + " forces it"
	}
	return ""
}

// Choice gives each task to the first candidate that fits:
//
//	complexity.tier              candidates
//	none, trivial, simple        the endpoint, then runtimes
//	moderate, complex            runtimes
//
// and for each of complexity.required_capabilities:
//
//	edit, or a word that ends so   every candidate can
//	shell, search, fetch, agent …  a runtime that has such a tool; fetch and
//	                               network only where the task allows the network
//	any other                      a program of that name is in PATH
type Choice struct {
	Candidates []Candidate // in the order of preference
	Only       string      // the name of the one that must do it, whatever its tier
	Program    func(name string) bool
}

// Can returns why no candidate can do the task, a line for each reason; nil if
// one can, or if the task has no step for an executor.
func (c Choice) Can(t spec.Task) error {
	for _, s := range t.Steps {
		if s.Action == "edit" {
			_, err := c.choose(t)
			return err
		}
	}
	return nil
}

// Edit implements task.Executor.
func (c Choice) Edit(ctx context.Context, w task.Work) (task.Outcome, error) {
	one, err := c.choose(w.Task)
	if err != nil {
		return task.Outcome{}, err
	}
	return one.Executor.Edit(ctx, w)
}

func (c Choice) choose(t spec.Task) (Candidate, error) {
	var why []string // reasons, in the order of the candidates
	who := map[string][]string{}
	for _, one := range c.Candidates {
		if c.Only != "" && one.Name != c.Only {
			continue
		}
		reason := one.Missing
		if reason == "" {
			reason = c.unfit(one, t)
		}
		if reason == "" {
			return one, nil
		}
		if who[reason] == nil {
			why = append(why, reason)
		}
		who[reason] = append(who[reason], one.Name)
	}
	for i, reason := range why {
		why[i] = strings.Join(who[reason], ", ") + ": " + reason
	}
	if len(why) == 0 {
		why = []string{"none is known"}
	}
	return Candidate{}, fmt.Errorf("no executor here can do the task:\n  %s", strings.Join(why, "\n  "))
}

// unfit returns why a candidate cannot do a task, "" if it can.
func (c Choice) unfit(one Candidate, t spec.Task) string {
	if c.Only == "" && one.Unfit != nil {
		if why := one.Unfit(t); why != "" {
			return why
		}
	}
	for _, capability := range t.Capabilities {
		word := strings.ToLower(strings.TrimSpace(capability))
		switch {
		case word == "edit" || strings.HasSuffix(word, "-edit"):
		case (word == "fetch" || word == "network") && !t.Network:
			return "the task requires " + word + " and does not allow the network"
		case word == "network":
		case slices.Contains(one.Tools, word):
		case isTool(word):
			return "it has no tool for " + word
		case c.Program == nil || !c.Program(capability):
			return "the task requires " + capability + ", which is neither a tool nor a program in PATH"
		}
	}
	return ""
}

// isTool reports whether a word is a kind of tool that runtimes of the catalog
// name.
func isTool(word string) bool {
	return slices.Contains([]string{"shell", "edit", "read", "search", "fetch", "agent"}, word)
}

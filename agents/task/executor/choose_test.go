package executor

import (
	"strings"
	"testing"

	"aisync.dev/aisync/agents/task"
	"aisync.dev/aisync/schema/spec"
)

func TestChoiceTakesFirstFit(t *testing.T) {
	endpoint := Candidate{Name: EndpointName, Unfit: TooComplex}
	opencode := Candidate{Name: "opencode", Tools: []string{"shell", "edit", "read", "search", "fetch", "agent"}}
	plain := Candidate{Name: "plain", Tools: []string{"edit"}}
	absent := Candidate{Name: "opencode", Missing: "it is not installed"}
	for name, c := range map[string]struct {
		tier    string
		needs   []string
		network bool
		from    []Candidate
		only    string
		is      string // "" none
		says    string
	}{
		"nothing said":               {from: []Candidate{endpoint, opencode}, is: "endpoint"},
		"trivial":                    {tier: "trivial", from: []Candidate{endpoint, opencode}, is: "endpoint"},
		"simple":                     {tier: "simple", from: []Candidate{endpoint, opencode}, is: "endpoint"},
		"moderate":                   {tier: "moderate", from: []Candidate{endpoint, opencode}, is: "opencode"},
		"complex":                    {tier: "complex", from: []Candidate{endpoint, opencode}, is: "opencode"},
		"complex, no runtime":        {tier: "complex", from: []Candidate{endpoint, absent}, says: "opencode: it is not installed"},
		"complex, on demand":         {tier: "complex", from: []Candidate{endpoint, opencode}, only: "endpoint", is: "endpoint"},
		"no endpoint":                {tier: "simple", from: []Candidate{{Name: EndpointName, Missing: "none is named"}, opencode}, is: "opencode"},
		"python-edit and a program":  {needs: []string{"python-edit", "pytest"}, from: []Candidate{endpoint}, is: "endpoint"},
		"a program that is not here": {needs: []string{"system-admin"}, from: []Candidate{endpoint, opencode}, says: "requires system-admin, which is neither a tool nor a program"},
		"a tool":                     {needs: []string{"shell"}, from: []Candidate{endpoint, plain, opencode}, is: "opencode"},
		"a tool that none has":       {needs: []string{"search"}, from: []Candidate{endpoint, plain}, says: "it has no tool for search"},
		"fetch without a network":    {needs: []string{"fetch"}, from: []Candidate{opencode}, says: "does not allow the network"},
		"fetch with one":             {needs: []string{"fetch"}, network: true, from: []Candidate{endpoint, opencode}, is: "opencode"},
		"one that is not there":      {from: []Candidate{endpoint, absent}, only: "opencode", says: "it is not installed"},
		"an unknown one":             {from: []Candidate{endpoint}, only: "unknown", says: "none is known"},
	} {
		choice := Choice{Candidates: c.from, Only: c.only, Program: func(name string) bool { return name == "pytest" }}
		work := spec.Task{ID: "t1", Tier: c.tier, Capabilities: c.needs, Network: c.network, Steps: []spec.TaskStep{{Action: "edit"}}}
		one, err := choice.choose(work)
		if can := choice.Can(work); (can == nil) != (err == nil) {
			t.Errorf("%s: chosen with error %v, can with %v", name, err, can)
		}
		if one.Name != c.is || (err == nil) != (c.is != "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %q, error %v", name, one.Name, err)
		}
	}
	three := Choice{Candidates: []Candidate{absent, endpoint, {Name: "aider", Missing: "it is not installed"}}}
	const lines = "no executor here can do the task:\n  opencode, aider: it is not installed\n  endpoint: a complex task is for a runtime; --executor endpoint forces it"
	if err := three.Can(spec.Task{Tier: "complex", Steps: []spec.TaskStep{{Action: "edit"}}}); err == nil || err.Error() != lines {
		t.Errorf("each reason is not said once: %v", err)
	}
	if err := (Choice{}).Can(spec.Task{Steps: []spec.TaskStep{{Action: "run"}}}); err != nil {
		t.Errorf("a task without words needs an executor: %v", err)
	}
	if _, err := (Choice{}).Edit(t.Context(), task.Work{}); err == nil {
		t.Error("a step was done without an executor")
	}
}

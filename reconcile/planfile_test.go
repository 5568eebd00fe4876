package reconcile

import (
	"fmt"
	"strings"
	"testing"
)

// Changes are explained in parallel; each keeps its own lines, in the order of the
// plan, and a change without an action is not explained.
func TestEachChangeKeepsItsLines(t *testing.T) {
	for _, n := range []int{0, 1, 32, 33, 100} {
		p := &Plan{}
		for i := range n {
			p.Changes = append(p.Changes,
				Change{Target: Target{Resource: Resource{Address: Address(fmt.Sprintf("file:a%03d", i))}}, Action: Create},
				Change{Target: Target{Resource: Resource{Address: Address(fmt.Sprintf("file:b%03d", i))}}, Action: None})
		}
		doc := p.Doc(PlanMeta{}, func(c Change) []Line { return []Line{{Op: '+', Text: c.Target.Resource.Address.Name()}} })
		if len(doc.Changes) != n {
			t.Fatalf("%d rows of %d changes", len(doc.Changes), n)
		}
		for i, row := range doc.Changes {
			if want := fmt.Sprintf("a%03d", i); row.Address.Name() != want || len(row.Lines) != 1 || row.Lines[0].Text != want {
				t.Errorf("row %d of %d: %s has the lines %v", i, n, row.Address, row.Lines)
			}
		}
	}
}

// A bug in a provider that explains reaches the caller, which reports it.
func TestAPanicOfExplainReachesTheCaller(t *testing.T) {
	defer func() {
		if p := recover(); p == nil || !strings.Contains(fmt.Sprint(p), "odd") {
			t.Errorf("recovered %v", p)
		}
	}()
	p := &Plan{Changes: []Change{{Target: Target{Resource: Resource{Address: "file:a"}}, Action: Create}}}
	p.Doc(PlanMeta{}, func(Change) []Line { panic("odd") })
}

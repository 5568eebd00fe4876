package realcli

import (
	"testing"

	"aisync.dev/aisync/internal/fakemodel"
)

// What a session sent decides the cell of a scoped rule.
func TestScopedRuleCell(t *testing.T) {
	w := &world{t: t, project: t.TempDir()}
	w.write(w.project, ".rules/zig.md", "Keep to "+mark("tree", "scoped")+".\n")
	rule := mark("tree", "scoped")
	for _, c := range []struct {
		want   string
		bodies []string
	}{
		{missing, nil},
		{missing, []string{"x", "x y"}},
		{always, []string{"a title, please", rule, rule + " x"}},
		{named, []string{"a title, please", "read .rules/zig.md", "read .rules/zig.md x"}},
		{loaded, []string{"x", "x " + rule}},
		{always, []string{rule, rule + " x"}},
		{twice, []string{"x", rule + rule}},
		{twice, []string{rule, rule + rule}},
		{named, []string{"read .rules/zig.md", "read .rules/zig.md x"}},
		{loaded, []string{"read .rules/zig.md", "read .rules/zig.md " + rule}},
	} {
		var requests []fakemodel.Request
		for i, body := range c.bodies { // the last one has the result of the tool
			requests = append(requests, fakemodel.Request{Body: []byte(body), Turn: map[bool]int{true: 1}[i == len(c.bodies)-1]})
		}
		if got := w.scopedIn(requests); got != c.want {
			t.Errorf("%q: %s, want %s", c.bodies, got, c.want)
		}
	}
}

// A tool counts under each name that the model is offered, and once where its name
// is only in a text.
func TestOfferedTools(t *testing.T) {
	m := mark("tree", "tool")
	for _, c := range []struct {
		want  int
		tools []string
		body  string
	}{
		{0, []string{"bash"}, "x"},
		{1, []string{"bash", "srv_" + m}, m + m},
		{2, []string{"one_" + m, "two_" + m}, ""},
		{1, nil, "find it: " + m + ", " + m},
	} {
		q := fakemodel.Request{Tools: c.tools, Body: []byte(c.body)}
		if got := offered([]fakemodel.Request{q, q}, m); got != c.want {
			t.Errorf("%v, %q: %d, want %d", c.tools, c.body, got, c.want)
		}
	}
}

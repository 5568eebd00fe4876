package hook

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The fields are those of Claude Code 2.1.329, from the schemas in its program.
func TestTeamEventsAreMirrored(t *testing.T) {
	b := newBench(t)
	b.start("lead")
	call := func(event string, in map[string]any) {
		t.Helper()
		in["session_id"], in["hook_event_name"], in["team_name"] = "lead", event, "session-1"
		if got := b.call("claude", event, in); got.errs != "" || got.Decision != "" || got.Specific.Event != "" {
			t.Errorf("%s: %+v", event, got)
		}
	}
	idle := func(name string) { t.Helper(); call("TeammateIdle", map[string]any{"teammate_name": name}) }
	call("TaskCreated", map[string]any{"task_id": "1", "task_subject": "Review\nthe \x1b[31mauth", "task_description": "never mirrored"})
	call("TaskCreated", map[string]any{"task_id": "2", "task_subject": strings.Repeat("long ", 200), "teammate_name": "reviewer"})
	idle("reviewer")
	idle("reviewer")
	idle("tester")
	idle("")
	call("TaskCompleted", map[string]any{"task_id": "1", "task_subject": "Review", "teammate_name": "reviewer"})
	idle("reviewer")
	idle("tester")
	call("TaskCompleted", map[string]any{"task_id": 7})

	board, err := b.ledger.Board()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range regexp.MustCompile(`(?m)^## \S+ — (\S+) \[note\]\n\n(.*)$`).FindAllStringSubmatch(board, -1) {
		got = append(got, m[1]+": "+m[2][:min(len(m[2]), 60)])
	}
	want := []string{
		"claude: team task 1 created: Review the", "claude: team task 2 created by reviewer: long long long long long l",
		"claude: teammate reviewer is idle", "claude: teammate tester is idle", "claude: team task 1 completed by reviewer: Review",
		"claude: teammate reviewer is idle", "claude: team task without an id completed",
	}
	if !slices.EqualFunc(got, want, func(a, b string) bool { return strings.HasPrefix(a, b) }) {
		t.Errorf("%q", got)
	}
	if strings.Contains(board, "never mirrored") || strings.Contains(board, "\x1b") || len(board) > 2500 {
		t.Error(board)
	}
}

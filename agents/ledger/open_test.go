package ledger

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestOpenMessagesAreThoseOfTheWholeHistory compares them, for random trails in two
// files, with the open ones of all messages.
func TestOpenMessagesAreThoseOfTheWholeHistory(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		l := fresh(t)
		var lines []string
		sent := []string{""}
		for i := range 40 {
			id := fmt.Sprintf("msg_%016x", r.IntN(12))
			ts := fmt.Sprintf("2026-01-01T00:00:%02d.000Z", r.IntN(60))
			switch r.IntN(8) {
			case 0:
				lines = append(lines, `{"torn":`)
			case 1, 2:
				lines = append(lines, fmt.Sprintf(`{"ts":%q,"action":"ack","from":"b","messageId":%q,"body":"so \"so\" %d"}`, ts, id, i))
			case 3:
				lines = append(lines, fmt.Sprintf(`{"ts":%q,"action":"done","from":"b","messageId":%q}`, ts, id))
			case 4:
				lines = append(lines, fmt.Sprintf(`{"ts":%q,"action":"send","from":"a","to":"b","type":"note","body":"n","messageId":%q}`, ts, id))
			default:
				lines = append(lines, fmt.Sprintf(`{"ts":%q,"action":"send","from":"a","to":"b","type":"handoff","body":"é %d\u00e9","messageId":%q,"replyTo":%q}`, ts, i, id, sent[r.IntN(len(sent))]))
				if !slices.Contains(sent, id) {
					sent = append(sent, id)
				}
			}
		}
		cut := r.IntN(len(lines))
		write(t, l, "audit.2025.jsonl", strings.Join(lines[:cut], "\n")+"\n")
		write(t, l, auditFile, strings.Join(lines[cut:], "\n"))

		all := map[string]bool{}
		have, err := l.Messages(0, true)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range have {
			all[m.MessageID] = true
		}
		closed := map[string]bool{}
		var want []Thread
		whole := threads{}
		for e, err := range l.Events() {
			if err != nil {
				t.Fatal(err)
			}
			if e.Action == "done" {
				closed[e.MessageID] = true
			}
			if e.Action != "send" || actionable(e.Type) {
				whole.add(e)
			}
		}
		for _, m := range whole.list() {
			if m.first = 0; m.Open() && !closed[m.MessageID] {
				want = append(want, m)
			}
		}
		if len(have)+len(want) > 0 && !reflect.DeepEqual(have, want) {
			t.Fatalf("seed %d:\n%+v\nwant\n%+v", seed, have, want)
		}
		if some, err := l.Messages(2, true); err != nil || !reflect.DeepEqual(some, have[max(0, len(have)-2):]) && len(have) > 0 {
			t.Errorf("seed %d: the last two: %+v %v", seed, some, err)
		}
	}
}

func write(t *testing.T, l *Ledger, file, text string) {
	t.Helper()
	if err := os.WriteFile(l.path(file), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestOverviewStaysWhileTheLedgerIsCompacted(t *testing.T) {
	l := fresh(t)
	for i := range 20 {
		if _, err := l.Send(Message{From: "pi", To: "codex", Type: "handoff", Body: fmt.Sprint(i)}); err != nil {
			t.Fatal(err)
		}
	}
	o, err := l.Overview(3)
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	if _, n, err := l.Compact(time.Now().Add(time.Hour), "pi"); err != nil || n == 0 {
		t.Fatal(n, err)
	}
	n := 0
	for m, err := range o.OpenMessages.All() {
		if err != nil || m.Body != fmt.Sprint(n) {
			t.Fatalf("message %d: %+v %v", n, m, err)
		}
		n++
	}
	if n != 20 || len(o.Recent) != 3 || !strings.Contains(o.Recent[2].Summary, ": 19") {
		t.Errorf("%d messages, recent: %+v", n, o.Recent)
	}
	if text, err := json.Marshal(o.OpenMessages); err != nil || strings.Count(string(text), `"messageId"`) != 20 {
		t.Errorf("%s %v", text, err)
	}
}

func TestOverviewReportsATrailThatIsCutShort(t *testing.T) {
	l := fresh(t)
	if _, err := l.Send(Message{From: "pi", To: "codex", Type: "handoff", Body: "x"}); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"", strings.Repeat("x", 2000)} {
		o, err := l.Overview(1)
		if err != nil {
			t.Fatal(err)
		}
		defer o.Close()
		was, err := l.read(auditFile)
		if err != nil {
			t.Fatal(err)
		}
		write(t, l, auditFile, text)
		for m, err := range o.OpenMessages.All() {
			if err == nil || !strings.Contains(err.Error(), "run the command again") {
				t.Errorf("%q: %+v %v", text, m, err)
			}
		}
		write(t, l, auditFile, string(was))
	}
}

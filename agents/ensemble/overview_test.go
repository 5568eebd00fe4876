package ensemble

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"testing"

	"aisync.dev/aisync/agents/ledger"
)

func TestOverviewJSONIsThatOfTheEncoder(t *testing.T) {
	for _, n := range []int{0, 1, 3} {
		l, _, err := ledger.Init(t.TempDir(), "pi")
		if err != nil {
			t.Fatal(err)
		}
		for i := range n {
			rec, err := l.Send(ledger.Message{From: "pi", To: "codex", Type: "question", Body: fmt.Sprintf("is <a> & \"openMessages\": [] so?\n%d\u2028", i)})
			if err != nil {
				t.Fatal(err)
			}
			var sent struct{ MessageID string }
			if err := json.Unmarshal(rec, &sent); err != nil {
				t.Fatal(err)
			}
			if _, err := l.Ack("codex", sent.MessageID, "soon"); err != nil {
				t.Fatal(err)
			}
		}
		o, err := l.Overview(2)
		if err != nil {
			t.Fatal(err)
		}
		defer o.Close()
		var got, want bytes.Buffer
		w := bufio.NewWriter(&got)
		if err := overviewJSON(w, o); err != nil {
			t.Fatal(err)
		}
		w.Flush()
		if err := (&call{Program: Program{Out: &want}}).json(o); err != nil {
			t.Fatal(err)
		}
		if got.String() != want.String() {
			t.Errorf("%d messages:\n%s\nwant\n%s", n, &got, &want)
		}
	}
}

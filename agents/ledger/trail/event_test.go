package trail

import (
	"encoding/json"
	"strings"
	"testing"

	"aisync.dev/aisync/agents/ledger/jsontext"
)

// A line is a record exactly where encoding/json reads it as an object with an
// action, and the fields are those that it finds.
func FuzzEvent(f *testing.F) {
	for _, s := range []string{
		`{"ts":"2026-11-21T07:47:44.919Z","action":"init","actor":"pi","root":"/project"}`,
		`{"ts":"t","action":"claim","agent":"pi","path":"/a","previous":{"agent":"b","since":"c"},"force":true}`,
		`{"action":"note","body":"\u00e9\ud83d\ude00\n\"\\"}`, `{"action":"x","body":"\q"}`, `{"action":null}`, `{"action":"a","n":[1,{"b":"]"}]}`,
		`{"action":"a","action":"b"}`, `null`, `{}`, `[]`, `{"a`, `{"action":"a"}x`, "\t{ \"action\" :\t\"a\"\r}", `{"action":"a","force":01}`, `{"action":"a","to":5}`,
		`{"action":"a","from":"` + "\xff" + `"}`, `{"action":"a","x":tru}`, `{"action":"a",}`, `{"action":"a" "b":1}`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, line string) {
		e := Parse([]byte(line))
		var want map[string]json.RawMessage
		err := json.Unmarshal([]byte(line), &want)
		var action string
		isRecord := err == nil && want != nil
		for _, key := range []string{"ts", "action", "agent", "from", "to", "type", "body", "messageId", "replyTo", "path", "by", "reason", "archivedTo"} {
			var s *string
			if v, there := want[key]; there && json.Unmarshal(v, &s) != nil {
				isRecord = false
			} else if key == "action" && s != nil {
				action = *s
			}
		}
		isRecord = isRecord && action != ""
		// A key may be written with escapes, and of one that is there twice both
		// values count: neither is ever written.
		if strings.Contains(line, `\u`) || strings.Count(line, `"action"`) != 1 {
			return
		}
		if (e.Malformed == nil) != isRecord && !doubledKey([]byte(line)) {
			t.Errorf("%q: %v, and encoding/json says %v, %v", line, e.Malformed, isRecord, err)
		}
		if e.Malformed == nil && e.Action != action {
			t.Errorf("%q: action %q, want %q", line, e.Action, action)
		}
	})
}

func doubledKey(line []byte) bool {
	seen, twice := map[string]bool{}, false
	_ = jsontext.Fields(line, func(key, _ []byte) error { twice = twice || seen[string(key)]; seen[string(key)] = true; return nil })
	return twice
}

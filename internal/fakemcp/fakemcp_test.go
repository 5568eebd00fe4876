package fakemcp

import (
	"strings"
	"testing"
)

func TestASession(t *testing.T) {
	in := `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":"a","method":"tools/list"}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo","arguments":{"text":"hello"}}}
{"jsonrpc":"2.0","id":3,"method":"resources/list"}
`
	var out strings.Builder
	if err := Serve(strings.NewReader(in), &out, "srv", "echo"); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	for i, want := range []string{`"protocolVersion":"2025-06-18"`, `"name":"echo"`, `echo says hello`, `-32601`} {
		if i >= len(lines) || !strings.Contains(lines[i], want) {
			t.Fatalf("answer %d is not %s:\n%s", i, want, out.String())
		}
	}
	if len(lines) != 4 {
		t.Errorf("%d answers to 4 calls and a notification", len(lines))
	}
}

package acp

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"aisync.dev/aisync/agents/identity"
	"aisync.dev/aisync/agents/launch"
	"aisync.dev/aisync/agents/ledger"
	"aisync.dev/aisync/agents/process"
	"aisync.dev/aisync/agents/seat"
	"aisync.dev/aisync/agents/wake"
)

// TestMain is the agent, too: it answers each request, tells of each prompt in an
// update, and ends with its input and the exit code 7.
func TestMain(m *testing.M) {
	if os.Getenv("ACP_TEST_AGENT") == "" {
		os.Exit(m.Run())
	}
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		var q struct {
			ID     json.RawMessage
			Method string
			Params struct{ Prompt []struct{ Text string } }
		}
		if err := json.Unmarshal(in.Bytes(), &q); err != nil {
			os.Exit(1)
		}
		for _, p := range q.Params.Prompt {
			fmt.Printf(`{"jsonrpc":"2.0","method":"session/update","params":{"got":%q,"seat":%q}}`+"\n", p.Text, os.Getenv(identity.VarLedger))
		}
		fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"sessionId":"s1"}}`+"\n", q.ID)
	}
	os.Exit(7)
}

func TestServedAgentHasSeatAndIsWoken(t *testing.T) {
	root := t.TempDir()
	if _, _, err := ledger.Init(root, "desk"); err != nil {
		t.Fatal(err)
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	in, client, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	defer client.Close()
	shown, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer shown.Close()
	run := launch.Runner{
		Start:   launch.Start{Root: root, Dir: root, Role: "agent", Runtime: "claude", Command: []string{program}, Environment: map[string]string{"ACP_TEST_AGENT": "1"}},
		Environ: map[string]string{"PATH": os.Getenv("PATH"), identity.VarLedger: "desk"},
		Streams: launch.Streams{Err: os.Stderr},
	}
	ended := make(chan int, 1)
	go func() {
		code, err := Serve(t.Context(), run, in, out, t.Logf)
		if err != nil {
			t.Error(err)
		}
		out.Close()
		ended <- code
	}()
	lines := linesOf(shown)
	e := &ends{t: t}
	e.write(client, `{"jsonrpc":"2.0","id":1,"method":"session/new","params":{}}`+"\n")
	if got := e.next(lines); !strings.Contains(got, `"id":1,"result":{"sessionId":"s1"}`) {
		t.Fatal(got)
	}
	room := seat.At(process.System(), root, time.Now())
	if err := wake.Ring(room.Bell("desk"), "# ping"); err != nil {
		t.Fatal(err)
	}
	if got := e.next(lines); !strings.Contains(got, `"got":"# ping","seat":"desk"`) {
		t.Fatal(got)
	}
	client.Close()
	if got := e.next(lines); got != "" {
		t.Error("the answer to the ping shows:", got)
	}
	if code := <-ended; code != 7 {
		t.Errorf("exit code %d", code)
	}
	if _, err := os.Lstat(room.Bell("desk")); !os.IsNotExist(err) {
		t.Error("the pipe stays:", err)
	}
	var s seat.Seat
	if err := room.Read("desk", &s); err != nil || !s.Ended {
		t.Errorf("%+v %v", s, err)
	}
}

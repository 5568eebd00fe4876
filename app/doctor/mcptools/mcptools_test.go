package mcptools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"aisync.dev/aisync/internal/fakemcp"
	"aisync.dev/aisync/internal/netjail"
)

func TestMain(m *testing.M) {
	if netjail.IsInside(os.Args) {
		os.Exit(netjail.Main(os.Args))
	}
	if os.Getenv("BE_A_SERVER") != "" {
		fmt.Println("Starting…") // as some servers do, though they must not
		if err := fakemcp.Serve(os.Stdin, os.Stdout, "srv", "echo"); err != nil {
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// script is a server that is a shell script. answer ID RESULT answers.
func script(t *testing.T, text string) Local {
	t.Helper()
	const hello = "answer() { printf '{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":%s}\\n' \"$1\" \"$2\"; }\n" +
		"hello() { read -r _; answer 1 '{\"capabilities\":{\"tools\":{}}}'; read -r _; read -r _; }\n"
	return Local{Argv: []string{"/bin/sh", "-c", hello + text}, Env: []string{"PATH=" + os.Getenv("PATH")}, Dir: t.TempDir()}
}

func TestToolsOfALocalServer(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	real := Local{Argv: []string{self}, Env: []string{"BE_A_SERVER=1"}, Dir: t.TempDir(), Version: "test"}
	if tools, err := real.Tools(context.Background()); err != nil || !slices.Equal(tools, []string{"echo"}) {
		t.Errorf("%q, %v", tools, err)
	}
	for name, c := range map[string]struct {
		script string
		want   []string
		wrong  string
	}{
		"two pages":         {script: `hello; answer 2 '{"tools":[{"name":"a"}],"nextCursor":"x"}'; read -r q; case $q in *'"cursor":"x"'*) answer 3 '{"tools":[{"name":"b"}]}';; esac`, want: []string{"a", "b"}},
		"without tools":     {script: `read -r _; answer 1 '{"capabilities":{}}'; read -r _`},
		"asks back":         {script: `read -r _; echo '{"jsonrpc":"2.0","id":9,"method":"ping"}'; read -r a; case $a in *'"id":9,"result":{}'*) answer 1 '{"capabilities":{"tools":{}}}';; esac; read -r _; read -r _; answer 2 '{"tools":[{"name":"a"}]}'`, want: []string{"a"}},
		"ends at once":      {script: "echo 'no token: \033[31mset TOKEN' >&2; exit 3", wrong: `; its last words: no token: \x1b[31mset TOKEN`},
		"throws":            {script: `printf 'x\nError: no such folder /a {\n  errno: -2\n}\n' >&2; exit 1`, wrong: "; its last words: Error: no such folder /a {"},
		"says something":    {script: "echo hello; echo '{}'; echo '[1]'", wrong: "it ended before it answered"},
		"refuses":           {script: `read -r _; printf '{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"no\nway"}}\n'`, wrong: "it ended before it answered"},
		"refuses in a line": {script: `read -r _; echo '{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"not today"}}'`, wrong: "initialize: the server answers with error -32000: not today"},
		"another form":      {script: `hello; answer 2 '{"tools":{"a":1}}'`, wrong: "tools/list: the answer is in an unknown form"},
		"without an end":    {script: `hello; i=2; while :; do answer $i '{"tools":[{"name":"a"}],"nextCursor":"x"}'; read -r _ || exit; i=$((i+1)); done`, wrong: "does not end"},
		"a long line":       {script: `head -c 9000000 /dev/zero | tr '\0' x; echo`, wrong: "token too long"},
	} {
		got, err := script(t, c.script).Tools(context.Background())
		if c.wrong == "" && (err != nil || !slices.Equal(got, c.want)) || c.wrong != "" && (err == nil || !strings.Contains(err.Error(), c.wrong)) {
			t.Errorf("%s: %q, %v, want %q %q", name, got, err, c.want, c.wrong)
		}
	}
	if _, err := (Local{Argv: []string{filepath.Join(t.TempDir(), "none")}}).Tools(context.Background()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no such program: %v", err)
	}
}

// A server that is started alone names its tools, and reaches nothing.
func TestServerAloneReachesNothing(t *testing.T) {
	outside := httptest.NewServer(http.NotFoundHandler())
	defer outside.Close()
	at := strings.TrimPrefix(outside.URL, "http://")
	host, port, _ := strings.Cut(at, ":")
	dial := `if (exec 3<>/dev/tcp/` + host + `/` + port + `) 2>/dev/null; then n=reached; else n=alone; fi; hello; answer 2 '{"tools":[{"name":"'$n'"}]}'`
	l := script(t, dial)
	l.Argv[0] = "/bin/bash"
	if _, err := os.Stat(l.Argv[0]); err != nil {
		t.Skip("needs bash")
	}
	if tools, err := l.Tools(context.Background()); err != nil || !slices.Equal(tools, []string{"reached"}) {
		t.Errorf("with a network: %q, %v", tools, err)
	}
	l.Alone = true
	tools, err := l.Tools(context.Background())
	if errors.Is(err, netjail.ErrNone) {
		t.Skip("needs user namespaces that the machine does not allow everybody")
	}
	if err != nil || !slices.Equal(tools, []string{"alone"}) {
		t.Errorf("alone: %q, %v", tools, err)
	}
	l.Argv = []string{filepath.Join(t.TempDir(), "none")}
	if _, err := l.Tools(context.Background()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no such program: %v", err)
	}
}

// A server that does not end is killed, with what it started.
func TestServerIsEndedWithItsChildren(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 500*time.Millisecond)
	defer cancel()
	l := script(t, `trap '' TERM; sh -c 'trap "" TERM; echo $$ >child; while :; do sleep 1; done' & while :; do sleep 1; done`)
	_, err := l.Tools(ctx)
	if err == nil || !strings.Contains(err.Error(), "did not answer in time") {
		t.Errorf("%v", err)
	}
	pid, err := os.ReadFile(filepath.Join(l.Dir, "child"))
	if err != nil {
		t.Fatal(err)
	}
	for range 100 {
		state, err := os.ReadFile("/proc/" + strings.TrimSpace(string(pid)) + "/stat")
		if err != nil || strings.Contains(string(state), ") Z ") {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Errorf("process %s is left", pid)
}

func TestToolsOfARemoteServer(t *testing.T) {
	type object = map[string]any
	reply := func(w http.ResponseWriter, stream bool, id json.RawMessage, result object) {
		b, _ := json.Marshal(object{"jsonrpc": "2.0", "id": id, "result": result})
		if !stream {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(b)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, ": hello\n\nevent: message\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}\n\ndata: %s\ndata: %s\n\n", b[:9], b[9:])
	}
	serve := func(stream bool) (*httptest.Server, *[]string) {
		var seen []string
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			var m struct {
				ID     json.RawMessage
				Method string
			}
			_ = json.NewDecoder(r.Body).Decode(&m) // nothing, with DELETE
			seen = append(seen, strings.Join([]string{r.Method, m.Method, r.Header.Get("Mcp-Session-Id"), r.Header.Get("X-Key")}, " "))
			switch m.Method {
			case "initialize":
				w.Header().Set("Mcp-Session-Id", "s1")
				reply(w, stream, m.ID, object{"capabilities": object{"tools": object{}}})
			case "tools/list":
				reply(w, stream, m.ID, object{"tools": []object{{"name": "far"}}})
			default:
				w.WriteHeader(http.StatusAccepted)
			}
		}))
		t.Cleanup(s.Close)
		return s, &seen
	}
	for _, stream := range []bool{false, true} {
		s, seen := serve(stream)
		tools, err := Remote{URL: s.URL, Headers: http.Header{"X-Key": {"k"}}, Client: s.Client()}.Tools(context.Background())
		if err != nil || !slices.Equal(tools, []string{"far"}) {
			t.Errorf("stream %v: %q, %v", stream, tools, err)
		}
		if want := []string{"POST initialize  k", "POST notifications/initialized s1 k", "POST tools/list s1 k", "DELETE  s1 k"}; !slices.Equal(*seen, want) {
			t.Errorf("stream %v: asked %q", stream, *seen)
		}
	}
	for code, want := range map[int]string{401: "wants a login", 500: "answered 500", 200: "something else than a message"} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code); fmt.Fprint(w, "<html>") }))
		_, err := Remote{URL: s.URL + "/?key=hunter2", Client: s.Client()}.Tools(context.Background())
		if err == nil || !strings.Contains(err.Error(), want) || errors.Is(err, ErrLogin) != (code == 401) {
			t.Errorf("%d: %v", code, err)
		}
		s.Close()
		if _, err := (Remote{URL: s.URL + "/?key=hunter2", Client: s.Client()}).Tools(context.Background()); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("closed: %v", err)
		}
	}
}

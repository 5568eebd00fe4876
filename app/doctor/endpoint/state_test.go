package endpoint

import (
	"context"
	"net"
	"testing"
	"time"
)

func TestStateOfServers(t *testing.T) {
	for name, c := range map[string]struct {
		status     int
		kind, body string
		want       State
	}{
		"a list":     {200, "application/json", `{"data":[]}`, Answering},
		"a key":      {401, "application/json", `{"error":"no key"}`, Answering},
		"loading":    {503, "application/json", `{"error":{"message":"Loading model"}}`, Reading},
		"a failure":  {500, "", "", Silent},
		"a web page": {200, "text/html", "<title>Pay for the Wi-Fi</title>", Silent},
	} {
		if got := answering(t, c.status, c.kind, c.body).State(context.Background()); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
	if got := (Endpoint{URL: "http://127.0.0.1:1/v1", Client: Client(true)}).State(context.Background()); got != Silent {
		t.Errorf("nothing: %d", got)
	}
}

func TestReachable(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	up, down := l.Addr().String(), "127.0.0.1:1"
	begin := time.Now()
	for _, c := range []struct {
		hosts []string
		proxy string
		want  bool
	}{
		{[]string{down, up}, "", true},
		{[]string{down}, "", false},
		{[]string{down}, "http://" + up, true},
		{[]string{up}, "http://me:word@" + down, false},
		{[]string{up}, "nonsense", true},
		{[]string{"192.0.2.1:9"}, "", false}, // answers nobody: RFC 5737
	} {
		if got := Reachable(context.Background(), c.hosts, c.proxy); got != c.want {
			t.Errorf("%q by %q: %v", c.hosts, c.proxy, got)
		}
	}
	if took := time.Since(begin); took > 2*LookLimit {
		t.Errorf("it took %s", took)
	}
}

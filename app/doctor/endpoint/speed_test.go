package endpoint

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func TestSpeedIsTheServersOrTheClocks(t *testing.T) {
	p := Prefill{Tokens: 400, TokensPerSecond: 100, ByServer: true}
	for name, c := range map[string]struct {
		body     string
		answer   int
		rate     float64
		byServer bool
		err      error
	}{
		"the server's timings":      {`{"timings": {"predicted_n": 64, "predicted_per_second": 41.5}, "usage": {"completion_tokens": 64}}`, 64, 41.5, true, nil},
		"the clock":                 {`{"usage": {"prompt_tokens": 100, "completion_tokens": 30}}`, 30, 10, false, nil},
		"another API's count":       {`{"usage": {"input_tokens": 200, "output_tokens": 4}}`, 4, 2, false, nil},
		"one token":                 {`{"usage": {"prompt_tokens": 10, "completion_tokens": 1}}`, 0, 0, false, errUnwritten},
		"a prompt that took it all": {`{"usage": {"prompt_tokens": 400, "completion_tokens": 30}}`, 0, 0, false, errUnwritten},
	} {
		s, err := speedOf([]byte(c.body), 4*time.Second, p)
		if !errors.Is(err, c.err) || s.Answer != c.answer || s.AnswerTokensPerSecond != c.rate || s.ByServer != c.byServer {
			t.Errorf("%s: %+v, %v", name, s, err)
		}
	}
	if _, err := speedOf([]byte("<html>"), time.Second, p); err == nil {
		t.Error("a page was taken for an answer")
	}
}

func TestBenchAsksForALongAnswer(t *testing.T) {
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b := new(strings.Builder)
		_ = r.Write(b)
		asked = append(asked, b.String())
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"choices": [{"message": {"content": "yes"}}], "timings": {"prompt_n": 412, "prompt_per_second": 800, "predicted_n": 64, "predicted_per_second": 41.5}}`)
	}))
	defer server.Close()
	s, err := Endpoint{URL: server.URL + "/v1", Client: Client(true)}.Bench(t.Context(), "coder")
	if err != nil || s.TokensPerSecond != 800 || s.AnswerTokensPerSecond != 41.5 || s.Tokens != 412 {
		t.Errorf("%+v, %v", s, err)
	}
	if last := asked[len(asked)-1]; len(asked) != 3 || !strings.Contains(last, `"max_tokens":64`) || !strings.Contains(last, `"cache_prompt":false`) {
		t.Errorf("asked %q", asked)
	}
}

package endpoint

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

func TestMeasure(t *testing.T) {
	for name, c := range map[string]struct {
		answer string // to the second prompt
		want   Prefill
		err    error
	}{
		"timings of llama-server": {`{"choices": [{"message": {"content": "y"}}], "usage": {"prompt_tokens": 409}, "timings": {"prompt_n": 409, "prompt_per_second": 81.8}}`, Prefill{409, 81.8, true}, nil},
		"a server without tokens": {`{"choices": [{"message": {"content": "y"}}]}`, Prefill{}, errUncounted},
	} {
		t.Run(name, func(t *testing.T) {
			asked := 0
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				var ask struct {
					Messages []struct{ Content string }
				}
				if err := json.NewDecoder(r.Body).Decode(&ask); err != nil || len(ask.Messages) != 1 {
					t.Errorf("%v %v", ask, err)
				}
				if asked++; asked == 1 {
					fmt.Fprint(w, `{"choices": [{"message": {"content": "hello"}}]}`)
					return
				}
				fmt.Fprint(w, c.answer)
			}))
			defer s.Close()
			got, err := Endpoint{URL: s.URL, Client: Client(true)}.Measure(context.Background(), "m")
			if got != c.want || !errors.Is(err, c.err) || asked != 2 {
				t.Errorf("%+v %v after %d prompts", got, err, asked)
			}
		})
	}
}

func TestPrefillFromUsage(t *testing.T) {
	for _, field := range []string{"prompt_tokens", "input_tokens"} {
		got, err := prefillOf([]byte(`{"usage": {"`+field+`": 400}}`), 2*time.Second)
		if want := (Prefill{400, 200, false}); got != want || err != nil {
			t.Errorf("%s: %+v %v", field, got, err)
		}
	}
}

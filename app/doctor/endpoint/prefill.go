package endpoint

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// Prefill is how fast a model took a prompt in, as it was measured.
type Prefill struct {
	Tokens          int     // of the prompt, as the server counts
	TokensPerSecond float64 // until the first token of the answer
	ByServer        bool    // the server timed it; else the whole request was timed, with one token of answer
}

// prefillWords is the length of the prompt: long enough that the answer's one
// token does not count, short enough for a processor without a graphics unit.
const prefillWords = 400

// errUncounted means that the server does not say how long the prompt was.
var errUncounted = errors.New("response counts no tokens of the prompt")

// Measure sends model a prompt that it has not seen, and returns how fast it
// took that in. A first short prompt has the server load the model.
func (e Endpoint) Measure(ctx context.Context, model string) (Prefill, error) {
	if _, err := e.Prompt(ctx, model); err != nil {
		return Prefill{}, err
	}
	begin := time.Now()
	text := fmt.Sprint(begin.UnixNano()) + strings.Repeat(" one two three four", prefillWords/4) + "\nSay yes."
	ask := map[string]any{"model": model, "max_tokens": 1, "cache_prompt": false, "messages": []map[string]string{{"role": "user", "content": text}}}
	if e.API == "responses" {
		ask = map[string]any{"model": model, "max_output_tokens": 2 * promptTokens, "input": text}
	}
	b, err := json.Marshal(ask)
	if err != nil {
		return Prefill{}, err
	}
	body, err := e.call(ctx, http.MethodPost, e.path(), b)
	if err != nil {
		return Prefill{}, err
	}
	p, err := prefillOf(body, time.Since(begin))
	if err != nil {
		return Prefill{}, fmt.Errorf("%s%s: %w: %s", e.URL, e.path(), err, clip(string(body)))
	}
	return p, nil
}

// prefillOf reads an answer that took so long: with the timings of llama-server,
// or with the tokens that every server counts.
func prefillOf(body []byte, took time.Duration) (Prefill, error) {
	var got struct {
		Timings struct {
			Tokens          int     `json:"prompt_n"`
			TokensPerSecond float64 `json:"prompt_per_second"`
		}
		Usage struct {
			Prompt int `json:"prompt_tokens"`
			Input  int `json:"input_tokens"`
		}
	}
	if err := json.Unmarshal(body, &got); err != nil {
		return Prefill{}, errors.New("response is not JSON of that API")
	}
	if t := got.Timings; t.Tokens > 0 && t.TokensPerSecond > 0 {
		return Prefill{t.Tokens, t.TokensPerSecond, true}, nil
	}
	if n := max(got.Usage.Prompt, got.Usage.Input); n > 0 && took > 0 {
		return Prefill{n, float64(n) / took.Seconds(), false}, nil
	}
	return Prefill{}, errUncounted
}

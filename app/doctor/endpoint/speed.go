package endpoint

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// Speed is how fast a model took a prompt in and wrote an answer, as measured.
type Speed struct {
	Prefill
	Answer                int     // tokens of the answer, as the server counts
	AnswerTokensPerSecond float64 // after the prompt
}

// answerTokens is the length of the answer that is timed.
const answerTokens = 64

// errUnwritten means that the answer was too short to be timed.
var errUnwritten = errors.New("answer has too few tokens to be timed")

// Bench measures model with a prompt that it has not seen, and with an answer of 64
// tokens. A first short prompt has the server load the model.
func (e Endpoint) Bench(ctx context.Context, model string) (Speed, error) {
	p, err := e.Measure(ctx, model)
	if err != nil {
		return Speed{}, err
	}
	begin := time.Now()
	text := fmt.Sprint(begin.UnixNano(), ": count from one to a hundred, in words.")
	ask := map[string]any{"model": model, "max_tokens": answerTokens, "cache_prompt": false, "ignore_eos": true, "messages": []map[string]string{{"role": "user", "content": text}}}
	if e.API == "responses" {
		ask = map[string]any{"model": model, "max_output_tokens": answerTokens, "input": text}
	}
	b, err := json.Marshal(ask)
	if err != nil {
		return Speed{}, err
	}
	body, err := e.call(ctx, http.MethodPost, e.path(), b)
	if err != nil {
		return Speed{}, err
	}
	s, err := speedOf(body, time.Since(begin), p)
	if err != nil {
		return Speed{}, fmt.Errorf("%s%s: %w: %s", e.URL, e.path(), err, clip(string(body)))
	}
	return s, nil
}

// speedOf reads an answer that took so long. Without a server's timings, the time
// that the prompt needs at the speed of p is taken off.
func speedOf(body []byte, took time.Duration, p Prefill) (Speed, error) {
	var got struct {
		Timings struct {
			Tokens          int     `json:"predicted_n"`
			TokensPerSecond float64 `json:"predicted_per_second"`
		}
		Usage struct {
			Prompt     int `json:"prompt_tokens"`
			Input      int `json:"input_tokens"`
			Completion int `json:"completion_tokens"`
			Output     int `json:"output_tokens"`
		}
	}
	if err := json.Unmarshal(body, &got); err != nil {
		return Speed{}, errors.New("response is not JSON of that API")
	}
	if t := got.Timings; t.Tokens > 1 && t.TokensPerSecond > 0 {
		return Speed{p, t.Tokens, t.TokensPerSecond}, nil
	}
	n := max(got.Usage.Completion, got.Usage.Output)
	wrote := took.Seconds() - float64(max(got.Usage.Prompt, got.Usage.Input))/p.TokensPerSecond
	if n < 2 || wrote <= 0 {
		return Speed{}, errUnwritten
	}
	p.ByServer = false
	return Speed{p, n, float64(n) / wrote}, nil
}

package endpoint

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// Slot is what llama-server says of one conversation. The counts are those of a busy
// slot: they are 0 once the answer is complete.
type Slot struct {
	Task      int // 0 and above; the server counts its requests
	Busy      bool
	Prompt    int // tokens of the prompt and of the answer so far
	Processed int // tokens of the prompt that it has read for this request
	Cached    int // tokens of the prompt that it had read before
	Decoded   int // tokens of the answer
}

// Slots returns the slots of a llama-server that had a request; other servers have none, an error.
func (e Endpoint) Slots(ctx context.Context) ([]Slot, error) {
	e.URL = strings.TrimSuffix(strings.TrimSuffix(e.URL, "/"), "/v1")
	body, err := e.call(ctx, http.MethodGet, "/slots", nil)
	if err != nil {
		return nil, err
	}
	var got []struct {
		Task      *int `json:"id_task"`
		Busy      bool `json:"is_processing"`
		Prompt    int  `json:"n_prompt_tokens"`
		Processed int  `json:"n_prompt_tokens_processed"`
		Cached    int  `json:"n_prompt_tokens_cache"`
		Next      []struct {
			Decoded int `json:"n_decoded"`
		} `json:"next_token"`
	}
	if err := json.Unmarshal(body, &got); err != nil {
		return nil, fmt.Errorf("%s/slots: response is not a list of slots: %s", e.URL, clip(string(body)))
	}
	var out []Slot
	for _, s := range got {
		if s.Task == nil {
			continue // it had no request yet
		}
		slot := Slot{Task: *s.Task, Busy: s.Busy, Prompt: s.Prompt, Processed: s.Processed, Cached: s.Cached}
		for _, n := range s.Next {
			slot.Decoded += n.Decoded
		}
		out = append(out, slot)
	}
	return out, nil
}

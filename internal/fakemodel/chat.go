package fakemodel

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// chat is POST /v1/chat/completions, as documented by OpenAI and spoken by
// llama-server.
type chat struct{}

func (chat) read(body []byte) (tools []string, turn int, stream bool, err error) {
	var q struct {
		Stream   bool
		Messages []struct{ Role string }
		Tools    []struct{ Function struct{ Name string } }
	}
	err = json.Unmarshal(body, &q)
	for _, t := range q.Tools {
		tools = append(tools, t.Function.Name)
	}
	for _, m := range q.Messages {
		if m.Role == "tool" {
			turn++
		}
	}
	return tools, turn, q.Stream, err
}

// message returns the reply as a message, or as the one delta of a stream.
func (chat) message(r Reply) (message object, finish string) {
	if r.Call == nil {
		return object{"role": "assistant", "content": r.Text}, "stop"
	}
	return object{"role": "assistant", "content": nil, "tool_calls": []object{{
		"index": 0, "id": "call_1", "type": "function", "function": object{"name": r.Call.Tool, "arguments": string(r.Call.Args)},
	}}}, "tool_calls"
}

var chatUsage = object{"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12}

func (p chat) whole(w http.ResponseWriter, model string, r Reply) {
	m, finish := p.message(r)
	reply(w, object{"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": model, "usage": chatUsage,
		"choices": []object{{"index": 0, "message": m, "finish_reason": finish}}})
}

func (p chat) stream(w *events, model string, r Reply) {
	chunk := func(choices []object, usage any) object {
		return object{"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": model, "choices": choices, "usage": usage}
	}
	m, finish := p.message(r)
	w.send("", chunk([]object{{"index": 0, "delta": m, "finish_reason": nil}}, nil))
	w.send("", chunk([]object{{"index": 0, "delta": object{}, "finish_reason": finish}}, nil))
	w.send("", chunk([]object{}, chatUsage))
	fmt.Fprint(w.w, "data: [DONE]\n\n")
}

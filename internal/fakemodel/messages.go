package fakemodel

import (
	"cmp"
	"encoding/json"
	"net/http"
)

// messages is POST /v1/messages, as documented by Anthropic and spoken by
// llama-server.
type messages struct{}

func (messages) read(body []byte) (tools []string, turn int, stream bool, err error) {
	var q struct {
		Stream   bool
		Messages []struct{ Content json.RawMessage } // a text, or a list of blocks
		Tools    []struct{ Name string }
	}
	err = json.Unmarshal(body, &q)
	for _, t := range q.Tools {
		tools = append(tools, t.Name)
	}
	for _, m := range q.Messages {
		var blocks []struct{ Type string }
		if json.Unmarshal(m.Content, &blocks) != nil {
			continue
		}
		for _, b := range blocks {
			if b.Type == "tool_result" {
				turn++
			}
		}
	}
	return tools, turn, q.Stream, err
}

func (messages) block(r Reply) (block object, stop string) {
	if r.Call == nil {
		return object{"type": "text", "text": r.Text}, "end_turn"
	}
	return object{"type": "tool_use", "id": "toolu_1", "name": r.Call.Tool, "input": r.Call.Args}, "tool_use"
}

func (messages) message(model string, r Reply, content []object, stop any) object {
	return object{"id": "msg_1", "type": "message", "role": "assistant", "model": model, "content": content,
		"stop_reason": stop, "stop_sequence": nil, "usage": object{"input_tokens": cmp.Or(r.Tokens, 10), "output_tokens": 2}}
}

func (p messages) whole(w http.ResponseWriter, model string, r Reply) {
	block, stop := p.block(r)
	reply(w, p.message(model, r, []object{block}, stop))
}

func (p messages) stream(w *events, model string, r Reply) {
	send := func(kind string, more object) {
		more["type"] = kind
		w.send(kind, more)
	}
	_, stop := p.block(r)
	send("message_start", object{"message": p.message(model, r, []object{}, nil)})
	if r.Call == nil {
		send("content_block_start", object{"index": 0, "content_block": object{"type": "text", "text": ""}})
		send("content_block_delta", object{"index": 0, "delta": object{"type": "text_delta", "text": r.Text}})
	} else {
		send("content_block_start", object{"index": 0, "content_block": object{"type": "tool_use", "id": "toolu_1", "name": r.Call.Tool, "input": object{}}})
		send("content_block_delta", object{"index": 0, "delta": object{"type": "input_json_delta", "partial_json": string(r.Call.Args)}})
	}
	send("content_block_stop", object{"index": 0})
	send("message_delta", object{"delta": object{"stop_reason": stop, "stop_sequence": nil}, "usage": object{"output_tokens": 2}})
	send("message_stop", object{})
}

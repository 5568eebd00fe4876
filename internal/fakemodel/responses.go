package fakemodel

import (
	"encoding/json"
	"net/http"
)

// responses is POST /v1/responses, as documented by OpenAI and spoken by
// llama-server.
type responses struct{}

func (responses) read(body []byte) (tools []string, turn int, stream bool, err error) {
	type tool struct {
		Name  string
		Tools []struct{ Name string } // of a namespace
	}
	var q struct {
		Stream bool
		Input  json.RawMessage // a text, or a list
		Tools  []tool
	}
	err = json.Unmarshal(body, &q)
	for _, t := range q.Tools {
		if t.Name != "" {
			tools = append(tools, t.Name)
		}
		for _, inner := range t.Tools {
			tools = append(tools, inner.Name)
		}
	}
	var items []struct{ Type string }
	if json.Unmarshal(q.Input, &items) == nil {
		for _, i := range items {
			if i.Type == "function_call_output" {
				turn++
			}
		}
	}
	return tools, turn, q.Stream, err
}

func (responses) item(r Reply) object {
	if r.Call == nil {
		return object{"id": "msg_1", "type": "message", "role": "assistant", "status": "completed",
			"content": []object{{"type": "output_text", "text": r.Text, "annotations": []object{}}}}
	}
	call := object{"id": "fc_1", "type": "function_call", "status": "completed", "call_id": "call_1", "name": r.Call.Tool, "arguments": string(r.Call.Args)}
	if r.Call.Space != "" {
		call["namespace"] = r.Call.Space
	}
	return call
}

func (responses) response(model, status string, output []object) object {
	return object{"id": "resp_1", "object": "response", "created_at": 1, "model": model, "status": status, "output": output,
		"usage": object{"input_tokens": 10, "input_tokens_details": object{"cached_tokens": 0}, "output_tokens": 2,
			"output_tokens_details": object{"reasoning_tokens": 0}, "total_tokens": 12}}
}

func (p responses) whole(w http.ResponseWriter, model string, r Reply) {
	reply(w, p.response(model, "completed", []object{p.item(r)}))
}

func (p responses) stream(w *events, model string, r Reply) {
	send := func(kind string, more object) {
		more["type"], more["sequence_number"] = kind, w.n
		w.send(kind, more)
	}
	item := p.item(r)
	started := object{"id": item["id"], "type": item["type"], "status": "in_progress"}
	send("response.created", object{"response": p.response(model, "in_progress", []object{})})
	if r.Call == nil {
		started["role"], started["content"] = "assistant", []object{}
	} else {
		started["call_id"], started["name"], started["arguments"] = "call_1", r.Call.Tool, ""
	}
	send("response.output_item.added", object{"output_index": 0, "item": started})
	if r.Call == nil {
		part := func(text string) object {
			return object{"type": "output_text", "text": text, "annotations": []object{}}
		}
		at := func(more object) object {
			more["item_id"], more["output_index"], more["content_index"] = "msg_1", 0, 0
			return more
		}
		send("response.content_part.added", at(object{"part": part("")}))
		send("response.output_text.delta", at(object{"delta": r.Text}))
		send("response.output_text.done", at(object{"text": r.Text}))
		send("response.content_part.done", at(object{"part": part(r.Text)}))
	} else {
		send("response.function_call_arguments.delta", object{"item_id": "fc_1", "output_index": 0, "delta": string(r.Call.Args)})
		send("response.function_call_arguments.done", object{"item_id": "fc_1", "output_index": 0, "arguments": string(r.Call.Args)})
	}
	send("response.output_item.done", object{"output_index": 0, "item": item})
	send("response.completed", object{"response": p.response(model, "completed", []object{item})})
}

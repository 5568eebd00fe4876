package fakemodel

import (
	"encoding/json"
	"net/http"
	"strings"
)

// generate is POST /v1beta/models/MODEL:generateContent of the Gemini API and
// its streaming variant, as documented by Google.
type generate struct{ streamed bool }

// geminiCall splits /v1beta/models/MODEL:METHOD.
func geminiCall(path string) (model, method string, ok bool) {
	_, rest, ok := strings.Cut(path, "/models/")
	model, method, found := strings.Cut(rest, ":")
	return model, method, ok && found
}

func (g generate) read(body []byte) (tools []string, turn int, stream bool, err error) {
	var q struct {
		Contents []struct {
			Parts []struct {
				FunctionResponse *struct{ Name string }
			}
		}
		Tools []struct {
			FunctionDeclarations []struct{ Name string }
		}
	}
	err = json.Unmarshal(body, &q)
	for _, t := range q.Tools {
		for _, f := range t.FunctionDeclarations {
			tools = append(tools, f.Name)
		}
	}
	for _, c := range q.Contents {
		for _, p := range c.Parts {
			if p.FunctionResponse != nil {
				turn++
			}
		}
	}
	return tools, turn, g.streamed, err
}

func (generate) response(model string, r Reply) object {
	part := object{"text": r.Text}
	if r.Call != nil {
		part = object{"functionCall": object{"name": r.Call.Tool, "args": r.Call.Args}}
	}
	return object{"modelVersion": model, "responseId": "r1",
		"candidates":    []object{{"index": 0, "finishReason": "STOP", "content": object{"role": "model", "parts": []object{part}}}},
		"usageMetadata": object{"promptTokenCount": 10, "candidatesTokenCount": 2, "totalTokenCount": 12}}
}

func (g generate) whole(w http.ResponseWriter, model string, r Reply) { reply(w, g.response(model, r)) }
func (g generate) stream(w *events, model string, r Reply)            { w.send("", g.response(model, r)) }

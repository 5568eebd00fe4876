// Package mcptools asks an MCP server for the names of its tools, as an agent
// program does at its start. It calls no tool. Call Local.Tools, which starts a
// server and ends it, or Remote.Tools. The protocol is that of
// https://modelcontextprotocol.io/specification/2025-06-18/basic/lifecycle.
package mcptools

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"aisync.dev/aisync/internal/termtext"
)

// protocol is the version that is asked for. A server may answer with another:
// the two questions here are the same in all of them.
const protocol = "2025-06-18"

// Limits of what a server may answer.
const (
	maxMessage = 8 << 20 // bytes
	maxPages   = 50
	maxTools   = 2000
)

// message is one of JSON-RPC 2.0.
type message struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  any             `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *refusal        `json:"error,omitempty"`
}

// refusal is an error that the server answers with.
type refusal struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

func (r *refusal) Error() string {
	return fmt.Sprintf("the server answers with error %d: %s", r.Code, termtext.Clip(termtext.Safe(termtext.OneLine(r.Message)), 300))
}

// conversation carries questions to a server and its answers back.
type conversation interface {
	call(ctx context.Context, m message) (json.RawMessage, error) // of a question with an id
	tell(ctx context.Context, m message) error                    // what has no answer
}

// list begins a conversation and returns the names of the server's tools.
func list(ctx context.Context, c conversation, version string) ([]string, error) {
	n := 0
	ask := func(method string, params, result any) error {
		n++
		raw, err := c.call(ctx, message{Version: "2.0", ID: fmt.Append(nil, n), Method: method, Params: params})
		if err != nil {
			return fmt.Errorf("%s: %w", method, err)
		}
		if err := json.Unmarshal(raw, result); err != nil {
			return fmt.Errorf("%s: the answer is in an unknown form: %w", method, err)
		}
		return nil
	}
	var hello struct {
		Capabilities struct{ Tools json.RawMessage }
	}
	type object = map[string]any
	if err := ask("initialize", object{"protocolVersion": protocol, "capabilities": object{}, "clientInfo": object{"name": "aisync", "version": version}}, &hello); err != nil {
		return nil, err
	}
	if err := c.tell(ctx, message{Version: "2.0", Method: "notifications/initialized"}); err != nil {
		return nil, err
	}
	if len(hello.Capabilities.Tools) == 0 || bytes.Equal(hello.Capabilities.Tools, []byte("null")) {
		return nil, nil
	}
	var out []string
	for cursor, page := "", 0; page < maxPages; page++ {
		var params struct {
			Cursor string `json:"cursor,omitempty"`
		}
		params.Cursor = cursor
		var got struct {
			Tools      []struct{ Name string }
			NextCursor string
		}
		if err := ask("tools/list", params, &got); err != nil {
			return nil, err
		}
		for _, t := range got.Tools {
			out = append(out, t.Name)
		}
		if cursor = got.NextCursor; cursor == "" {
			return out, nil
		}
		if len(out) > maxTools {
			break
		}
	}
	return nil, errors.New("tools/list: the list of tools does not end")
}

// Package fakemcp is a server of the Model Context Protocol for tests, over
// stdin and stdout. Its one tool echoes its argument. A test's binary can be the
// server: see Serve.
package fakemcp

import (
	"bufio"
	"encoding/json"
	"io"
)

// request is a call of JSON-RPC 2.0; without an id it is a notification.
type request struct {
	ID     json.RawMessage
	Method string
	Params struct {
		ProtocolVersion string
		Name            string
		Arguments       struct{ Text string }
	}
}

// Serve answers until in ends. name is the server's, tool its tool's. The
// protocol, one JSON object a line: modelcontextprotocol.io, "stdio".
func Serve(in io.Reader, out io.Writer, name, tool string) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 16<<20)
	enc := json.NewEncoder(out)
	for lines.Scan() {
		var r request
		if json.Unmarshal(lines.Bytes(), &r) != nil || r.ID == nil {
			continue
		}
		answer := map[string]any{"jsonrpc": "2.0", "id": r.ID}
		if result := r.result(name, tool); result != nil {
			answer["result"] = result
		} else {
			answer["error"] = map[string]any{"code": -32601, "message": "method not found"}
		}
		if err := enc.Encode(answer); err != nil {
			return err
		}
	}
	return lines.Err()
}

func (r request) result(name, tool string) any {
	type object = map[string]any
	switch r.Method {
	case "initialize":
		return object{"protocolVersion": r.Params.ProtocolVersion, "capabilities": object{"tools": object{}}, "serverInfo": object{"name": name, "version": "1"}}
	case "ping":
		return object{}
	case "tools/list":
		return object{"tools": []object{{"name": tool, "description": "Says back the text.",
			"inputSchema": object{"type": "object", "properties": object{"text": object{"type": "string"}}}}}}
	case "tools/call":
		return object{"content": []object{{"type": "text", "text": tool + " says " + r.Params.Arguments.Text}}}
	}
	return nil
}

package position

import (
	"bytes"
	"encoding/json"
	"errors"
)

// NotJSON returns where and why text is not JSON; why is "" if it is.
func NotJSON(text []byte) (line, col int, why string) {
	if json.Valid(text) {
		return 0, 0, ""
	}
	var v any
	err := json.Unmarshal(text, &v)
	var syntax *json.SyntaxError
	at := len(text)
	if errors.As(err, &syntax) {
		at = min(int(syntax.Offset), len(text))
	}
	why = "not JSON: it ends too early"
	if err != nil {
		why = "not JSON: " + err.Error()
	}
	before := text[:at]
	return bytes.Count(before, []byte("\n")) + 1, max(at-bytes.LastIndexByte(before, '\n')-1, 1), why
}

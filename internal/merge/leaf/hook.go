package leaf

import (
	"encoding/json"
	"strings"
)

// HookID identifies a hook of an event. An absent matcher is "". Command is the
// command, or the prompt or url of other types.
type HookID struct {
	Matcher string `json:"matcher"`
	Type    string `json:"type"`
	Command string `json:"command"`
}

// HookKey names a hook of the event whose array is at pointer.
func HookKey(pointer string, h HookID) string {
	return pointer + `#{"matcher":` + string(Quote(h.Matcher)) + `,"type":` + string(Quote(h.Type)) + `,"command":` + string(Quote(h.Command)) + `}`
}

// HookGroup names, in notes, the group of hooks of k's event that have its matcher.
func HookGroup(k Key) string {
	return Pointer(k.Path...) + `#{"matcher":` + string(Quote(k.Hook.Matcher)) + `}`
}

// parseHookID tells a hook from a set member: it always has the three names, in
// an order that canonical JSON never has.
func parseHookID(id string) (HookID, bool) {
	var h HookID
	dec := json.NewDecoder(strings.NewReader(id))
	dec.DisallowUnknownFields()
	if !strings.HasPrefix(id, `{"matcher":`) || dec.Decode(&h) != nil || HookKey("", h) != "#"+id {
		return HookID{}, false
	}
	return h, true
}

// HookOf returns the identity of a hook object, but for the matcher of its group.
func HookOf(v Value) (HookID, error) {
	var h struct{ Type, Command, Prompt, URL any }
	if err := json.Unmarshal(v, &h); err != nil {
		return HookID{}, err
	}
	id := HookID{}
	id.Type, _ = h.Type.(string)
	for _, what := range []any{h.Command, h.Prompt, h.URL} {
		if s, ok := what.(string); ok && s != "" {
			id.Command = s
			break
		}
	}
	return id, nil
}

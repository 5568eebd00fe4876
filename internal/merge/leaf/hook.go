package leaf

import (
	"encoding/json"
	"strings"
)

// HookID identifies a hook of an event. An absent matcher is "". Command is the
// command, or the prompt or url of other types; If the condition under which it runs.
type HookID struct {
	Matcher string `json:"matcher"`
	Type    string `json:"type"`
	Command string `json:"command"`
	If      string `json:"if,omitempty"`
}

// HookKey names a hook of the event whose array is at pointer.
func HookKey(pointer string, h HookID) string {
	condition := ""
	if h.If != "" {
		condition = `,"if":` + string(Quote(h.If))
	}
	return pointer + `#{"matcher":` + string(Quote(h.Matcher)) + `,"type":` + string(Quote(h.Type)) + `,"command":` + string(Quote(h.Command)) + condition + `}`
}

// HookGroup names, in notes, the group of hooks of k's event that have its matcher.
func HookGroup(k Key) string {
	return Pointer(k.Path...) + `#{"matcher":` + string(Quote(k.Hook.Matcher)) + `}`
}

// parseHookID tells a hook from a set member: it always has the first three names, in
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

// Is reports whether h names what o names in a group of one matcher.
func (h HookID) Is(o HookID) bool { return h.Type == o.Type && h.Command == o.Command && h.If == o.If }

// HookOf returns the identity of a hook object, but for the matcher of its group.
func HookOf(v Value) (HookID, error) {
	var h struct{ Type, Command, Prompt, URL, If any }
	if err := json.Unmarshal(v, &h); err != nil {
		return HookID{}, err
	}
	id := HookID{}
	id.Type, _ = h.Type.(string)
	id.If, _ = h.If.(string)
	for _, what := range []any{h.Command, h.Prompt, h.URL} {
		if s, ok := what.(string); ok && s != "" {
			id.Command = s
			break
		}
	}
	return id, nil
}

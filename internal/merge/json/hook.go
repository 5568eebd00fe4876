package json

import (
	"strconv"

	"github.com/tailscale/hujson"

	"aisync.dev/aisync/internal/merge/leaf"
)

// hookPlace is where a hook is, or where it belongs.
type hookPlace struct {
	group int           // index in the event's array of the group; -1: none has the matcher
	value *hujson.Value // the group's object
	array *hujson.Value // its hooks
	at    int           // index of hooks in the group's object
	hook  int           // index in array; -1: not there
}

// hook looks through every group of an event that has k's matcher.
func (d *doc) hook(event *hujson.Array, k leaf.Key) (hookPlace, error) {
	place := hookPlace{group: -1, hook: -1}
	for gi := range event.Elements {
		g := &event.Elements[gi]
		pointer := leaf.Pointer(append(append([]string{}, k.Path...), strconv.Itoa(gi))...)
		o, err := d.object(g, pointer)
		if err != nil {
			return place, err
		}
		matcher := ""
		if i := member(o, "matcher"); i >= 0 {
			lit, ok := o.Members[i].Value.Value.(hujson.Literal)
			if !ok || lit.Kind() != '"' {
				return place, d.shape(&o.Members[i].Value, pointer+"/matcher", "a string")
			}
			matcher = lit.String()
		}
		at := member(o, "hooks")
		if at < 0 {
			return place, leaf.ErrorAt(d.src, g.StartOffset, pointer, "has no hooks array")
		}
		hooks, err := d.array(&o.Members[at].Value, pointer+"/hooks")
		if err != nil {
			return place, err
		}
		if matcher != k.Hook.Matcher {
			continue
		}
		if place.group < 0 {
			place = hookPlace{group: gi, value: g, array: &o.Members[at].Value, at: at, hook: -1}
		}
		for hi := range hooks.Elements {
			c, err := d.value(&hooks.Elements[hi])
			if err != nil {
				return place, err
			}
			if id, err := leaf.HookOf(c); err == nil && id.Is(k.Hook) {
				return hookPlace{group: gi, value: g, array: &o.Members[at].Value, at: at, hook: hi}, nil
			}
		}
	}
	return place, nil
}

// addHook puts a hook into the event's array at.
func (d *doc) addHook(notes *leaf.Notes, k leaf.Key, event *hujson.Value, v leaf.Value) ([]byte, error) {
	place, err := d.hook(event.Value.(*hujson.Array), k)
	if err != nil {
		return nil, err
	}
	group := leaf.HookGroup(k)
	if place.group < 0 {
		notes.Add(leaf.Note{At: group})
		return d.insert(notes, event, leaf.Pointer(k.Path...), "", hookGroup(k.Hook.Matcher, v), len(k.Path)), nil
	}
	return d.insert(notes, place.array, group, "", v, len(k.Path)+2), nil
}

func hookGroup(matcher string, hook leaf.Value) leaf.Value {
	g := `"hooks":[` + string(hook) + `]}`
	if matcher == "" {
		return leaf.Value("{" + g)
	}
	return leaf.Value(`{"matcher":` + string(leaf.Quote(matcher)) + "," + g)
}

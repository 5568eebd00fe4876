package ledger

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
)

// object is a JSON object with the order of its keys. Values keep their text, so
// that other programs' values survive unchanged.
type object []member

type member struct {
	key   string
	value json.RawMessage
}

// members parses an object. As in JavaScript, a repeated key has its last value
// in its first place.
func members(text []byte) (object, error) {
	dec := json.NewDecoder(bytes.NewReader(text))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil, errors.New("not an object of JSON")
	}
	var o object
	place := map[string]int{}
	for dec.More() {
		t, err := dec.Token()
		if err != nil {
			return nil, err
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return nil, err
		}
		key := t.(string)
		if i, twice := place[key]; twice {
			o[i].value = value
			continue
		}
		place[key] = len(o)
		o = append(o, member{key, value})
	}
	if _, err := dec.Token(); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more text behind the object")
	}
	return o, nil
}

func (o object) index(key string) int {
	return slices.IndexFunc(o, func(m member) bool { return m.key == key })
}

func (o object) get(key string) json.RawMessage {
	if i := o.index(key); i >= 0 {
		return o[i].value
	}
	return nil
}

// with returns o with key set, in its place or at the end.
func (o object) with(key string, value json.RawMessage) object {
	if i := o.index(key); i >= 0 {
		o = slices.Clone(o)
		o[i].value = value
		return o
	}
	return append(slices.Clip(o), member{key, value})
}

func (o object) without(key string) object {
	return slices.DeleteFunc(slices.Clone(o), func(m member) bool { return m.key == key })
}

func (o object) compact() json.RawMessage {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(quote(m.key))
		b.WriteByte(':')
		if err := json.Compact(&b, m.value); err != nil {
			b.WriteString("null") // never: every value was parsed or quoted
		}
	}
	b.WriteByte('}')
	return b.Bytes()
}

// text returns the object as JSON.stringify(o, null, 2) writes it, with an end
// of line.
func (o object) text() []byte {
	var b bytes.Buffer
	_ = json.Indent(&b, o.compact(), "", "  ") // cannot fail: compact made it
	return append(b.Bytes(), '\n')
}

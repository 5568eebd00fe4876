package jsontext

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
)

// Object is a JSON object with the order of its keys. Values keep their text, so
// that other programs' values survive unchanged.
type Object []Member

// Member is one member of an Object.
type Member struct {
	Key   string
	Value json.RawMessage
}

// Parse parses an object. As in JavaScript, a repeated key has its last value
// in its first place.
func Parse(text []byte) (Object, error) {
	dec := json.NewDecoder(bytes.NewReader(text))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil, errors.New("not an object of JSON")
	}
	var o Object
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
			o[i].Value = value
			continue
		}
		place[key] = len(o)
		o = append(o, Member{key, value})
	}
	if _, err := dec.Token(); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more text behind the object")
	}
	return o, nil
}

// Index returns the place of a key, -1 without it.
func (o Object) Index(key string) int {
	return slices.IndexFunc(o, func(m Member) bool { return m.Key == key })
}

// Get returns the value of a key, nil without it.
func (o Object) Get(key string) json.RawMessage {
	if i := o.Index(key); i >= 0 {
		return o[i].Value
	}
	return nil
}

// With returns o with key set, in its place or at the end.
func (o Object) With(key string, value json.RawMessage) Object {
	if i := o.Index(key); i >= 0 {
		o = slices.Clone(o)
		o[i].Value = value
		return o
	}
	return append(slices.Clip(o), Member{key, value})
}

// Without returns o without a key.
func (o Object) Without(key string) Object {
	return slices.DeleteFunc(slices.Clone(o), func(m Member) bool { return m.Key == key })
}

// Compact returns the object on one line.
func (o Object) Compact() json.RawMessage {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(Quote(m.Key))
		b.WriteByte(':')
		if err := json.Compact(&b, m.Value); err != nil {
			b.WriteString("null") // never: every value was parsed or quoted
		}
	}
	b.WriteByte('}')
	return b.Bytes()
}

// Text returns the object as JSON.stringify(o, null, 2) writes it, with an end
// of line.
func (o Object) Text() []byte {
	var b bytes.Buffer
	_ = json.Indent(&b, o.Compact(), "", "  ") // cannot fail: compact made it
	return append(b.Bytes(), '\n')
}

package ledger

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"testing"
)

// TestThreadIsWrittenAsItsTagsSay fills each field of a message, and then leaves one
// out: the bytes are those of encoding/json.
func TestThreadIsWrittenAsItsTagsSay(t *testing.T) {
	full := Thread{}
	fill(reflect.ValueOf(&full).Elem(), "x")
	full.ReplyTo, full.first = json.RawMessage(`"msg_0123456789abcdef"`), 0
	fields := reflect.TypeFor[Thread]()
	for i := range fields.NumField() {
		m := full
		if f := reflect.ValueOf(&m).Elem().Field(i); f.CanSet() {
			f.SetZero()
		}
		if m.AckedBy == nil {
			m.AckedBy = []Acked{}
		}
		if m.Events == nil {
			m.Events = []ThreadEvent{{Action: "send"}}
		}
		type plain Thread
		var want bytes.Buffer
		enc := json.NewEncoder(&want)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(plain(m)); err != nil {
			t.Fatal(err)
		}
		if got, err := m.MarshalJSON(); err != nil || string(got)+"\n" != want.String() {
			t.Errorf("without %s: %v\n%s\nwant\n%s", fields.Field(i).Name, err, got, want.String())
		}
	}
	unknown, err := json.Marshal(Thread{MessageID: "msg_1", TS: "t", Status: "unknown", AckedBy: []Acked{}, Events: []ThreadEvent{}})
	if want := `{"messageId":"msg_1","ts":"t","from":null,"to":null,"type":null,"body":null,"status":"unknown","ackedBy":[],"doneBy":null,"doneAt":null,"events":[]}`; err != nil || string(unknown) != want {
		t.Errorf("%s %v", unknown, err)
	}
}

// fill sets each string below v to another text.
func fill(v reflect.Value, name string) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(fmt.Sprintf("%s \"<é\u2028>\"\n", name))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), name)
	case reflect.Slice:
		if v.Type() == reflect.TypeFor[json.RawMessage]() {
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(v.Index(0), name)
		fill(v.Index(1), name+"2")
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Field(i); f.CanSet() {
				fill(f, name+v.Type().Field(i).Name)
			}
		}
	}
}

package spec

import (
	"reflect"
	"strings"
	"testing"
)

func TestShapeRoundTrip(t *testing.T) {
	var s Shape
	s.Arch, s.Chat = "qwen3next", "chatml"
	v := reflect.ValueOf(&s).Elem()
	for i := range v.NumField() {
		if f := v.Field(i); f.CanInt() {
			f.SetInt(int64(1_000_000 - i))
		}
	}
	text := s.String()
	got, err := ParseShape(text + " colour=7")
	if err != nil || got != s {
		t.Errorf("%v\n got %+v\nwant %+v", err, got, s)
	}
	if strings.Contains(Shape{Arch: "x", Layers: 2}.String(), "window") {
		t.Error("what is zero is written")
	}
}

func TestDamagedShapeIsRefused(t *testing.T) {
	for _, text := range []string{"", "llama", "layers=3 key=4", "llama layers=x", "llama layers=-1", "llama layers=99999999999999999999", "llama tensors=1 experts=2"} {
		if s, err := ParseShape(text); err == nil {
			t.Errorf("%q is %+v", text, s)
		}
	}
}

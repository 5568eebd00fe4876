package speeds

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"aisync.dev/aisync/hosts"
)

func TestNewestOfTheSameSettingsCounts(t *testing.T) {
	file := filepath.Join(t.TempDir(), "state", "speeds.jsonl")
	if got, err := Load(file); err != nil || got != nil {
		t.Fatalf("of no file: %+v, %v", got, err)
	}
	n := hosts.Need{Model: "coder", Quant: "Q4_K_M", Backend: "vulkan", GPULayers: 999, Sequences: 1, Context: 32768, Cache: "f16"}
	at := time.Date(2026, 11, 24, 5, 0, 0, 0, time.UTC)
	r := Record{Host: "me", Service: "coder", Model: "coder", Quant: "Q4_K_M", Settings: Settings(n), At: at, Prompt: 800, Answer: 40}
	for _, answer := range []float64{40, 44} {
		r.Answer = answer
		if err := Add(file, r); err != nil {
			t.Fatal(err)
		}
	}
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(`{"host": "me", "model": "cod`); err != nil {
		t.Fatal(err)
	}
	f.Close()
	other := r
	other.Host, other.Answer = "you", 7
	if err := Add(file, other); err != nil {
		t.Fatal(err)
	}
	got, err := Load(file)
	if err != nil || len(got) != 3 {
		t.Fatalf("%+v, %v", got, err)
	}
	if x, ok := Of(got, "me", n); !ok || x.Answer != 44 || !x.At.Equal(at) {
		t.Errorf("%+v", x)
	}
	n.Context = 8192
	if x, ok := Of(got, "me", n); ok {
		t.Errorf("with other settings: %+v", x)
	}
}

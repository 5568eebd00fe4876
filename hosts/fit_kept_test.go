package hosts

import (
	"testing"

	"aisync.dev/aisync/hosts/facts"
	"aisync.dev/aisync/schema/spec"
)

// What a server keeps of conversations is counted, and leaves room.
func TestCheckpointsAreCounted(t *testing.T) {
	windows := &spec.Shape{Arch: "gemma4", Context: 262144, Layers: 30, Attention: 5, Key: 5120, Value: 5120, Windowed: 25, Window: 1024, WindowKey: 51200, WindowValue: 51200, Vocabulary: 262144, Embedding: 2816}
	state := &spec.Shape{Arch: "qwen3next", Context: 262144, Layers: 48, Attention: 12, Key: 6144, Value: 6144, Recurrent: 36, State: 75 << 20, Vocabulary: 151936, Embedding: 2048}
	plain := &spec.Shape{Arch: "qwen3", Context: 40960, Layers: 36, Attention: 36, Key: 36864, Value: 36864, Vocabulary: 151936, Embedding: 4096}
	memory := func(gib int64) facts.Facts { return facts.Facts{Memory: facts.Memory{Total: gib << 30}} }
	for name, c := range map[string]struct {
		shape    *spec.Shape
		gib      int64
		slots    int64
		asked    *int64
		one      int64 // bytes of a checkpoint
		most, at int64 // checkpoints
	}{
		"windows, much memory":   {windows, 128, 1, nil, 1024 * 102400 * 2, 32, 32},
		"windows, little memory": {windows, 32, 1, nil, 1024 * 102400 * 2, 13, 1},
		"windows, four slots":    {windows, 64, 4, nil, 1024 * 102400 * 2, 15, 1},
		"a state":                {state, 128, 1, nil, 75 << 20, 32, 32},
		"none left":              {state, 20, 1, nil, 75 << 20, 1, 1},
		"the spec's own":         {state, 32, 1, new(int64(3)), 75 << 20, 3, 3},
		"neither":                {plain, 32, 1, nil, 0, 0, 0},
	} {
		l := Load{Name: "x", Model: "x", Weights: 16 << 30, Shape: c.shape, Context: 32768, Sequences: c.slots, Checkpoints: c.asked}
		v := Fit([]Load{l}, memory(c.gib))
		n := v.Loads[0]
		if n.Checkpoint != c.one || n.Checkpoints > c.most || n.Checkpoints < c.at {
			t.Errorf("%s: %d of %d bytes", name, n.Checkpoints, n.Checkpoint)
		}
		if left := v.Budget - v.Need; c.asked == nil && left > 0 && n.Checkpoints > 1 && n.kept()+n.Prompts > left*3/4 {
			t.Errorf("%s: %d and %d of %d bytes are kept", name, n.kept(), n.Prompts, left)
		}
		if got, want := v.MemoryOf("x"), n.Total+n.Prompts+n.kept(); got != want {
			t.Errorf("%s: a server needs %d, and may have %d", name, want, got)
		}
	}
}

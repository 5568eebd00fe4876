package hosts

import (
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"aisync.dev/aisync/internal/gguf"
	"aisync.dev/aisync/internal/gguf/gguftest"
)

// What fit counts for a projector is what a real llama-server says of it, and takes
// more than without it.
func TestMeasuredProjector(t *testing.T) {
	cache, err := os.UserCacheDir()
	program := filepath.Join(cache, "aisync-test/llama-server/bin/llama-server")
	if _, missing := os.Stat(program); err != nil || missing != nil || testing.Short() {
		t.Skip("needs a real llama-server: scripts/llama-server ~/.cache/aisync-test/llama-server")
	}
	model, file := filepath.Join(t.TempDir(), "model.gguf"), filepath.Join(t.TempDir(), "mmproj.gguf")
	if err := gguftest.Told("small", "").Write(model); err != nil {
		t.Fatal(err)
	}
	alone := loaded(t, program, model, "--ctx-size", "2048", "--warmup")
	for _, name := range slices.Sorted(maps.Keys(gguftest.Projectors)) {
		v := gguftest.Projectors[name]
		if err := v.Of(64).Write(file); err != nil {
			t.Fatal(err)
		}
		h, err := gguf.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		shape, err := gguf.Shape(h)
		if err != nil || shape.Embedding != 64 || shape.Picture < 1<<20 {
			t.Fatalf("%s: %v %+v", name, err, shape)
		}
		both := loaded(t, program, model, "--ctx-size", "2048", "--warmup", "--mmproj", file)
		for what, x := range map[string][2]int64{
			"its weights": {shape.TensorBytes, both.rest - alone.rest},
			"a picture":   {shape.Picture / h.Projector.Patches * int64(v.Reserved), both.compute - alone.compute},
		} {
			t.Logf("%s: %s: fit has %s, the server %s MiB", name, what, mebibytes(x[0]), mebibytes(x[1]))
			if math.Abs(float64(x[0]-x[1])) > 0.1*float64(x[1]) {
				t.Errorf("%s: %s: fit has %s, the server %s MiB", name, what, mebibytes(x[0]), mebibytes(x[1]))
			}
		}
		n := Load{Name: "p", Weights: h.TensorBytes, Shape: &shape}.need(false)
		if n.Total != shape.TensorBytes+shape.Picture || n.KV != 0 {
			t.Errorf("%s alone needs %+v", name, n)
		}
	}
	beside := Load{Name: "m", Weights: 1 << 20, Projector: 5 << 20}
	if n, less := beside.need(false), (Load{Name: "m", Weights: 1 << 20}).need(false); n.Total != less.Total+beside.Projector {
		t.Errorf("beside a model it needs %+v, and that model alone %+v", n, less)
	}
}

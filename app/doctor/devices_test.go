package doctor

import (
	"context"
	"errors"
	"testing"
)

// The lists are those of llama.cpp's build 11669, and of
// https://github.com/ollama/ollama/issues/16508.
func TestDevicesOfTheServerAreCompared(t *testing.T) {
	const cards = "Available devices:\n  CUDA0: NVIDIA GeForce RTX 3080 Ti (11909 MiB, 11650 MiB free)\n  CUDA1: NVIDIA RTX PRO 4000 Blackwell SFF Edition (24026 MiB, 23795 MiB free)\nggml_cuda_init: found 2 CUDA devices (Total VRAM: 35936 MiB):\n"
	for name, c := range map[string]struct {
		out     string
		err     error
		backend string
		want    string
	}{
		"two cards":        {cards, nil, "cuda", ""},
		"another backend":  {cards, nil, "vulkan", "llama-server lists CUDA0, CUDA1, and nothing for Vulkan"},
		"none":             {"Available devices:\n  (none)\n", nil, "vulkan", "llama-server lists no graphics unit, and computes on the processor alone"},
		"none, in old":     {"Available devices:\n", nil, "cuda", "llama-server lists no graphics unit, and computes on the processor alone"},
		"Metal":            {"Available devices:\n  MTL0: Apple M4 Max (38338 MiB, 38338 MiB free)\n", nil, "metal", ""},
		"an older version": {"error: invalid argument: --list-devices\n", errors.New("exit status 1"), "cuda", ""},
		"it hangs":         {"", context.DeadlineExceeded, "cuda", "llama-server --list-devices does not answer: the driver of the graphics unit may hang"},
		"something else":   {"hello\n", nil, "cuda", ""},
	} {
		if got := devicesText(c.out, c.err, c.backend); got != c.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}

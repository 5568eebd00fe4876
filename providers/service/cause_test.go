package service

import (
	"strings"
	"testing"
)

// The lines are those of llama-server b11669, and of ollama 0.9.6 where they say so.
func TestCauseOf(t *testing.T) {
	for name, c := range map[string]struct {
		ended, line string
		cause       Cause
		clause      string
	}{
		"a shard that is missing": {"exit code 1", "E gguf_init_from_file: failed to open GGUF file '/m/x-00002-of-00002.gguf' (No such file or directory)", Gone, "a file of its model is not there: /m/x-00002-of-00002.gguf"},
		"an architecture":         {"exit code 1", "E llama_model_load: error loading model: unknown model architecture: 'xlama'", TooNew, "this version of it does not know the model's architecture xlama"},
		"a version":               {"exit code 1", "E gguf_init_from_reader: this GGUF file is version 9 but this software only supports up to version 3", TooNew, "this version of it does not know the model's format: file is version 9 but this software only supports up to version 3"},
		"an assertion":            {"signal aborted", "./src/models/granite-hybrid.cpp:54: GGML_ASSERT(2 * n_embd == d_inner) failed", TooNew, "this version of it does not know the model's format: GGML_ASSERT(2 * n_embd == d_inner) failed"},
		"a cache type":            {"exit code 1", "E llama_init_from_model: K cache type q8_0 with block size 32 does not divide n_embd_head_k=16", Argument, "it does not take an argument: q8_0 with block size 32 does not divide n_embd_head_k=16"},
		"a device":                {"exit code 1", `error while handling argument "--device": invalid device: Vulkan0`, Argument, `it does not take an argument: "--device": invalid device: Vulkan0`},
		"a port":                  {"exit code 1", "E srv         start: couldn't bind HTTP server socket, hostname: 127.0.0.1, port: 18799", Port, "another program has its port"},
		"a port of ollama's":      {"exit code 1", "Error: listen tcp 127.0.0.1:18799: bind: address already in use", Port, "another program has its port"},
		"a full disk of ollama's": {"exit code 1", "Error: write /h/.ollama/id_ed25519: no space left on device", Disk, "its disk is full: /h/.ollama/id_ed25519"},
		"another projector":       {"exit code 1", "E mtmd_init_from_file: error: mismatch between text model (n_embd = 64) and mmproj (n_embd = 96)\nhint: you may be using wrong mmproj\nE srv    load_model: failed to load multimodal model, '/m/p.gguf'", Picture, "its projector (mmproj) is of another model: mismatch between text model (n_embd = 64) and mmproj (n_embd = 96)"},
		"no projector":            {"exit code 1", "E mtmd_init_from_file: error: Failed to load CLIP model from /m/w.gguf\nE srv    load_model: failed to load multimodal model, '/m/w.gguf'", Picture, "it cannot load its projector (mmproj) /m/w.gguf"},
		"a projector as a model":  {"exit code 1", "E llama_model_load: error loading model: CLIP cannot be used as main model, use it with --mmproj instead", Picture, "its model is a projector (mmproj): CLIP cannot be used as main model"},
		"memory":                  {"exit code 1", "E ggml_aligned_malloc: insufficient memory (attempted to allocate 204800.00 MB)", Memory, "it got too little memory"},
		"killed":                  {"signal killed", "I srv  llama_server: model loaded", Killed, "it was killed, by a person or because memory ran out"},
		"killed under systemd":    {"signal KILL", "", Killed, "it was killed, by a person or because memory ran out"},
		"out of memory there":     {"killed: out of memory", "", Memory, "it got too little memory"},
		"too slow to end":         {"killed: timeout", "", "", ""},
		"no word":                 {"exit code 1", "E srv  llama_server: exiting due to model loading error", "", ""},
	} {
		if cause, clause := CauseOf(c.ended, strings.Split(c.line, "\n")); cause != c.cause || clause != c.clause {
			t.Errorf("%s: %q %q, want %q %q", name, cause, clause, c.cause, c.clause)
		}
	}
	lines := []string{"old", "aisync: service coder ended: exit code 1", "new", "aisync: service coder ended: exit code 2"}
	if got := lastRun(lines); len(got) != 2 || got[0] != "new" {
		t.Errorf("the last run wrote %q", got)
	}
}

package service

import (
	"strconv"
	"strings"

	"aisync.dev/aisync/reconcile/fsys"
	"aisync.dev/aisync/schema/spec"
)

// router is the command line of a llama-server of several models. It starts one
// more llama-server for each that it loads, with its own arguments and variables,
// which win over the file of presets. See "Using multiple models" in
// https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md.
func (h Host) router(program string, s spec.Service, presets fsys.LogicalPath, port string) []string {
	argv := []string{program, "--models-preset", string(presets), "--models-max", strconv.Itoa(max(1, s.Loaded)),
		"--host", address(s), "--port", port, "--parallel", strconv.Itoa(max(1, s.Parallel))}
	return append(argv, h.template(s)...)
}

// presets is the file of a router: a section for each model, named as requests
// name it, with the arguments that are its own.
func (h Host) presets(s spec.Service, models []served) []byte {
	var b strings.Builder
	b.WriteString(header + "\nversion = 1\n")
	for _, m := range models {
		b.WriteString("\n[" + m.id + "]\nmodel = " + string(m.file) + "\n")
		b.WriteString("ctx-size = " + strconv.FormatInt(m.context*int64(max(1, s.Parallel)), 10) + "\n")
		words := append(h.offload(s, m.id).arguments(AskedOf(s)), m.beside()...) // pairs
		for i := 0; i+1 < len(words); i += 2 {
			b.WriteString(strings.TrimPrefix(words[i], "--") + " = " + words[i+1] + "\n")
		}
		if m.draft != "" {
			b.WriteString(specType + " = " + simpleDraft + "\n")
		}
	}
	return []byte(b.String())
}

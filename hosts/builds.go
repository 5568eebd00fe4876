package hosts

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// backendLibraries are the parts of llama.cpp's libraries' names, and what they
// compute on: ggml/src/CMakeLists.txt of https://github.com/ggml-org/llama.cpp.
var backendLibraries = map[string]string{"cuda": "cuda", "vulkan": "vulkan", "hip": "rocm", "sycl": "sycl", "metal": "metal"}

// buildOf returns what a llama-server can compute on beside the processor, by the
// libraries beside it; "cpu" where they are for the processor alone. It returns
// nothing for a program of one file, and for a script.
func (m machine) buildOf(program string) []string {
	if program == "" {
		return nil
	}
	real, err := filepath.EvalSymlinks(m.path(program))
	if err != nil {
		return nil
	}
	at := filepath.Dir(real)
	var names []string
	for _, dir := range []string{at, at + "/../lib*", at + "/../lib/*-linux-gnu*", at + "/../lib/*-linux-gnu*/ggml/*", at + "/../lib/ggml*", at + "/../lib/llama*", at + "/../libexec"} {
		found, _ := filepath.Glob(dir + "/libggml-*")
		for _, f := range found {
			if _, err := os.Stat(f); err == nil { // not a link to nothing
				names = append(names, strings.TrimPrefix(filepath.Base(f), "libggml-"))
			}
		}
	}
	if len(names) == 0 {
		return nil
	}
	var out []string
	for _, name := range names {
		part := strings.FieldsFunc(name, func(r rune) bool { return r == '.' || r == '-' })
		if backend := backendLibraries[part[0]]; backend != "" && !slices.Contains(out, backend) {
			out = append(out, backend)
		}
	}
	slices.Sort(out)
	return append(out, "cpu")
}

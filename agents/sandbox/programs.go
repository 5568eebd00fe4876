package sandbox

import (
	"bufio"
	"os"
	"path/filepath"
	"strings"
)

// ProgramFolders returns the folders that a program needs to see to run: its
// folder, with the npm packages around it, and its interpreter's. look finds the
// interpreter in PATH, "" for none.
func ProgramFolders(program string, look func(name string) string) (out []string) {
	for range 2 { // the program, then its interpreter
		if program == "" {
			break
		}
		out = append(out, filepath.Dir(program))
		real, err := filepath.EvalSymlinks(program)
		if err != nil {
			break
		}
		if before, _, ok := strings.Cut(real, "/node_modules/"); ok {
			out = append(out, filepath.Join(before, "node_modules"))
		} else {
			out = append(out, filepath.Dir(real))
		}
		program = look(interpreter(real))
	}
	return out
}

// interpreter returns the program in a script's first line, "" if there is none.
func interpreter(script string) string {
	f, err := os.Open(script)
	if err != nil {
		return ""
	}
	defer f.Close()
	line, err := bufio.NewReaderSize(f, 256).ReadSlice('\n')
	words := strings.Fields(strings.TrimPrefix(string(line), "#!"))
	if err != nil || !strings.HasPrefix(string(line), "#!") || len(words) == 0 {
		return ""
	}
	if filepath.Base(words[0]) == "env" && len(words) > 1 {
		for _, w := range words[1:] {
			if !strings.HasPrefix(w, "-") && !strings.Contains(w, "=") {
				return w
			}
		}
	}
	return words[0]
}

package executor

import (
	"fmt"
	"path"
	"strings"

	"aisync.dev/aisync/agents/task/policy"
)

// edit is one change of one file.
type edit struct {
	file string   // slash-separated, below the work tree
	old  []string // lines that occur exactly once; none: create the file
	new  []string // their replacement
	line int      // of the answer, from 1
}

// minMarker is the shortest length of a marker.
const minMarker = 7

// marker parses a line of n or more of one of < = >, with an optional word.
func marker(line string) (kind byte, n int, word string) {
	if line == "" || !strings.ContainsRune("<=>", rune(line[0])) {
		return 0, 0, ""
	}
	kind = line[0]
	for n < len(line) && line[n] == kind {
		n++
	}
	word = strings.TrimSpace(line[n:])
	wants := map[byte]string{'<': "SEARCH", '=': "", '>': "REPLACE"}[kind]
	if n < minMarker || word != wants {
		return 0, 0, ""
	}
	return kind, n, word
}

// parseAnswer reads what a model said in the edit protocol:
//
//	path/of/the/file
//	<<<<<<< SEARCH
//	lines that are there, exactly, once
//	=======
//	lines that take their place
//	>>>>>>> REPLACE
//
// The last line before the block names the file, and a line of ``` may stand
// around the block or between the two. The three markers of a block have the
// same length, 7 or more: a block that contains such a line takes longer ones.
// All other text is returned as the model's words. One incomplete block makes
// the whole answer invalid.
func parseAnswer(text string) (edits []edit, words string, err error) {
	lines := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	name, nameAt := "", 0 // the last non-empty line, and its number
	var said []string
	flush := func() {
		if nameAt > 0 {
			said = append(said, name)
		}
		name, nameAt = "", 0
	}
	for i := 0; i < len(lines); i++ {
		line := strings.TrimRight(lines[i], " \t\r")
		kind, n, _ := marker(line)
		switch {
		case kind == '<':
			if nameAt == 0 {
				return nil, "", fmt.Errorf("line %d of the answer begins a block, but no line before it names the file", i+1)
			}
			e := edit{file: name, line: i + 1}
			if e.file, err = fileName(name); err != nil {
				return nil, "", fmt.Errorf("line %d of the answer: %w", nameAt, err)
			}
			end, err := e.body(lines, i+1, n)
			if err != nil {
				return nil, "", err
			}
			edits = append(edits, e)
			name, nameAt, i = "", 0, end
		case kind != 0:
			return nil, "", fmt.Errorf("line %d of the answer is %q outside of a block", i+1, line)
		case strings.HasPrefix(strings.TrimSpace(line), "```"), line == "":
		default:
			flush()
			name, nameAt = line, i+1
		}
	}
	flush()
	return edits, strings.Join(said, "\n"), nil
}

// body reads the two halves of a block whose markers have n characters, and
// returns the line of its last marker.
func (e *edit) body(lines []string, from, n int) (end int, err error) {
	half := &e.old
	for i := from; i < len(lines); i++ {
		kind, m, _ := marker(strings.TrimRight(lines[i], " \t\r"))
		switch {
		case kind == 0 || m != n:
			*half = append(*half, lines[i])
		case kind == '=' && half == &e.old:
			half = &e.new
		case kind == '>' && half == &e.new:
			if len(e.old) == 0 && len(e.new) == 0 {
				return 0, fmt.Errorf("the block at line %d of the answer is empty", e.line)
			}
			return i, nil
		default:
			return 0, fmt.Errorf("line %d of the answer is %q inside the block at line %d; if the text contains such a line, use markers of %d characters or more",
				i+1, lines[i], e.line, n+1)
		}
	}
	return 0, fmt.Errorf("the block at line %d of the answer has no end", e.line)
}

// fileName returns the path that a model named, if it is valid in a work tree.
func fileName(line string) (string, error) {
	name := strings.TrimSpace(line)
	switch {
	case strings.ContainsAny(name, "\x00\\`*:") || strings.Contains(name, "//"):
		return "", fmt.Errorf("%q is not a path: put only the file's path on the line before the block", line)
	case path.IsAbs(name) || path.Clean(name) != name || name == "." || name == ".." || strings.HasPrefix(name, "../"):
		return "", fmt.Errorf("%q is not a path below the work tree", line)
	}
	for _, part := range strings.Split(name, "/") {
		if policy.GitsOwn(part) {
			return "", fmt.Errorf("%q belongs to git", line)
		}
	}
	return name, nil
}

package executor

import (
	"fmt"
	"path"
	"slices"
	"sort"
	"strings"

	"aisync.dev/aisync/agents/task"
)

// perToken is the assumed number of bytes in a token: code has three to four, so
// an estimate is rarely too low.
const perToken = 3

// protocol is the system prompt.
const protocol = `You change files of a repository. You answer with edits, each in exactly this form:

path/of/the/file
<<<<<<< SEARCH
the lines that are there now
=======
the lines that take their place
>>>>>>> REPLACE

- The line before a block is the path and nothing else, as it is given to you.
- The lines between SEARCH and ======= are copied from the file character by
  character, with all of their blanks, and are there exactly once: take as many
  lines around a change as make them so, and no more.
- For a new file there is nothing between SEARCH and =======.
- Several edits, of one file or of several, follow one another.
- Where the lines themselves hold such a marker, all three markers of the block
  have one more character.
- Do only what is asked. You cannot run anything, and see no file but these.`

// prompt returns the question of one step, with as many bytes of files as fit in
// room. The file that the step names must be among them.
func prompt(w task.Work, f *files, room int) (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "# The goal of the task\n\n%s\n\n", strings.TrimSpace(w.Task.Goal))
	if len(w.Task.Assumptions) > 0 {
		fmt.Fprintf(&b, "# Notes\n\n- %s\n\n", strings.Join(w.Task.Assumptions, "\n- "))
	}
	fmt.Fprintf(&b, "# What you may write\n\nPaths that match %s; anything else fails the task.\n\n", strings.Join(w.Task.Write, ", "))
	shown, named := 0, 0
	var unseen []string
	for _, name := range byRelevance(w) {
		own := name == w.Step.File
		if info, err := f.root.Lstat(name); !own && (err != nil || info.Size() > int64(room-shown)) {
			unseen = append(unseen, name)
			continue
		}
		t, err := f.read(name)
		if err != nil {
			if own {
				return "", fmt.Errorf("step %s: %w", w.Step.ID, err)
			}
			unseen = append(unseen, name)
			continue
		}
		text := string(t.bytes())
		if t.crlf {
			text = strings.ReplaceAll(text, "\r\n", "\n")
		}
		if shown+len(text) > room {
			if own {
				return "", fmt.Errorf("step %s: %s has %d bytes, more than the %d that fit in the model's context", w.Step.ID, name, len(text), room)
			}
			unseen = append(unseen, name)
			continue
		}
		if named == 0 {
			b.WriteString("# Files\n\n")
		}
		named++
		shown += len(text)
		fmt.Fprintf(&b, "%s (%d lines) between the next two lines of ~~~~\n~~~~\n%s", name, len(t.lines), text)
		if t.open {
			b.WriteByte('\n')
		}
		b.WriteString("~~~~\n\n")
	}
	if len(unseen) > 0 {
		const most = 200
		more := ""
		if n := len(unseen) - most; n > 0 {
			unseen, more = unseen[:most], fmt.Sprintf("\n(and %d more)", n)
		}
		fmt.Fprintf(&b, "# Files that are there and not shown\n\n%s%s\n\n", strings.Join(unseen, "\n"), more)
	}
	b.WriteString("# What to do now\n\n")
	if w.Step.File != "" {
		fmt.Fprintf(&b, "In %s:\n\n", w.Step.File)
	}
	fmt.Fprintf(&b, "%s\n", strings.TrimSpace(w.Step.Instructions))
	if w.Earlier != "" {
		fmt.Fprintf(&b, "\nAn earlier try failed: %s\n", strings.TrimSpace(w.Earlier))
	}
	return b.String(), nil
}

// byRelevance sorts the readable files by their relevance to the step: the file that
// it names, files named in it or in the goal, files beside it, the rest.
func byRelevance(w task.Work) []string {
	said := w.Step.Instructions + "\n" + w.Task.Goal
	rank := func(name string) int {
		switch {
		case name == w.Step.File:
			return 0
		case strings.Contains(said, name):
			return 1
		case strings.Contains(said, path.Base(name)):
			return 2
		case w.Step.File != "" && path.Dir(name) == path.Dir(w.Step.File):
			return 3
		}
		return 4
	}
	out := slices.Clone(w.Readable)
	sort.Slice(out, func(i, j int) bool {
		a, b := out[i], out[j]
		return rank(a) < rank(b) || rank(a) == rank(b) && a < b
	})
	return out
}

package task

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Draft is a task that a person starts to write. Its text marks what is missing.
type Draft struct {
	ID, Goal, By string
	At           time.Time
	Priority     int
	Tier         string
	Requires     []string
	Files        []string // one edit step each, with the goal as its instructions
	Commands     []string // one run step each
	Write, Read  []string // none: the files
	Verify       []string
}

// Text returns the draft as a task file of version "1".
func (d Draft) Text() []byte {
	var b strings.Builder
	line := func(indent int, format string, args ...any) {
		fmt.Fprintf(&b, strings.Repeat(" ", indent)+format+"\n", args...)
	}
	list := func(indent int, name string, all []string, empty string) {
		if len(all) == 0 {
			line(indent, "%s: []%s", name, empty)
			return
		}
		line(indent, "%s:", name)
		for _, s := range all {
			line(indent+2, "- %s", quoted(s))
		}
	}
	line(0, `version: "1"`)
	line(0, "metadata:")
	line(2, "id: %s", quoted(d.ID))
	if d.By != "" {
		line(2, "created_by: %s", quoted(d.By))
	}
	line(2, "created_at: %s", quoted(d.At.UTC().Format(time.RFC3339)))
	line(2, "priority: %d  # 1 critical, 2 high, 3 normal, 4 low", d.Priority)
	if d.Tier != "" {
		line(0, "complexity:")
		line(2, "tier: %s", quoted(d.Tier))
	}
	if len(d.Requires) > 0 {
		line(0, "dependencies:")
		list(2, "requires_completed", d.Requires, "")
	}
	line(0, "goal: %s", quoted(d.Goal))
	line(0, "scope:")
	write := d.Write
	if len(write) == 0 {
		write = d.Files
	}
	list(2, "allowed_write_globs", write, "  # none means nowhere; * does not cross /, ** does")
	read := d.Read
	if len(read) == 0 {
		read = d.Files
	}
	list(2, "allowed_read_globs", read, "  # shown to the model beside the edited file")
	line(0, "constraints:")
	line(2, "max_files_changed: %d", max(len(d.Files), 1))
	line(2, "max_diff_bytes: 50000")
	line(2, "timeout_seconds: 300")
	line(2, "denylisted_commands: []  # regular expressions")
	d.steps(&b)
	list(0, "verify", d.Verify, "  # shell commands that all must succeed")
	return []byte(b.String())
}

func (d Draft) steps(b *strings.Builder) {
	if len(d.Files)+len(d.Commands) == 0 {
		b.WriteString(`steps: []  # at least one of
#  - id: write
#    action: create
#    file: docs/new.md
#    text: |
#      What the file is to hold.
#  - id: change
#    action: edit
#    file: src/main.go
#    instructions: |
#      What to change, precisely.
#  - id: format
#    action: run
#    command: gofmt -w src
`)
		return
	}
	b.WriteString("steps:\n")
	for n, f := range d.Files {
		fmt.Fprintf(b, "  - id: edit-%d\n    action: edit\n    file: %s\n    instructions: %s\n", n+1, quoted(f), quoted(d.Goal))
	}
	for n, c := range d.Commands {
		fmt.Fprintf(b, "  - id: run-%d\n    action: run\n    command: %s\n", n+1, quoted(c))
	}
}

// quoted returns s as a YAML string; YAML knows every escape that Go writes.
// https://yaml.org/spec/1.2.2/#57-escaped-characters
func quoted(s string) string { return strconv.Quote(s) }

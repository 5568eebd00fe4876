package quick

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"runtime"

	"aisync.dev/aisync/agents/identity"
	"aisync.dev/aisync/agents/process"
	"aisync.dev/aisync/agents/project"
	"aisync.dev/aisync/schema/spec"
)

// Call is one call of one of the commands.
type Call struct {
	Getenv func(string) string
	// Runtimes is what is known of agent programs in a project, "" outside one;
	// an error where that cannot be told without evaluating a spec.
	Runtimes func(root string) ([]spec.Runtime, error)
	Out, Err io.Writer
	Version  string // of this binary; "" where it has to be looked for

	Project              string // --project
	JSON, Quiet, Verbose bool

	Compat bool          // detect --compat
	Field  string        // detect --field: one of Fields, or ""
	Table  process.Table // of roster --proc; nil is this machine's
}

// FormatVersion is the format_version of the JSON documents of commands: a new
// field moves the second number, a changed meaning the first.
const FormatVersion = "1.0"

func (c Call) printf(format string, args ...any) { fmt.Fprintf(c.Out, format, args...) }

func (c Call) say(format string, args ...any) {
	if !c.Quiet {
		fmt.Fprintf(c.Err, format+"\n", args...)
	}
}

// writeJSON prints v as the result.
func (c Call) writeJSON(v any) error {
	enc := json.NewEncoder(c.Out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// Root is the root of the project that the caller is at work in: that of
// --project, of AI_PROJECT_DIR, or of the working folder.
func (c Call) Root() (string, error) {
	return project.Root(cmp.Or(c.Project, c.Getenv(identity.VarProject), "."))
}

// ContextPath prints where the caller's context lies.
func (c Call) ContextPath() (int, error) {
	root, err := c.Root()
	if err != nil {
		return 0, err
	}
	id, err := project.Caller(root, c.Getenv)
	if err != nil {
		return 0, err
	}
	c.printf("%s\n", project.ContextOf(root, id))
	return 0, nil
}

// PrintVersion prints the version of aisync, of the Go that built it, and the platform.
func (c Call) PrintVersion() (int, error) {
	if c.Version == "" {
		return 0, errElsewhere
	}
	c.printf("aisync %s %s %s/%s\n", c.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return 0, nil
}

// Version is set by the linker; see Makefile. It is empty in a plain `go build` or
// `go install`.
var Version string

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

// Call is one invocation of one of the commands.
type Call struct {
	Getenv func(string) string
	// Runtimes returns the known runtimes in a project, "" outside one; an error
	// where a spec must be evaluated first.
	Runtimes func(root string) ([]spec.Runtime, error)
	Out, Err io.Writer
	Version  string // of this binary; "": look it up

	Project              string // --project
	Folder               string // the folder that roster or session path is given
	JSON, Quiet, Verbose bool

	Compat bool          // detect --compat
	Field  string        // detect --field: one of Fields, or ""
	Role   bool          // detect --role
	RoleOf RoleOf        // nil: unknown without more packages
	Table  process.Table // of roster --proc; nil: this machine's
}

// FormatVersion is the format_version of the commands' JSON documents: a new
// field raises the second number, a changed meaning the first.
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

// Root returns the root of the project that is asked about: of the folder given,
// --project, AI_PROJECT_DIR, or the working folder.
func (c Call) Root() (string, error) {
	return project.Root(cmp.Or(c.Folder, c.Project, c.Getenv(identity.VarProject), "."))
}

// ContextPath prints the path of the caller's context. In the project of a folder
// that it is given, the variables of another project name no file: there the id
// tells.
func (c Call) ContextPath() (int, error) {
	root, err := c.Root()
	if err != nil {
		return 0, err
	}
	getenv := c.Getenv
	if own := getenv(identity.VarProject); c.Folder != "" && own != "" {
		if at, err := project.Root(own); err != nil || at != root {
			getenv = func(name string) string {
				if name == identity.VarContext {
					return ""
				}
				return c.Getenv(name)
			}
		}
	}
	id, err := project.Caller(root, getenv)
	if err != nil {
		return 0, err
	}
	c.printf("%s\n", project.ContextOf(root, id))
	return 0, nil
}

// PrintVersion prints the version of aisync, the Go version that built it, and
// the platform.
func (c Call) PrintVersion() (int, error) {
	if c.Version == "" {
		return 0, errElsewhere
	}
	c.printf("aisync %s %s %s/%s\n", c.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return 0, nil
}

// Version is set by the linker; see Makefile. It is empty in a plain `go build`
// or `go install`.
var Version string

package start

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/app/bundlepolicy"
	"aisync.dev/aisync/app/literals"
	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/internal/bundle"
	"aisync.dev/aisync/internal/bundle/yield"
	"aisync.dev/aisync/internal/quantity"
	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/schema"
	"aisync.dev/aisync/schema/spec"
)

// verdict is validate --json; see docs/json.md.
type verdict struct {
	FormatVersion string   `json:"format_version"`
	Valid         bool     `json:"valid"`
	Host          string   `json:"host,omitempty"`
	Project       string   `json:"project,omitempty"`
	Files         []string `json:"files"`
	Digest        string   `json:"digest,omitempty"`
	Errors        []Defect `json:"errors"`
	Notes         []Defect `json:"notes,omitempty"`    // in a project: that no host matches this machine
	Warnings      []Defect `json:"warnings,omitempty"` // secrets as plain text
}

// Defect is one thing that is wrong with a spec.
type Defect struct {
	spec.Position
	Path    string `json:"path,omitempty"` // hosts.velox.services.coder.port
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
}

// ValidateCommand builds the command validate.
func ValidateCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "validate",
		Short: "check the specs of this host and project",
		Long: `Reads the specs of this host and, inside a project, of the project, and prints
all errors as file:line:col: message. Of bundle sources it reads those that are on
this machine: what a spec names in them must be there. It reads no target and no
state, and fetches nothing. Inside a project, a machine that no host matches is not an error.

Exit code 0: the specs are valid; 1: they are not.`,
		Example:     "  $ aisync validate\n  the specs are valid: host velox, project org-drill",
		Annotations: map[string]string{"effect": "read-only"},
		Args:        cli.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := a.Places()
			if err != nil {
				return err
			}
			v := verdict{FormatVersion: cli.ViewVersion, Files: []string{}, Errors: []Defect{}}
			o := schema.Options{}
			if p.Project != "" {
				o.NoHost = func(why schema.Problem) { v.Notes = append(v.Notes, defectOf(why)) }
			}
			s, err := a.Machine(p).LoadSpec(cmd.Context(), o)
			v.Valid = err == nil
			if err == nil {
				y := yield.Spec{Host: s.Host, Project: s.Project, Runtimes: catalog.With(s.Catalog).Runtimes(), Sources: a.Machine(p).OwnSources(), Fault: true}
				err = errors.Join(yield.Check(cmd.Context(), y), bundlepolicy.Check(cmd.Context(), s.Limits, y))
				v.Valid = err == nil
			}
			if err == nil {
				v.Host, v.Project = names(s)
				v.Files, v.Digest = append(v.Files, s.Files...), s.Digest
				for _, l := range literals.Of(s, true, true) {
					v.Warnings = append(v.Warnings, Defect{Position: l.Pos, Message: l.Text})
				}
			} else if v.Errors = Defects(err); len(v.Errors) == 0 {
				return err // not an error of a spec: a folder that cannot be read
			}
			return report(a, v)
		},
	}
}

// names returns the names of host and project in s, "" for a missing one.
func names(s *spec.Spec) (host, project string) {
	if s.Host != nil {
		host = s.Host.Name
	}
	if s.Project != nil {
		project = s.Project.Name
	}
	return host, project
}

func defectOf(p schema.Problem) Defect { return Defect{p.Pos, p.Path, p.Message, p.Hint} }

// Text returns d as one line.
func (d Defect) Text() string {
	text := d.Message
	if d.Path != "" {
		text = d.Path + ": " + text
	}
	if d.File != "" {
		text = d.Position.String() + ": " + text
	}
	if d.Hint != "" {
		text += "; " + d.Hint
	}
	return text
}

// Defects returns the errors of specs in err.
func Defects(err error) []Defect {
	out := []Defect{}
	for _, e := range advice.Split(err) {
		var p schema.Problem
		var nothing *bundle.Refusal
		switch {
		case errors.As(e, &p):
			out = append(out, defectOf(p))
		case errors.As(e, &nothing):
			out = append(out, Defect{Position: nothing.Pos, Message: nothing.Err.Error()})
		}
	}
	return out
}

// report prints v and returns the exit code as an error.
func report(a *cli.App, v verdict) error {
	switch {
	case a.Flags.JSON:
		if err := a.WriteJSON(v); err != nil {
			return err
		}
	case v.Valid:
		var what []string
		if v.Host != "" {
			what = append(what, "host "+v.Host)
		}
		if v.Project != "" {
			what = append(what, "project "+v.Project)
		}
		a.Printf("the specs are valid: %s\n", termtext.Safe(strings.Join(what, ", ")))
	default:
		for _, d := range v.Errors {
			a.Printf("%s\n", cli.OneMessage(d.Text()))
		}
		a.Say("%s in the specs", quantity.Count(len(v.Errors), "error"))
	}
	if !a.Flags.JSON {
		for _, d := range v.Notes {
			a.Say("note: %s", cli.OneMessage(d.Text()))
		}
		for _, d := range v.Warnings {
			a.Say("warning: %s", cli.OneMessage(d.Text()))
		}
	}
	if !v.Valid {
		return cli.Exit(cli.ExitError)
	}
	return nil
}

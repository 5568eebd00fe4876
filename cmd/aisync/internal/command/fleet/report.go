// Package fleet provides the commands report and fleet: what a machine says of itself,
// and what many said.
package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/app/doctor"
	"aisync.dev/aisync/app/drift"
	"aisync.dev/aisync/app/fleet"
	"aisync.dev/aisync/app/projects"
	"aisync.dev/aisync/app/stack"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/cmd/aisync/internal/everyproject"
	"aisync.dev/aisync/internal/atomicfile"
	"aisync.dev/aisync/internal/secret"
	"aisync.dev/aisync/internal/termtext"
)

// reportFlags are the flags of report.
type reportFlags struct {
	to, textfile string
	project      bool // print what belongs to the project alone
}

// ReportCommand builds the command report.
func ReportCommand(a *cli.App) *cobra.Command {
	var f reportFlags
	cmd := &cobra.Command{
		Use:   "report",
		Short: "say what this machine has, and what is wrong, for a fleet",
		Long: `Reports versions of aisync and of the agent programs, the spec's commit and what
it extends, pins, drift and the checks of doctor: of the host, and with --all of
the projects below its roots. It prompts no model and changes nothing that it
looks at.

With --to it writes FOLDER/HOSTNAME.json, which aisync fleet FOLDER reads with
those of other machines; with --textfile a file for node_exporter's textfile
collector. Both are replaced in one step. A report is made even where the spec
is wrong. It holds no secrets and no contents of files; paths are below ~.

Exit code 0: the report was made, whatever it says.`,
		Example:     "  $ aisync report --json\n  $ aisync report --all --to /mnt/fleet\n  $ aisync report --textfile /var/lib/node_exporter/aisync.prom",
		Annotations: map[string]string{"effect": "writes"},
		Args:        cli.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.project {
				return projectPart(cmd.Context(), a)
			}
			r, err := hostReport(cmd.Context(), a)
			if err != nil {
				return err
			}
			return f.deliver(a, r)
		},
	}
	cmd.Flags().StringVar(&f.to, "to", "", "write the report into `FOLDER`, which must exist")
	cmd.Flags().StringVar(&f.textfile, "textfile", "", "write metrics to `FILE`, whose name ends with .prom")
	cmd.Flags().BoolVar(&f.project, "project-part", false, "print what belongs to the project alone")
	_ = cmd.Flags().MarkHidden("project-part") // cannot fail: the flag exists
	everyproject.Register(cmd, a, func(ctx context.Context, run *everyproject.Run) error { return reportAll(ctx, run, f) })
	return cmd
}

// reportAll is the report of the host and of every project.
func reportAll(ctx context.Context, run *everyproject.Run, f reportFlags) error {
	r, err := hostReport(ctx, run.App)
	if err != nil {
		return err
	}
	clean := cleaner(run.App)
	r.Projects = []fleet.Project{}
	args := run.Command([]string{"to", "textfile"}, nil, "--project-part")
	for _, answer := range run.Each(ctx, run.List, everyproject.Parallel(), func(projects.Project) []string { return args }, nil) {
		var p fleet.Project
		if err := json.Unmarshal([]byte(answer.Out), &p); err != nil {
			p = fleet.Project{Error: clean(answer.Error())}
			if p.Error == "" {
				p.Error = clean(err.Error())
			}
		}
		p.Name = clean(answer.Dir)
		r.Projects = append(r.Projects, p)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return f.deliver(run.App, r)
}

// deliver writes and prints r.
func (f reportFlags) deliver(a *cli.App, r *fleet.Report) error {
	write := func(file string, text []byte) error {
		if err := atomicfile.Write(file, text, atomicfile.Options{Mode: 0o644}); err != nil {
			return fmt.Errorf("write the report: %w", err)
		}
		if !a.Flags.JSON {
			a.Printf("wrote %s\n", termtext.Safe(file))
		}
		return nil
	}
	if f.textfile != "" {
		if !strings.HasSuffix(f.textfile, ".prom") {
			return cli.Usagef("--textfile %q: node_exporter reads files whose names end with .prom", termtext.Safe(f.textfile))
		}
		if err := write(f.textfile, r.Textfile()); err != nil {
			return err
		}
	}
	if f.to != "" {
		if info, err := os.Stat(f.to); err != nil || !info.IsDir() {
			return fmt.Errorf("--to %s: no such folder; is it mounted? aisync makes none", termtext.Safe(f.to))
		}
		if err := write(filepath.Join(f.to, fleet.FileName(r.Hostname)), r.Bytes()); err != nil {
			return err
		}
	}
	switch {
	case a.Flags.JSON:
		_, err := a.Out.Write(r.Bytes())
		return err
	case f.to == "" && f.textfile == "":
		row := fleet.Judge(fleet.FileName(r.Hostname), r.Bytes(), fleet.Options{Now: time.Now(), Stale: time.Hour})
		printRows(a, []fleet.Row{row})
		a.Hint("aisync report --json has all of it")
	}
	return nil
}

// hostReport looks at the host. Only without a machine to look at is it an error.
func hostReport(ctx context.Context, a *cli.App) (*fleet.Report, error) {
	m, err := a.Target(stack.ScopeHost)
	if err != nil {
		return nil, err
	}
	m.Places.Project, m.Places.From = "", ""
	f, err := m.Facts()
	if err != nil {
		return nil, err
	}
	clean := cleaner(a)
	r := &fleet.Report{
		FormatVersion: fleet.Version, Kind: fleet.Kind, Hostname: f.Hostname, Made: time.Now().UTC().Truncate(time.Second),
		Aisync: fleet.Program{Version: cli.VersionText(), OS: runtime.GOOS, Arch: runtime.GOARCH},
		Bases:  []fleet.Base{}, Runtimes: []fleet.Runtime{}, Pins: []fleet.Pin{},
	}
	specOf(ctx, a, m, r)
	v, err := stack.Look(ctx, m, stack.ScopeHost)
	if err != nil {
		r.Spec.Error = clean(err.Error())
		err = errors.New("the spec cannot be used")
	} else {
		ofView(v, r, clean)
	}
	r.Drift = driftOf(ctx, v, err, clean)
	r.Doctor = doctorOf(ctx, m, stack.ScopeHost, clean)
	return r, ctx.Err()
}

// projectPart prints what belongs to the project, as JSON.
func projectPart(ctx context.Context, a *cli.App) error {
	m, err := a.Target(stack.ScopeProject)
	if err != nil {
		return err
	}
	clean := cleaner(a)
	v, err := stack.Look(ctx, m, stack.ScopeProject)
	p := fleet.Project{Drift: driftOf(ctx, v, err, clean), Doctor: doctorOf(ctx, m, stack.ScopeProject, clean)}
	text, _ := json.Marshal(p) // texts and numbers: cannot fail
	_, err = a.Out.Write(append(text, '\n'))
	return errors.Join(err, ctx.Err())
}

// cleaner returns texts in one line, without secrets, and with ~ for the home.
func cleaner(a *cli.App) func(string) string {
	home := ""
	if p, err := a.HostPlaces(); err == nil {
		home = string(p.Home)
	}
	return func(text string) string {
		text = secret.MaskText(text)
		if home != "" && home != "/" {
			text = strings.ReplaceAll(text+"\x00", home+"/", "~/")
			text = strings.TrimSuffix(strings.ReplaceAll(text, home+"\x00", "~"), "\x00")
		}
		return termtext.OneLine(strings.ReplaceAll(text, "\n", "; "))
	}
}

// most is how many addresses and findings a report names.
const most = 100

func driftOf(ctx context.Context, v *stack.View, err error, clean func(string) string) fleet.Drift {
	out := fleet.Drift{Addresses: []string{}}
	var d *drift.Report
	if err == nil {
		d, err = drift.Of(ctx, v, drift.Options{})
	}
	if err != nil {
		out.Error = clean(err.Error())
		return out
	}
	out.Checked, out.Drift, out.Pending, out.Unknown = d.Checked, len(d.Drift), len(d.Pending), len(d.Unknown)
	for _, list := range [][]drift.Difference{d.Drift, d.Pending, d.Unknown} {
		for _, x := range list {
			if len(out.Addresses) < most {
				out.Addresses = append(out.Addresses, clean(string(x.Address)))
			}
		}
	}
	return out
}

func doctorOf(ctx context.Context, m *stack.Machine, s stack.Scope, clean func(string) string) fleet.Doctor {
	out := fleet.Doctor{Findings: []fleet.Finding{}}
	e := doctor.Open(ctx, m, doctor.Options{Scope: s, NoPrompt: true})
	checks := slices.DeleteFunc(e.Checks(), func(c doctor.Check) bool { return c.Name == "drift" }) // which a report has apart
	for _, c := range doctor.Examine(ctx, e, checks) {
		*map[string]*int{"ok": &out.OK, "skip": &out.Skip, "warn": &out.Warn, "fail": &out.Fail}[c.Result]++
		for _, f := range c.Findings {
			if (f.Level == "fail" || f.Level == "warn") && len(out.Findings) < most {
				out.Findings = append(out.Findings, fleet.Finding{Check: c.Name, Level: f.Level, What: clean(f.What)})
			}
		}
	}
	return out
}

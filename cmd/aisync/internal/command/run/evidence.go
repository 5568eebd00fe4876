package run

import (
	"cmp"
	"fmt"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	runs "aisync.dev/aisync/agents/run"
	"aisync.dev/aisync/agents/run/supervise"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/internal/quantity"
	"aisync.dev/aisync/internal/termtext"
)

func runEvidenceCommand(a *cli.App) *cobra.Command {
	var verify bool
	cmd := &cobra.Command{
		Use:   "evidence [RUN]",
		Short: "list what proves the work of a run, and whether it is still as it was",
		Long: `Lists the evidence of a run: commands with their exit codes, outputs that were kept,
and artifacts in the workspace, each with its digest. --verify digests the files
again and exits 1 if one was changed or is gone. It writes nothing; add records more.`,
		Annotations: map[string]string{"effect": "read-only"},
		Args:        cli.MaxArgs(1),
		ValidArgsFunction: func(p0 *cobra.Command, args []string, p2 string) ([]string, cobra.ShellCompDirective) {
			return runIDs(a, p0, args, p2)
		},
		RunE: func(_ *cobra.Command, args []string) error {
			return onRun(a, oneRun(args), func(r *runs.Run) error { return listEvidence(a, r, verify) })
		},
	}
	cmd.Flags().BoolVar(&verify, "verify", false, "digest the files again")
	cmd.AddCommand(runEvidenceAdd(a))
	return cmd
}

func listEvidence(a *cli.App, r *runs.Run, verify bool) error {
	list, s, err := r.EvidenceList()
	if err != nil {
		return err
	}
	for i := range list {
		if verify {
			r.CheckEvidence(&list[i])
		}
	}
	missing := map[string][]string{}
	for i := range s.Tasks {
		if t := &s.Tasks[i]; t.Status != runs.TaskDone {
			if lacks := s.Missing(t); len(lacks) > 0 {
				missing[t.ID] = lacks
			}
		}
	}
	if a.Flags.JSON {
		err = a.WriteJSON(struct {
			FormatVersion string              `json:"format_version"`
			Run           string              `json:"run"`
			Evidence      []runs.EvidenceAt   `json:"evidence"`
			Missing       map[string][]string `json:"missing"` // of tasks that are not completed
		}{cli.ViewVersion, r.ID, list, missing})
	} else {
		w := tabwriter.NewWriter(a.Out, 0, 0, 2, ' ', 0)
		for _, e := range list {
			what := strings.TrimSpace(e.Command + " " + e.Ref)
			if e.ExitCode != nil {
				what += fmt.Sprintf(" (exit %d)", *e.ExitCode)
			}
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", e.ID, cmp.Or(e.Task, "-"), strings.TrimSuffix(e.Kind+":"+e.Name, ":"), termtext.Safe(what), shortDigest(e.Digest), e.Now)
		}
		w.Flush()
		for i := range s.Tasks {
			if lacks := missing[s.Tasks[i].ID]; len(lacks) > 0 {
				a.Printf("task %s still needs: %s\n", s.Tasks[i].ID, strings.Join(lacks, ", "))
			}
		}
	}
	if err != nil {
		return err
	}
	return asItWas(list)
}

// asItWas fails where a file that was looked at again is not what it was.
func asItWas(list []runs.EvidenceAt) error {
	bad := 0
	for _, e := range list {
		if e.Now != "" && e.Now != "unchanged" {
			bad++
		}
	}
	if bad > 0 {
		return fmt.Errorf("%s of evidence changed or went since it was added", quantity.Count(bad, "file"))
	}
	return nil
}

func shortDigest(d string) string {
	if len(d) > 19 {
		return d[:19]
	}
	return d
}

// evidenceFlags are those of run evidence add.
type evidenceFlags struct {
	runs.Evidence
	token, output, artifact string
	exit                    int
	ofRun                   bool
}

func runEvidenceAdd(a *cli.App) *cobra.Command {
	var e evidenceFlags
	cmd := &cobra.Command{
		Use:   "add",
		Short: "record what proves the work on a task",
		Long: `Records one piece of evidence for the task whose claim you hold (AISYNC_CLAIM, or
--token), or with --of-run for the run itself:

  --command CMD --exit-code N   that a command ran; with --output what it said, too
  --output FILE                 what something said (- is stdin); it is copied
  --artifact FILE               a file of the workspace, which stays where it is

Files are recorded with their digests. A command that failed is kept, and proves
nothing.`,
		Example:     "  $ make test > log; aisync run evidence add --command 'make test' --exit-code $? --output log --name tests\n  $ aisync run evidence add --artifact dist/app --name build",
		Annotations: map[string]string{"effect": "writes"},
		Args:        cli.NoArgs,
	}
	id := runFlag(cmd)
	f := cmd.Flags()
	f.StringVar(&e.Command, "command", "", "the command that ran `CMD`")
	f.IntVar(&e.exit, "exit-code", -1, "its exit code `N`")
	f.StringVar(&e.output, "output", "", "a `FILE` with what it said; - is stdin")
	f.StringVar(&e.artifact, "artifact", "", "a `FILE` of the workspace")
	f.StringVar(&e.Name, "name", "", "by which a task may ask for it: KIND:`NAME`")
	f.StringVar(&e.token, "token", "", "the claim's `TOKEN`; else AISYNC_CLAIM")
	f.BoolVar(&e.ofRun, "of-run", false, "it is evidence of the run itself")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := e.check(cmd.Flags().Changed("exit-code")); err != nil {
			return err
		}
		token := cmp.Or(e.token, a.Env.Get(supervise.VarClaim))
		switch {
		case e.ofRun:
			token = ""
		case token == "":
			return &cli.UsageError{Text: "whose evidence is it? There is no AISYNC_CLAIM, which a supervisor gives its workers", Advice: "the same command with --token, or with --of-run"}
		}
		return onRun(a, *id, func(r *runs.Run) error { return addEvidence(a, r, token, &e) })
	}
	return cmd
}

func addEvidence(a *cli.App, r *runs.Run, token string, e *evidenceFlags) error {
	if token != "" { // what nobody may add is not copied either
		if s, err := r.State(); err == nil && s.Holder(token) == nil {
			return r.AddEvidence(token, runs.Evidence{})
		}
	}
	if err := gatherEvidence(a, r, e); err != nil {
		return err
	}
	if err := r.AddEvidence(token, e.Evidence); err != nil {
		return err
	}
	return runSaid(a, struct {
		FormatVersion string `json:"format_version"`
		Run           string `json:"run"`
		runs.Evidence
	}{cli.ViewVersion, r.ID, e.Evidence}, "%s", e.ID)
}

func (e *evidenceFlags) check(exitCode bool) error {
	switch {
	case e.Command == "" && e.output == "" && e.artifact == "":
		return cli.Usagef("run evidence add wants --command, --output or --artifact")
	case e.artifact != "" && (e.Command != "" || e.output != ""):
		return cli.Usagef("--artifact is a piece of its own: add it by itself")
	case e.Command != "" && !exitCode:
		return cli.Usagef("--command wants --exit-code: whether it did what it should")
	case e.Command == "" && exitCode:
		return cli.Usagef("--exit-code wants --command: what it is of")
	}
	return nil
}

// gatherEvidence fills in the kind, the reference and the digest.
func gatherEvidence(a *cli.App, r *runs.Run, e *evidenceFlags) (err error) {
	e.ID, e.Kind = runs.NewEvidenceID(), "output"
	switch {
	case e.artifact != "":
		e.Kind = "artifact"
		e.Ref, e.Digest, e.Size, err = r.Artifact(e.artifact)
	case e.output == "-":
		e.Ref, e.Digest, e.Size, err = r.KeepOutput(a.Input())
	case e.output != "":
		f, openErr := os.Open(e.output)
		if openErr != nil {
			return fmt.Errorf("evidence: %w", openErr)
		}
		defer f.Close()
		e.Ref, e.Digest, e.Size, err = r.KeepOutput(f)
	}
	if e.Command != "" {
		e.Kind, e.ExitCode = "command", &e.exit
	}
	return err
}

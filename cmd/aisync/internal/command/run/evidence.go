package run

import (
	"cmp"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	runs "aisync.dev/aisync/agents/run"
	"aisync.dev/aisync/agents/supervise"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/internal/quantity"
	"aisync.dev/aisync/internal/termtext"
)

func runEvidenceCommand(a *cli.App) *cobra.Command {
	var verify bool
	cmd := &cobra.Command{
		Use:   "evidence [RUN]",
		Short: "list the evidence of a run, and verify that it is unchanged",
		Long: `Lists the evidence of a run: commands with their exit codes, recorded outputs,
and artifacts in the workspace, each with its digest. --verify digests the files
again and exits 1 if one is changed or missing. It writes nothing.`,
		Annotations: map[string]string{"effect": "read-only"},
		Args:        cli.MaxArgs(1),
		ValidArgsFunction: func(p0 *cobra.Command, args []string, p2 string) ([]string, cobra.ShellCompDirective) {
			return runIDs(a, p0, args, p2)
		},
		RunE: func(_ *cobra.Command, args []string) error {
			return onRun(a, oneRun(args), func(r *runs.Run) error { return listEvidence(a, r, verify) })
		},
	}
	cmd.Flags().BoolVar(&verify, "verify", false, "digest the files again and compare")
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
			Missing       map[string][]string `json:"missing"` // for tasks that are not completed
		}{cli.ViewVersion, r.ID, list, missing})
	} else {
		w := a.Table()
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
	return checkUnchanged(list)
}

// checkUnchanged returns an error if verified evidence is changed or missing.
func checkUnchanged(list []runs.EvidenceAt) error {
	bad := 0
	for _, e := range list {
		if e.Now != "" && e.Now != "unchanged" {
			bad++
		}
	}
	if bad > 0 {
		return fmt.Errorf("%s of evidence changed or missing since it was added", quantity.Count(bad, "file"))
	}
	return nil
}

func shortDigest(d string) string {
	if len(d) > 19 {
		return d[:19]
	}
	return d
}

// evidenceFlags holds the flags of run evidence add.
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
		Short: "record evidence of the work on a task",
		Long: `Records one piece of evidence for the task whose claim you hold (AISYNC_CLAIM,
or --token), or with --of-run for the run itself:

  --command CMD --exit-code N   a command that ran; with --output also its output
  --output FILE                 an output (- is stdin), which is copied
  --artifact FILE               a file of the workspace, which stays there

It records files with their digests. A failed command is recorded, but does not
count.`,
		Example:     "  $ make test > log; aisync run evidence add --command 'make test' --exit-code $? --output log --name tests\n  $ aisync run evidence add --artifact dist/app --name build",
		Annotations: map[string]string{"effect": "writes"},
		Args:        cli.NoArgs,
	}
	id := runFlag(cmd)
	f := cmd.Flags()
	f.StringVar(&e.Command, "command", "", "record that `CMD` ran")
	f.IntVar(&e.exit, "exit-code", -1, "with --command: its exit code `N`")
	f.StringVar(&e.output, "output", "", "record the output in `FILE`; - is stdin")
	f.StringVar(&e.artifact, "artifact", "", "record `FILE` of the workspace")
	f.StringVar(&e.Name, "name", "", "name it `NAME`, which a task may require as KIND:NAME")
	f.StringVar(&e.token, "token", "", "the claim's `TOKEN` (default: AISYNC_CLAIM)")
	f.BoolVar(&e.ofRun, "of-run", false, "record evidence of the run itself")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := e.check(cmd.Flags().Changed("exit-code")); err != nil {
			return err
		}
		token := cmp.Or(e.token, a.Env.Get(supervise.VarClaim))
		switch {
		case e.ofRun:
			token = ""
		case token == "":
			return &cli.UsageError{Text: "missing --token: AISYNC_CLAIM, which a supervisor sets for its workers, is not set", Advice: "the same command with --token, or with --of-run"}
		}
		return onRun(a, *id, func(r *runs.Run) error { return addEvidence(a, r, token, &e) })
	}
	return cmd
}

func addEvidence(a *cli.App, r *runs.Run, token string, e *evidenceFlags) error {
	if token != "" { // do not copy files for an invalid token
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
	return printResult(a, struct {
		FormatVersion string `json:"format_version"`
		Run           string `json:"run"`
		runs.Evidence
	}{cli.ViewVersion, r.ID, e.Evidence}, "%s", e.ID)
}

func (e *evidenceFlags) check(exitCode bool) error {
	switch {
	case e.Command == "" && e.output == "" && e.artifact == "":
		return cli.Usagef("run evidence add: missing --command, --output or --artifact")
	case e.artifact != "" && (e.Command != "" || e.output != ""):
		return cli.Usagef("--artifact excludes --command and --output: add it separately")
	case e.Command != "" && !exitCode:
		return cli.Usagef("--command needs --exit-code")
	case e.Command == "" && exitCode:
		return cli.Usagef("--exit-code needs --command")
	}
	return nil
}

// gatherEvidence sets the id, kind, reference and digest of e, and copies its output.
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

package apply

import (
	"encoding/json"
	"fmt"
	"strings"

	"aisync.dev/aisync/app/effects"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/cmd/aisync/internal/everyproject"
	"aisync.dev/aisync/internal/quantity"
)

// conclude prints the last line.
func (p *applying) conclude(all int) error {
	a := p.run.App
	if a.Flags.JSON {
		return a.WriteJSONLine(struct {
			Type          string                     `json:"type"`
			FormatVersion string                     `json:"format_version"`
			Projects      int                        `json:"projects"`
			Applied       int                        `json:"applied"`
			Resources     int                        `json:"resources"`
			LeftOut       int                        `json:"left_out"`
			Failed        int                        `json:"failed"`
			WithoutSpec   []everyproject.WithoutSpec `json:"without_spec"`
		}{"summary", cli.ViewVersion, all, p.applied, p.done, p.left, p.failed, p.run.WithoutSpec()})
	}
	if p.applied+p.failed+p.left == 0 {
		a.Printf("No changes in %s.\n", quantity.Count(all, "project"))
		return nil
	}
	line := fmt.Sprintf("%s in %s: %s.", p.past, quantity.Count(p.applied, "project"), quantity.Count(p.done, "resource"))
	if p.applied == 0 {
		line = p.past + " in no project."
	}
	if p.left > 0 {
		line += fmt.Sprintf(" %d left out, see above.", p.left)
	}
	if p.failed > 0 {
		line += fmt.Sprintf(" %d failed.", p.failed)
	}
	p.run.Gap()
	a.Printf("%s\n", line)
	if p.applied > 0 {
		a.Hint("To undo it in one project: aisync rollback there")
	}
	return nil
}

// outcome is what became of one project.
type outcome struct {
	code   int
	failed string // why not all of it was done
	id     string // of the apply
	done   int    // resources
	commit *everyproject.Commit

	printed bool // with the plans
}

// result counts and prints the outcome of a project.
func (p *applying) result(x *everyproject.Planned, o outcome) {
	p.codes = append(p.codes, o.code)
	p.done += o.done
	switch {
	case o.done > 0 || o.code == cli.ExitOK:
		p.applied++
	case o.code == cli.ExitConflict, o.code == cli.ExitDiff, o.code == cli.ExitPartial:
		p.left++
	default:
		p.failed++
	}
	commit := everyproject.Commit{}
	if o.commit != nil {
		commit = *o.commit
	}
	if commit.Why != "" {
		p.codes = append(p.codes, cli.ExitPartial)
	}
	a := p.run.App
	if a.Flags.JSON {
		_ = a.WriteJSONLine(struct {
			Type         string `json:"type"`
			Project      string `json:"project"`
			Code         int    `json:"exit_code"`
			ID           string `json:"id"`
			Done         int    `json:"done"`
			Error        string `json:"error,omitempty"`
			Commit       string `json:"commit,omitempty"`
			NotCommitted string `json:"not_committed,omitempty"`
		}{"project", x.Name, o.code, o.id, o.done, o.failed, commit.ID, commit.Why})
		return
	}
	if o.printed {
		return
	}
	text := ""
	if o.id != "" || o.done > 0 {
		text = strings.ToLower(p.past) + ": " + quantity.Count(o.done, "resource")
	}
	if o.failed != "" {
		text = strings.TrimPrefix(text+"; "+cli.OneMessage(o.failed), "; ")
	}
	p.run.PrintRows([]everyproject.Row{{Project: fmt.Sprintf("%-*s", p.width, x.Name), Text: text + commit.Text(), Failed: o.code != cli.ExitOK || commit.Why != ""}})
}

// outcomeOf reads what an apply printed. With --json its lines are passed on, each with
// its project.
func outcomeOf(r *everyproject.Run, x *everyproject.Planned, answer everyproject.Answer) outcome {
	o := outcome{code: answer.Code, failed: answer.Error()}
	for line := range strings.Lines(answer.Out) {
		var result struct {
			Type    string   `json:"type"`
			ID      string   `json:"id"`
			Done    []string `json:"done"`
			Skipped []any    `json:"skipped"`
			Failed  []struct {
				Address string `json:"address"`
				Error   string `json:"error"`
			} `json:"failed"`
		}
		if json.Unmarshal([]byte(line), &result) != nil {
			continue
		}
		if result.Type == "result" {
			o.id, o.done = result.ID, len(result.Done)
			if o.code == cli.ExitPartial { // its stderr has a line for each resource
				o.failed = ""
				if n := len(result.Skipped); n > 0 {
					o.failed = quantity.Count(n, "resource") + " left out; aisync plan there shows why"
				}
				for _, f := range result.Failed {
					o.failed = strings.TrimPrefix(o.failed+"; "+f.Address+": "+f.Error, "; ")
				}
				if o.failed == "" {
					o.failed = effects.Waiting(len(x.Undecided)) + " for your yes"
				}
			}
		}
		if r.App.Flags.JSON {
			if fields, err := everyproject.Fields(x.Name, "", line); err == nil {
				_ = r.App.WriteJSONLine(fields)
			}
		}
	}
	return o
}

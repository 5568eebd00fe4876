package start

import (
	"fmt"
	"path/filepath"
	"strings"

	"aisync.dev/aisync/app/contextreport"
	"aisync.dev/aisync/app/gather"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	editcmd "aisync.dev/aisync/cmd/aisync/internal/command/edit"
	"aisync.dev/aisync/cmd/aisync/internal/view"
	"aisync.dev/aisync/internal/quantity"
	"aisync.dev/aisync/internal/termtext"
)

// importDoc is the JSON of import.
type importDoc struct {
	FormatVersion string                     `json:"format_version"`
	DryRun        bool                       `json:"dry_run"`
	Dir           string                     `json:"dir"`
	Bundle        string                     `json:"bundle"`
	From          []gather.Origin            `json:"from"`
	Runtimes      []string                   `json:"runtimes"`
	Taken         []gather.Taken             `json:"taken"`
	Kept          []gather.Kept              `json:"kept"`
	Written       []string                   `json:"written"`
	Spec          []editcmd.EditFile         `json:"spec"`        // the changes of an existing spec
	Superfluous   []string                   `json:"superfluous"` // files that programs would read twice after an apply
	Loads         []contextreport.LoadChange `json:"loads"`       // what programs will have more and less after an apply; null: not checked
}

// document returns the JSON of the import.
func (im *importing) document() importDoc {
	doc := importDoc{
		cli.ViewVersion, im.dryRun, im.dir, im.bundle, cli.OrEmpty(im.found.From), cli.OrEmpty(im.found.Runtimes),
		cli.OrEmpty(im.found.Taken), cli.OrEmpty(im.found.Kept), cli.OrEmpty(im.written), []editcmd.EditFile{}, cli.OrEmpty(im.superfluous), im.changes,
	}
	if im.edit != nil {
		doc.Spec = im.edit.Diffs()
	}
	return doc
}

// review prints what becomes what, what stays, the specs as they will be, in texts,
// and what programs have after an apply.
func (im *importing) review(texts map[string][]byte) {
	if im.app.Flags.JSON {
		return
	}
	if im.app.Flags.Verbose {
		im.table()
		im.keptLines(im.found.Kept)
	} else {
		paint := im.app.Paint()
		im.app.Printf("%s", view.NewImportReview(im.found, im.short(im.bundle), im.options.Name).Text(paint.Bold))
	}
	if texts == nil {
		return
	}
	if im.edit != nil {
		for _, f := range im.edit.Diffs() {
			view.PrintDiff(im.app, f.Diff)
		}
	} else {
		for path, text := range texts {
			im.newFile(path, text)
		}
	}
	if len(im.superfluous) > 0 {
		im.app.Printf("programs would read these files twice after aisync apply, and none would miss them; remove them then:\n")
	}
	for _, f := range im.superfluous {
		im.app.Printf("  %s\n", termtext.Safe(f))
	}
	switch {
	case im.changes == nil:
	case len(im.changes) > 0:
		im.app.Printf("after aisync apply, programs will load:\n%s", view.LoadChangesText(im.changes))
	default:
		im.app.Printf("checked: after aisync apply, every program loads here what it loads now\n")
	}
}

// outcome prints what was written, and what stayed meanwhile: found.Kept from kept
// on.
func (im *importing) outcome(kept int, isNew bool) error {
	if im.app.Flags.JSON {
		return im.app.WriteJSON(im.document())
	}
	im.keptLines(im.found.Kept[kept:])
	switch {
	case !isNew:
		im.app.Say("nothing new to take over in %s", termtext.Safe(im.short(im.dir)))
	case im.dryRun:
		im.app.Hint("nothing was written (--dry-run)")
	default:
		im.app.Say("wrote %s", im.wrote())
		im.app.Hint("read them, then: aisync plan")
	}
	return nil
}

// keptLines prints a line for each thing that stays where it is.
func (im *importing) keptLines(kept []gather.Kept) {
	for _, k := range kept {
		im.app.Printf("kept as is: %s (%s)\n", termtext.Safe(k.Path), termtext.Safe(k.Why))
	}
}

// table prints a line for each imported thing.
func (im *importing) table() {
	var what, from int
	for _, t := range im.found.Taken {
		what, from = max(what, len(t.What)), max(from, len(termtext.Safe(t.From)))
	}
	for _, t := range im.found.Taken {
		to := t.To
		if !strings.HasPrefix(to, "mcp: ") {
			to = im.short(filepath.Join(im.bundle, to))
		}
		line := fmt.Sprintf("%-*s  %-*s  → %s", what, t.What, from, termtext.Safe(t.From), termtext.Safe(to))
		if t.Note != "" {
			line += "  (" + termtext.Safe(t.Note) + ")"
		}
		im.app.Printf("%s\n", line)
	}
}

func (im *importing) newFile(path string, text []byte) {
	paint := im.app.Paint()
	im.app.Printf("%s\n", paint.Bold("+++ "+termtext.Safe(im.short(path))))
	for line := range strings.Lines(string(text)) {
		im.app.Printf("%s\n", paint.Green("+"+termtext.Safe(strings.TrimRight(line, "\n"))))
	}
}

// wrote lists what was written.
func (im *importing) wrote() string {
	inBundle := 0
	var others []string
	for _, f := range im.written {
		if rel, err := filepath.Rel(im.bundle, f); err == nil && !strings.HasPrefix(rel, "..") {
			inBundle++
		} else {
			others = append(others, im.short(f))
		}
	}
	if im.edit != nil {
		for _, f := range im.edit.Diffs() {
			others = append(others, f.File)
		}
	}
	if len(im.found.Files) > 0 || len(others) == 0 {
		others = append([]string{quantity.Count(inBundle, "file") + " below " + im.short(im.bundle)}, others...)
	}
	return termtext.Safe(strings.Join(others, " and "))
}

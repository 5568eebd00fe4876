package start

import (
	"fmt"
	"path/filepath"
	"strings"

	"aisync.dev/aisync/app/gather"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	editcmd "aisync.dev/aisync/cmd/aisync/internal/command/edit"
	"aisync.dev/aisync/cmd/aisync/internal/view"
	"aisync.dev/aisync/internal/quantity"
	"aisync.dev/aisync/internal/termtext"
)

// importDoc is the JSON of import.
type importDoc struct {
	FormatVersion string             `json:"format_version"`
	DryRun        bool               `json:"dry_run"`
	Dir           string             `json:"dir"`
	Bundle        string             `json:"bundle"`
	From          []gather.Origin    `json:"from"`
	Runtimes      []string           `json:"runtimes"`
	Taken         []gather.Taken     `json:"taken"`
	Kept          []gather.Kept      `json:"kept"`
	Written       []string           `json:"written"`
	Spec          []editcmd.EditFile `json:"spec"`        // what is new in a spec that was there
	Superfluous   []string           `json:"superfluous"` // what programs would read twice after an apply
}

// show prints what came from where, and what was left alone. texts are the
// specs as they are now, or would be.
func (im *importing) show(texts map[string][]byte) error {
	doc := importDoc{
		cli.ViewVersion, im.dryRun, im.dir, im.bundle, cli.OrEmpty(im.found.From), cli.OrEmpty(im.found.Runtimes),
		cli.OrEmpty(im.found.Taken), cli.OrEmpty(im.found.Kept), cli.OrEmpty(im.written), []editcmd.EditFile{}, cli.OrEmpty(im.superfluous),
	}
	if im.edit != nil {
		doc.Spec = im.edit.Diffs()
	}
	if im.app.Flags.JSON {
		return im.app.WriteJSON(doc)
	}
	im.table()
	for _, k := range doc.Kept {
		im.app.Printf("kept as is: %s (%s)\n", termtext.Safe(k.Path), termtext.Safe(k.Why))
	}
	for _, f := range doc.Spec {
		view.PrintDiff(im.app, f.Diff)
	}
	if im.edit == nil {
		for path, text := range texts {
			im.newFile(path, text)
		}
	}
	if len(doc.Superfluous) > 0 {
		im.app.Printf("programs read these beside what aisync apply makes of them; when it is applied, take them away:\n")
	}
	for _, f := range doc.Superfluous {
		im.app.Printf("  %s\n", termtext.Safe(f))
	}
	switch {
	case texts == nil:
	case im.dryRun:
		im.app.Hint("nothing is written: --dry-run")
	default:
		im.app.Say("wrote %s", im.wrote())
		im.app.Hint("look at them, then: aisync plan")
	}
	return nil
}

// table prints a line for each thing that was taken over.
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

// wrote counts what was written where.
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

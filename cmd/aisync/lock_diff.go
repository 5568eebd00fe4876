package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"aisync.dev/aisync/internal/bundle"
	"aisync.dev/aisync/internal/merge"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/schema/spec"
)

// sourceMove says what became of the files of a bundle source when its pin moved.
type sourceMove struct {
	Source string      `json:"source"`
	Files  []movedFile `json:"files"`
	Note   string      `json:"note,omitempty"` // why there is no more to say
}

// movedFile is a file that differs between two versions of a source.
type movedFile struct {
	File   string `json:"file"`
	Action string `json:"action"` // "+", "-", "~", as in a plan
	Diff   string `json:"diff"`   // unified; of a file whose mode alone differs that is said instead
}

// moved notes how the tree in the folder now differs from the one that was
// pinned. What was pinned may have never come to this machine.
func (p *pinner) moved(ctx context.Context, src spec.Source, was reconcile.Pin, now string) error {
	if was.Values["tree"] == "" {
		return nil
	}
	m := sourceMove{Source: src.Name, Files: []movedFile{}}
	old := p.w.cached(was.Values["tree"])
	_, err := os.Stat(old)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		m.Note = "what was pinned before is not on this machine, so its files cannot be compared"
	case err != nil:
		return err
	default:
		if m.Files, err = treeDiff(ctx, old, now); err != nil {
			return fmt.Errorf("compare bundle source %q: %w", src.Name, err)
		}
		if len(m.Files) == 0 {
			m.Note = "no file of the bundle differs"
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.moves = append(p.moves, m)
	return nil
}

// treeDiff compares what two trees could install.
func treeDiff(ctx context.Context, from, to string) ([]movedFile, error) {
	before, err := treeFiles(ctx, from)
	if err != nil {
		return nil, err
	}
	after, err := treeFiles(ctx, to)
	if err != nil {
		return nil, err
	}
	out := []movedFile{}
	for len(before) > 0 || len(after) > 0 {
		var x, y *bundle.File
		switch {
		case len(after) == 0 || len(before) > 0 && before[0].Src < after[0].Src:
			x, before = &before[0], before[1:]
		case len(before) == 0 || after[0].Src < before[0].Src:
			y, after = &after[0], after[1:]
		default:
			x, y, before, after = &before[0], &after[0], before[1:], after[1:]
		}
		if x != nil && y != nil && x.Digest == y.Digest && x.Mode == y.Mode {
			continue
		}
		f, err := movedOne(x, y)
		if err != nil {
			return nil, err
		}
		out = append(out, f)
	}
	return out, nil
}

func treeFiles(ctx context.Context, dir string) ([]bundle.File, error) {
	t, err := new(bundle.Sources).Open(ctx, spec.Source{URL: dir})
	if err != nil {
		return nil, err
	}
	return t.Files()
}

// movedOne compares one file; x or y is nil where it is not there.
func movedOne(x, y *bundle.File) (movedFile, error) {
	m := movedFile{Action: string(reconcile.Update)}
	var old, new []byte
	var err error
	switch {
	case x == nil:
		m.Action, m.File = string(reconcile.Create), y.Src
	case y == nil:
		m.Action, m.File = string(reconcile.Delete), x.Src
	default:
		m.File = y.Src
	}
	if x != nil {
		if old, err = os.ReadFile(x.Path); err != nil {
			return m, err
		}
	}
	if y != nil {
		if new, err = os.ReadFile(y.Path); err != nil {
			return m, err
		}
	}
	if x != nil && y != nil && x.Mode != y.Mode {
		m.Diff = fmt.Sprintf("mode %04o → %04o\n", x.Mode, y.Mode)
	}
	m.Diff += merge.Unified("a/"+m.File, "b/"+m.File, old, new)
	return m, nil
}

// printMove shows m as a plan shows its resources.
func (a *app) printMove(m sourceMove, mode diffMode) {
	a.printf("\n%s\n", a.paint().bold("Bundle source "+safe(m.Source)))
	if m.Note != "" {
		a.printf("  %s\n", safe(m.Note))
	}
	t := planText{paint: a.paint()}
	for _, f := range m.Files {
		a.printf("  %s %s\n", t.symbol(reconcile.Action(f.Action)), safe(f.File))
		renderDiff(a.out, a.paint(), diffLinesOf(f.Diff), mode, "      ", "aisync lock --update")
	}
}

// diffLinesOf are the lines of a unified diff without the two that name the files.
func diffLinesOf(diff string) []reconcile.Line {
	var out []reconcile.Line
	for line := range strings.Lines(diff) {
		line = strings.TrimRight(line, "\r\n")
		switch {
		case strings.HasPrefix(line, "--- a/"), strings.HasPrefix(line, "+++ b/"):
		case strings.HasPrefix(line, "@@"):
			out = append(out, reconcile.Line{Op: '@', Text: line})
		case line != "" && strings.ContainsAny(line[:1], "+- "):
			out = append(out, reconcile.Line{Op: line[0], Text: line[1:]})
		case line != "":
			out = append(out, reconcile.Line{Op: ' ', Text: line})
		}
	}
	return out
}

package start

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"aisync.dev/aisync/app/stack"
	"aisync.dev/aisync/app/stack/place"
	editcmd "aisync.dev/aisync/cmd/aisync/internal/command/edit"
	"aisync.dev/aisync/schema"
	"aisync.dev/aisync/schema/edit"
)

// specTexts returns the valid texts of the resulting spec by path.
func (im *importing) specTexts(ctx context.Context) (map[string][]byte, error) {
	file := im.specFile()
	if _, err := os.Stat(file); !im.options.Home && errors.Is(err, fs.ErrNotExist) {
		texts := map[string][]byte{file: im.newSpec()}
		_, err := schema.Load(ctx, schema.Options{ProjectDir: im.dir, Texts: texts, Scope: schema.ProjectOnly})
		return texts, err
	}
	e := &editcmd.Editing{App: im.app, Places: im.places, Flags: editcmd.EditFlags{Scope: im.scope, DryRun: im.dryRun}}
	if err := e.Open(ctx, editcmd.KindOf("bundle")); err != nil {
		return nil, err
	}
	im.edit = e
	if err := im.addTo(e); err != nil {
		return nil, err
	}
	return e.Check(ctx, editcmd.KindOf("bundle"))
}

func (im *importing) specFile() string { return filepath.Join(im.dir, place.SpecFile) }

// source returns the bundle's folder for the spec in specDir: relative if it is below.
func (im *importing) source(specDir string) string {
	rel, err := filepath.Rel(specDir, im.bundle)
	if err != nil || strings.HasPrefix(rel, "..") {
		return im.bundle
	}
	return "./" + filepath.ToSlash(rel)
}

// addTo adds what the spec lacks.
func (im *importing) addTo(e *editcmd.Editing) error {
	switch {
	case len(im.found.Files) == 0:
	case e.Scope == stack.ScopeHost:
		if err := e.Put("bundle "+ownSource, true, edit.Struct(edit.Text("source", im.source(im.places.Config))), "bundles", ownSource); err != nil {
			return err
		}
	default:
		if err := e.Put("source "+ownSource, true, edit.String(im.source(im.dir)), "sources", ownSource); err != nil {
			return err
		}
		ref := ownSource + "//" + im.options.Name
		if !slices.Contains(e.Names(editcmd.KindOf("bundle")), ref) {
			if err := e.Files.Append(edit.String(ref), "bundles"); err != nil {
				return err
			}
		}
	}
	im.had = e.Names(editcmd.KindOf("mcp"))
	for _, id := range im.runtimes() {
		if err := e.AddRuntime(id, false, "{}"); err != nil {
			return err
		}
	}
	for _, s := range im.found.Servers {
		if slices.Contains(im.had, s.Name) {
			continue // the spec's entry stays
		}
		if err := e.Files.Add(editcmd.ServerText(s.MCPServer), "mcp", s.Name); err != nil {
			return err
		}
	}
	e.Notes = nil
	return nil
}

// newSpec returns a first spec of the project.
func (im *importing) newSpec() []byte {
	runtimes := im.runtimes()
	ids := make([]string, len(runtimes))
	for i, id := range runtimes {
		ids[i] = strconv.Quote(id)
	}
	note := ""
	if len(ids) == 0 {
		note = " // add the agent programs in use here"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "package aisync\n\n// The agent files of this project, imported from %s by aisync import.\nproject: {\n", joinOrigins(im.found.From, ", "))
	fmt.Fprintf(&b, "\tname:     %s\n%s\truntimes: [%s]%s\n", edit.String(im.options.Name), experimental(runtimes), strings.Join(ids, ", "), note)
	if len(im.found.Files) > 0 {
		fmt.Fprintf(&b, "\tsources: %s: %s\n\tbundles: [%s]\n", ownSource, edit.String(im.source(im.dir)), edit.String(ownSource+"//"+im.options.Name))
	}
	if len(im.found.Servers) > 0 {
		b.WriteString("\tmcp: {\n")
		for _, s := range im.found.Servers {
			fmt.Fprintf(&b, "\t\t%s: %s\n", edit.Label(s.Name), editcmd.ServerText(s.MCPServer))
		}
		b.WriteString("\t}\n")
	}
	b.WriteString("}\n")
	return []byte(b.String())
}

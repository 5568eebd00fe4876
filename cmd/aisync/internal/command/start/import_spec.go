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
	"aisync.dev/aisync/schema/spec"
)

// specTexts is the spec as it would be, by path, found right.
func (im *importing) specTexts(ctx context.Context) (map[string][]byte, error) {
	file := filepath.Join(im.dir, place.SpecFile)
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

// source is the bundle as the spec names it: relative where it lies below it.
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
	for _, id := range im.found.Runtimes {
		if err := e.AddRuntime(id, false, "{}"); err != nil {
			return err
		}
	}
	for _, s := range im.found.Servers {
		if slices.Contains(e.Names(editcmd.KindOf("mcp")), s.Name) {
			continue // the spec's own word
		}
		if err := e.Files.Add(serverText(s.MCPServer), "mcp", s.Name); err != nil {
			return err
		}
	}
	e.Said = nil
	return nil
}

// newSpec is a first spec of the project.
func (im *importing) newSpec() []byte {
	ids := make([]string, len(im.found.Runtimes))
	for i, id := range im.found.Runtimes {
		ids[i] = strconv.Quote(id)
	}
	note := ""
	if len(ids) == 0 {
		note = " // name the agent programs that people use here"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "package aisync\n\n// What agents have in this project, taken over from %s by aisync import.\nproject: {\n", joinOrigins(im.found.From, ", "))
	fmt.Fprintf(&b, "\tname:     %s\n\truntimes: [%s]%s\n", edit.String(im.options.Name), strings.Join(ids, ", "), note)
	if len(im.found.Files) > 0 {
		fmt.Fprintf(&b, "\tsources: %s: %s\n\tbundles: [%s]\n", ownSource, edit.String(im.source(im.dir)), edit.String(ownSource+"//"+im.options.Name))
	}
	if len(im.found.Servers) > 0 {
		b.WriteString("\tmcp: {\n")
		for _, s := range im.found.Servers {
			fmt.Fprintf(&b, "\t\t%s: %s\n", edit.Label(s.Name), serverText(s.MCPServer))
		}
		b.WriteString("\t}\n")
	}
	b.WriteString("}\n")
	return []byte(b.String())
}

// serverText is an MCP server as a spec has it.
func serverText(s spec.MCPServer) string {
	vars := func(name string, list []spec.EnvVar) edit.Field {
		var fields []edit.Field
		for _, v := range list {
			value := edit.String(v.Value)
			if v.Secret != nil {
				value = edit.Struct(edit.Text("env", v.Secret.Env), edit.Text("file", v.Secret.File))
			}
			fields = append(fields, edit.Field{Name: v.Name, Value: value})
		}
		if len(fields) == 0 {
			return edit.Field{}
		}
		return edit.Field{Name: name, Value: edit.Struct(fields...)}
	}
	return edit.Struct(edit.Text("command", s.Command), edit.Texts("args", s.Args), edit.Text("url", s.URL), vars("env", s.Env), vars("headers", s.Headers))
}

package schema

import (
	"errors"
	"os"
	"path/filepath"

	"cuelang.org/go/cue"

	"aisync.dev/aisync/internal/fetch/address"
	"aisync.dev/aisync/schema/spec"
)

// sources reads the sources of a spec in the folder at. Their relative folders
// start there, and are given from dir.
func (n node) sources(dir, at string) []spec.Source {
	var out []spec.Source
	for _, f := range n.get("sources").fields() {
		src := spec.Source{Name: f.name(), Dir: dir, Pos: f.labelPos()}
		if kindOf(f.v) == cue.StructKind {
			src.From, src.Scope, src.Pick = f.getStr("from"), f.getStr("scope"), f.pick()
			f = f.get("source")
		}
		src.URL = f.address(at)
		out = append(out, src)
	}
	return out
}

// address reads the address of a source; a relative folder starts at dir.
func (n node) address(dir string) string {
	url, err := address.Parse(n.str(), func(name string) bool {
		info, err := os.Stat(filepath.Join(dir, name))
		return err == nil && info.IsDir()
	})
	var bad *address.Error
	if errors.As(err, &bad) && n.str() != "" {
		n.problem("no address of a source: "+bad.Why, bad.Hint)
	}
	return url
}

// pick reads what is taken of a source; nil is all.
func (n node) pick() *spec.Pick {
	p := spec.Pick{
		Skills: n.getStrings("skills"), Agents: n.getStrings("agents"), Commands: n.getStrings("commands"),
		Hooks: n.getStrings("hooks"), Servers: n.getStrings("servers"), Runtimes: n.getStrings("runtimes"), Native: n.getStrings("native"),
	}
	if p.Parts() == 0 && len(p.Runtimes)+len(p.Native) == 0 {
		return nil
	}
	return &p
}

package bundle

import "fmt"

// ManifestName is the name of a manifest: JSON that says how the texts of a
// source are read, or, in the folder of a language or team, those of one bundle.
const ManifestName = "bundle.json"

// ByProse is the value of scope, in a manifest or for a source in a spec, that
// makes the line "Applies to:" of a rule its scope.
const ByProse = "applies-to"

// Manifest is what a manifest holds. The zero value is that of a bundle without
// one: a rule's front matter is its scope, and all else is prose.
type Manifest struct {
	Scope string `json:"scope"` // "" or ByProse
}

// ReadManifest parses a manifest. The error starts with the line, if it has
// one, as in ":3: …".
func ReadManifest(text []byte) (Manifest, error) {
	var m Manifest
	if err := strict(text, &m); err != nil {
		return Manifest{}, err
	}
	if m.Scope != "" && m.Scope != ByProse {
		return Manifest{}, fmt.Errorf(": unknown scope %q; write {\"scope\": %q}, or leave scope out", m.Scope, ByProse)
	}
	return m, nil
}

// readManifest reads the manifest of the whole source.
func (t *Tree) readManifest() (Manifest, error) {
	var n Neutral // its file counts as one of the core
	return t.manifestIn(&n, "")
}

// manifestIn reads the manifest in dir, "" for the top, and adds its file to n.
func (t *Tree) manifestIn(n *Neutral, dir string) (m Manifest, err error) {
	name := ManifestName
	if dir != "" {
		name = dir + "/" + name
	}
	err = t.jsonFile(n, name, func(text []byte) error { m, err = ReadManifest(text); return err })
	return m, err
}

// ruleUse returns how the rules of a bundle are read: p's manifest lies in dir.
// What the spec says of the source counts first, then the manifest of the
// bundle, then that of the source.
func (t *Tree) ruleUse(p *Part, dir string) (use, error) {
	own, err := t.manifestIn(&p.Neutral, dir)
	if err != nil {
		return rule, err
	}
	all, err := t.manifest()
	if err == nil && (t.scope == ByProse || own.Scope == ByProse || all.Scope == ByProse) {
		return proseRule, nil
	}
	return rule, err
}

package view

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"aisync.dev/aisync/app/pin"
	"aisync.dev/aisync/reconcile"
)

// ChangeText shows a change of a pin.
func ChangeText(c pin.Change) string {
	line := fmt.Sprintf("%s %s: ", c.New.Kind, c.New.Name)
	if c.Old.Kind != "" {
		line += pinText(c.Old) + " → "
	}
	return line + pinText(c.New)
}

// pinText shows what a pin says, digests cut.
func pinText(p reconcile.Pin) string {
	var out []string
	for _, k := range slices.Sorted(maps.Keys(p.Values)) {
		v := p.Values[k]
		if k == "url" || k == "repo" || k == "reason" || k == "shape" {
			continue
		}
		if digest, ok := strings.CutPrefix(v, "sha256:"); ok {
			v = digest
		}
		if len(v) > 20 && k != "file" {
			v = v[:12]
		}
		out = append(out, k+" "+v)
	}
	return strings.Join(out, ", ")
}

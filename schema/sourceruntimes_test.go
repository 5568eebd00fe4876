package schema

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/catalog/manifest"
	"aisync.dev/aisync/schema/spec"
)

func lending(more bool, err error, runtimes ...spec.Runtime) Options {
	return Options{Lent: func(h *spec.Host, p *spec.Project) ([]spec.Runtime, bool, error) {
		if h == nil {
			return nil, false, nil
		}
		return slices.Clone(runtimes), more, err
	}}
}

const wantsMine = "package aisync\n\nhosts: here: runtimes: mine: {}\n"

func TestSourceRuntimesAreKnown(t *testing.T) {
	mine := catalog.Completed(spec.Runtime{ID: "mine", Source: "src", Command: "mine"})
	s, err := hostSpec(t, wantsMine, lending(false, nil, mine, spec.Runtime{ID: "claude", Command: "other"}))
	if err != nil {
		t.Fatal(err)
	}
	x := catalog.With(s.Catalog)
	if r, ok := x.Runtime("mine"); !ok || r.Source != "src" {
		t.Errorf("%+v", r)
	}
	if r, _ := x.Runtime("claude"); r.Command != "claude" {
		t.Error("what is lent stands before the catalog")
	}
}

func TestUnknownRuntimeIsRejected(t *testing.T) {
	if _, err := hostSpec(t, wantsMine, lending(false, nil)); err == nil || !strings.Contains(err.Error(), `unknown runtime "mine"`) {
		t.Error(err)
	}
	if _, err := hostSpec(t, wantsMine, lending(true, nil)); err != nil {
		t.Errorf("a source that is elsewhere may have it: %v", err)
	}
	if _, err := hostSpec(t, "package aisync\n\nhosts: here: runtimes: \"claude-code\": {}\n", Options{}); err == nil || !strings.Contains(err.Error(), `did you mean "claude"?`) {
		t.Error(err)
	}
}

func TestManifestErrorsAreReported(t *testing.T) {
	_, broken := manifest.Parse("src/runtimes/mine.toml", []byte("id = \"mine\"\ncolour = 1\n"))
	_, err := hostSpec(t, strings.Replace(wantsMine, "mine", "min", 1), lending(false, errors.Join(broken)))
	if err == nil || !strings.Contains(err.Error(), "mine.toml:2:1: colour: field not allowed") || !strings.Contains(err.Error(), `unknown runtime "min"`) {
		t.Error(err)
	}
}

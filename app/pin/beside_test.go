package pin

import (
	"strings"
	"testing"

	"aisync.dev/aisync/schema/spec"
)

func TestUnfitModelsAreNamed(t *testing.T) {
	model := &spec.Shape{Arch: "gemma3", Embedding: 2560}
	projector := func(width int64) *spec.Shape { return &spec.Shape{Arch: spec.ProjectorArch, Embedding: width} }
	for name, c := range map[string]struct{ own, mmproj, draft, want string }{
		"its own":                  {own: "m", mmproj: "eye"},
		"another model's":          {own: "m", mmproj: "other", want: "makes tokens of 1152 numbers, and model m takes 2560"},
		"of an unknown kind":       {own: "m", mmproj: "unknown"},
		"without a header":         {own: "m", mmproj: "unread"},
		"of a model without one":   {own: "unread", mmproj: "other"},
		"that is not chosen":       {own: "m", mmproj: "none"},
		"a language model":         {own: "m", mmproj: "m", want: "is a language model, and no projector"},
		"served":                   {own: "eye", want: "model eye is a projector"},
		"as a draft":               {own: "m", draft: "eye", want: "draft eye of model m is a projector"},
		"a draft without a header": {own: "m", draft: "unread"},
	} {
		r := &Resolver{chosen: map[string]Chosen{
			"m": {Shape: model}, "eye": {Shape: projector(2560)}, "other": {Shape: projector(1152)}, "unknown": {Shape: projector(0)}, "unread": {},
		}}
		got := r.Unfit(spec.ModelUse{ID: c.own, Projector: c.mmproj, Draft: c.draft})
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

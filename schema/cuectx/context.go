// Package cuectx evaluates CUE that can reach nothing: no file, no network.
package cuectx

import (
	"cuelang.org/go/cue"
	_ "cuelang.org/go/pkg" // CUE's own packages, which a spec may import
)

// Context is a new context of CUE without the embedding of files: a spec is
// input, perhaps from strangers. CUE's own package cuecontext always has it, and
// links for it the readers of every format that CUE knows: 2.4 MB.
func Context() *cue.Context {
	//lint:ignore SA1019 there is no other door to a context without injections
	var r cue.Runtime
	//lint:ignore SA1019 the first use is what makes it ready
	if _, err := r.Compile("", "_"); err != nil {
		panic("schema: CUE does not compile _: " + err.Error())
	}
	return (*cue.Context)(&r)
}

// Package cuectx evaluates CUE without access to files or a network. Call
// Context.
package cuectx

import (
	"cuelang.org/go/cue"
	_ "cuelang.org/go/pkg" // CUE's packages, which a spec may import
)

// Context returns a new CUE context without file embedding, because specs may be
// from strangers. CUE's package cuecontext always embeds, and links the readers
// of every format that CUE knows: 2.4 MB.
func Context() *cue.Context {
	//lint:ignore SA1019 there is no other way to a context without injections
	var r cue.Runtime
	//lint:ignore SA1019 the first use prepares it
	if _, err := r.Compile("", "_"); err != nil {
		panic("schema: CUE does not compile _: " + err.Error())
	}
	return (*cue.Context)(&r)
}

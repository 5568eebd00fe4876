// Package cuectx evaluates CUE without access to files or a network. Call
// Context.
package cuectx

import (
	"cuelang.org/go/cue"

	// CUE's packages, which a spec may import. Those of cue cmd (tool/…), which act,
	// and encoding/openapi, which makes no values, would be 300 KB more.
	_ "cuelang.org/go/pkg/crypto/ed25519"
	_ "cuelang.org/go/pkg/crypto/hmac"
	_ "cuelang.org/go/pkg/crypto/md5"
	_ "cuelang.org/go/pkg/crypto/sha1"
	_ "cuelang.org/go/pkg/crypto/sha256"
	_ "cuelang.org/go/pkg/crypto/sha512"
	_ "cuelang.org/go/pkg/encoding/base64"
	_ "cuelang.org/go/pkg/encoding/csv"
	_ "cuelang.org/go/pkg/encoding/hex"
	_ "cuelang.org/go/pkg/encoding/json"
	_ "cuelang.org/go/pkg/encoding/toml"
	_ "cuelang.org/go/pkg/encoding/yaml"
	_ "cuelang.org/go/pkg/html"
	_ "cuelang.org/go/pkg/list"
	_ "cuelang.org/go/pkg/math"
	_ "cuelang.org/go/pkg/math/bits"
	_ "cuelang.org/go/pkg/net"
	_ "cuelang.org/go/pkg/path"
	_ "cuelang.org/go/pkg/regexp"
	_ "cuelang.org/go/pkg/strconv"
	_ "cuelang.org/go/pkg/strings"
	_ "cuelang.org/go/pkg/struct"
	_ "cuelang.org/go/pkg/text/tabwriter"
	_ "cuelang.org/go/pkg/text/template"
	_ "cuelang.org/go/pkg/time"
	_ "cuelang.org/go/pkg/uuid"
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

package main

import (
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"aisync.dev/aisync/internal/fetch/ocitest"
)

// registryKey is where a script's own registry is kept.
type registryKey struct{}

// registryCommand is an OCI registry of the script's own, at $REGISTRY:
//
//	registry push REPO:TAG NAME=FILE...  an artifact of these files; its digest is in $MANIFEST
//	registry forget                      what was asked of it until now
//	registry break FAULT                 it denies, lacks, spoils or halves, or is well again
//	registry asked PART                  fails if nothing was asked at an address that holds PART
func registryCommand(ts *testscript.TestScript, neg bool, args []string) {
	r, ok := ts.Value(registryKey{}).(*ocitest.Registry)
	if !ok || len(args) == 0 || neg && args[0] != "asked" {
		ts.Fatalf("usage: registry push|forget|asked")
	}
	ts.Setenv("REGISTRY", r.Host)
	switch rest := args[1:]; args[0] {
	case "push":
		var layers []ocitest.Layer
		for _, arg := range rest[1:] {
			name, file, _ := strings.Cut(arg, "=")
			layers = append(layers, ocitest.Layer{Title: name, Data: []byte(ts.ReadFile(file))})
		}
		ts.Setenv("MANIFEST", r.Push(rest[0], layers...))
	case "forget":
		r.Forget()
	case "break":
		r.Break(ocitest.Fault(rest[0]))
	case "asked":
		asked := r.Asked()
		if strings.Contains(strings.Join(asked, "\n"), rest[0]) == neg {
			ts.Fatalf("asked: %s", asked)
		}
	default:
		ts.Fatalf("registry cannot %s", args[0])
	}
}

package main

import (
	"os/exec"
	"path/filepath"

	"github.com/rogpeppe/go-internal/testscript"

	"aisync.dev/aisync/internal/fakenpm"
)

// npmKey is where a script's own registry is kept.
type npmKey struct{}

// npmCommand is a registry of the script's own, which npm asks from the first
// use on:
//
//	registry publish NAME VERSION COMMAND [NODE]   a version, the newest; for this range of Node
//	registry publish-server NAME VERSION COMMAND TOOL   the same of an MCP server
//	registry publish-node VERSION                  Node itself, as npm has it
//	registry withdraw NAME VERSION                 takes a version back
//	registry cut                                   tarballs end half-way
//	registry mend                                  and no more
//	registry forget                                what was asked of it until now
//	registry asked                                 fails if nothing was
func npmCommand(ts *testscript.TestScript, neg bool, args []string) {
	r, ok := ts.Value(npmKey{}).(*fakenpm.Registry)
	if !ok || len(args) == 0 || neg && args[0] != "asked" {
		ts.Fatalf("usage: registry publish|publish-server|publish-node|withdraw|cut|mend|forget|asked")
	}
	ts.Setenv("npm_config_registry", r.URL)
	ts.Setenv("npm_config_fetch_retries", "0")
	ts.Setenv("npm_config_cache", ts.MkAbs(filepath.Join(ts.Getenv("WORK"), "npm-cache")))
	switch rest := args[1:]; args[0] {
	case "publish":
		engine := ""
		if len(rest) == 4 {
			engine = rest[3]
		}
		r.Publish(rest[0], rest[1], rest[2], engine)
	case "publish-server":
		r.PublishServer(rest[0], rest[1], rest[2], rest[3])
	case "publish-node":
		real, err := exec.LookPath("node")
		ts.Check(err)
		r.PublishNode(rest[0], real)
	case "withdraw":
		r.Withdraw(rest[0], rest[1])
	case "cut", "mend":
		r.Cut(args[0] == "cut")
	case "forget":
		r.Forget()
	case "asked":
		if asked := r.Asked(); (len(asked) > 0) == neg {
			ts.Fatalf("the registry was asked for %v", asked)
		}
	default:
		ts.Fatalf("no such thing as registry %s", args[0])
	}
}

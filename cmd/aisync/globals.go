package main

import (
	"github.com/spf13/pflag"

	"aisync.dev/aisync/internal/environ"
)

// globals are the flags that every command takes, before or after its name.
type globals struct {
	config, host, project, root, user, facts, color string
	offline, locked, json, quiet, verbose           bool
}

// register puts the global flags on the root's persistent set. The environment
// gives defaults, so that a flag wins over it.
func (g *globals) register(fs *pflag.FlagSet, e environ.Env) {
	fs.StringVar(&g.config, "config", "", "folder of the host specs `DIR` (default $XDG_CONFIG_HOME/aisync)")
	fs.StringVar(&g.host, "host", "", "use the host `NAME` of the specs, whatever this machine is")
	fs.StringVar(&g.project, "project", "", "project folder `DIR` (default: the nearest aisync.cue upwards)")
	fs.StringVar(&g.root, "root", "", "put every path of the host under `DIR`; one that is not there is an empty machine, and apply makes it")
	fs.StringVar(&g.user, "user", "", "work for user `NAME` of the root's own passwd")
	fs.StringVar(&g.facts, "facts", "", "read the machine's facts from `FILE` instead of looking")
	fs.BoolVar(&g.offline, "offline", e.On("AISYNC_OFFLINE"), "never use the network")
	fs.BoolVar(&g.locked, "locked", e.On("AISYNC_LOCKED"), "refuse what aisync.lock does not pin")
	fs.BoolVar(&g.json, "json", false, "print JSON")
	fs.StringVar(&g.color, "color", "auto", "`WHEN` to colour: auto, on, off")
	fs.BoolVarP(&g.quiet, "quiet", "q", false, "say nothing but results and errors")
	fs.BoolVarP(&g.verbose, "verbose", "v", false, "also what is in order (plan, status), and each step (apply)")
}

// check refuses values that no command could use.
func (g *globals) check() error {
	switch g.color {
	case "auto", "on", "off":
	default:
		return usagef("--color %q: want auto, on or off", g.color)
	}
	return nil
}

package cli

import (
	"github.com/spf13/pflag"

	"aisync.dev/aisync/internal/environ"
)

// Globals are the flags that every command takes, before or after its name.
type Globals struct {
	Config, Host, Project, Root, User, Facts, color string
	Offline, locked, JSON, Quiet, Verbose           bool
}

// Register puts the global flags on the root's persistent set. The environment
// gives defaults, so that a flag wins over it.
func (g *Globals) Register(fs *pflag.FlagSet, e environ.Env) {
	fs.StringVar(&g.Config, "config", "", "folder of the host specs `DIR` (default $XDG_CONFIG_HOME/aisync)")
	fs.StringVar(&g.Host, "host", "", "use the host `NAME` of the specs, whatever this machine is")
	fs.StringVar(&g.Project, "project", "", "project folder `DIR` (default: the nearest aisync.cue upwards)")
	fs.StringVar(&g.Root, "root", "", "put every path of the host under `DIR`; one that is not there is an empty machine, and apply makes it")
	fs.StringVar(&g.User, "user", "", "work for user `NAME` of the root's own passwd")
	fs.StringVar(&g.Facts, "facts", "", "read the machine's facts from `FILE` instead of looking")
	fs.BoolVar(&g.Offline, "offline", e.On("AISYNC_OFFLINE"), "never use the network")
	fs.BoolVar(&g.locked, "locked", e.On("AISYNC_LOCKED"), "refuse what aisync.lock does not pin")
	fs.BoolVar(&g.JSON, "json", false, "print JSON")
	fs.StringVar(&g.color, "color", "auto", "`WHEN` to colour: auto, on, off")
	fs.BoolVarP(&g.Quiet, "quiet", "q", false, "say nothing but results and errors")
	fs.BoolVarP(&g.Verbose, "verbose", "v", false, "also what is in order (plan, status), and each step (apply)")
}

// Check refuses values that no command could use.
func (g *Globals) Check() error {
	switch g.color {
	case "auto", "on", "off":
	default:
		return Usagef("--color %q: want auto, on or off", g.color)
	}
	return nil
}

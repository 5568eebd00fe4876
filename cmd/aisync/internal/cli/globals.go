package cli

import (
	"github.com/spf13/pflag"

	"aisync.dev/aisync/internal/environ"
)

// Globals holds the flags that every command takes, before or after its name.
type Globals struct {
	Config, Host, Project, Root, User, Facts, color string
	Offline, Locked, JSON, Quiet, Verbose           bool
}

// Register adds the global flags to fs. Their defaults come from the environment e,
// so a flag wins over a variable.
func (g *Globals) Register(fs *pflag.FlagSet, e environ.Env) {
	fs.StringVar(&g.Config, "config", "", "read host specs from `DIR` (default $XDG_CONFIG_HOME/aisync)")
	fs.StringVar(&g.Host, "host", "", "use host `NAME` of the specs, even if it does not match")
	fs.StringVar(&g.Project, "project", "", "the project `DIR` (default: the nearest aisync.cue upwards)")
	fs.StringVar(&g.Root, "root", "", "put every path of the host under `DIR`; apply creates it")
	fs.StringVar(&g.User, "user", "", "work for user `NAME` of the passwd file below --root")
	fs.StringVar(&g.Facts, "facts", "", "read the facts of the machine from `FILE`")
	fs.BoolVar(&g.Offline, "offline", e.On("AISYNC_OFFLINE"), "never use the network")
	fs.BoolVar(&g.Locked, "locked", e.On("AISYNC_LOCKED"), "fail if aisync.lock does not pin everything")
	fs.BoolVar(&g.JSON, "json", false, "print JSON")
	fs.StringVar(&g.color, "color", "auto", "`WHEN` to use colour: auto, always, never")
	fs.BoolVarP(&g.Quiet, "quiet", "q", false, "print results and errors only")
	fs.BoolVarP(&g.Verbose, "verbose", "v", false, "list what is unchanged (plan, status), each step (apply), each thing (import)")
}

// Check returns a usage error for a value that no command accepts.
func (g *Globals) Check() error {
	switch g.color {
	case "auto", "always", "never", "on", "off":
	default:
		return Usagef("--color %q: want auto, always or never", g.color)
	}
	return nil
}

package launch

import (
	"net"
	stdruntime "runtime"
	"strconv"
	"time"

	"aisync.dev/aisync/agents/launch"
	"aisync.dev/aisync/app/stack/place"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/hosts/facts"
	"aisync.dev/aisync/providers/service"
	"aisync.dev/aisync/schema/spec"
)

// dialLimit is how long a launch waits for a port of this machine.
const dialLimit = 200 * time.Millisecond

// unserved says why the service s of h is not served here: its program is
// neither in PATH nor installed by the spec, and nothing listens on its port. It
// returns "" for one that is, and dials loopback alone.
func unserved(a *cli.App, p place.Places, h *spec.Host, s spec.Service) string {
	f := facts.Facts{OS: stdruntime.GOOS, Arch: stdruntime.GOARCH, Programs: map[string]string{}}
	for _, program := range service.Commands() {
		if at, err := launch.LookPath(program, a.Env.Get("PATH")); err == nil {
			f.Programs[program] = at
		}
	}
	known := service.Host{
		Spec: h, Facts: &f, Home: p.Home,
		Models: func(string) (service.Model, bool) { return service.Model{}, true }, // an apply has to know them
	}
	why := known.Absent(s)
	if why == "" || listens(s.Port) {
		return ""
	}
	return why + "; run: aisync plan"
}

// listens reports whether a server of this machine takes connections on port.
func listens(port int) bool {
	c, err := net.DialTimeout("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), dialLimit)
	if err != nil {
		return false
	}
	c.Close()
	return true
}

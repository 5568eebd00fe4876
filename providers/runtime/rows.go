package runtime

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"aisync.dev/aisync/providers/store"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/fsys"
	"aisync.dev/aisync/schema/spec"
)

// installers say how a person installs a package with a tool. The order is the
// one in which a tool is proposed where a machine has several.
var installers = []struct{ tool, command, at string }{
	{"pacman", "sudo pacman -S %s", ""},
	{"apt", "sudo apt install %s", "="},
	{"apt-get", "sudo apt-get install %s", "="},
	{"dnf", "sudo dnf install %s", "-"},
	{"zypper", "sudo zypper install %s", "="},
	{"apk", "sudo apk add %s", "="},
	{"brew", "brew install %s", "@"},
	{"nix", "nix profile install nixpkgs#%s", ""},
	{"npm", "npm install -g %s", "@"},
	{"uv", "uv tool install %s", "=="},
	{"pipx", "pipx install %s", "=="},
	{"pip", "python3 -m pip install --user %s", "=="},
	{"aur", "paru -S %s", ""},
	{"cargo", "cargo install %s", "@"},
}

// byHand is the command that installs a package with a tool.
func byHand(tool, name, version string) string {
	for _, i := range installers {
		if i.tool != tool {
			continue
		}
		if version != "" && i.at != "" {
			name += i.at + version
		}
		return fmt.Sprintf(i.command, name)
	}
	return "install " + name + " with " + tool
}

// installs lists the runtimes that somebody has to install.
func (h Host) installs(b *builder) {
	for _, use := range h.Spec.Runtimes {
		rt, ok := find(h.Runtimes, use.ID)
		if !ok || use.Install == nil || h.Facts != nil && h.Facts.Programs[rt.Command] != "" {
			continue
		}
		name := rt.Packages[use.Install.Via]
		if name == "" {
			name = rt.Command
		}
		b.cannot(reconcile.Address("runtime:"+use.ID), from(use.Install.Pos),
			"installing programs comes in a later version; install it by hand: %s", byHand(use.Install.Via, name, use.Install.Version))
	}
}

// packages lists the packages of which no program of that name is there.
func (h Host) packages(b *builder) {
	how := "install it by hand"
	if h.Facts != nil {
		for _, i := range installers {
			if slices.Contains(h.Facts.Managers, i.tool) {
				how = "install it by hand: " + i.command
				break
			}
		}
	}
	for _, p := range h.Spec.Packages {
		if h.Facts != nil && h.Facts.Programs[p.Value] != "" {
			continue
		}
		reason := how
		if strings.Contains(how, "%s") {
			reason = fmt.Sprintf(how, p.Value)
		}
		b.cannot(reconcile.Address("package:"+p.Value), from(p.Pos), "installing packages comes in a later version; %s", reason)
	}
}

// services lists the servers that somebody has to start.
func (h Host) services(b *builder) {
	for _, s := range h.Spec.Services {
		if !s.Enabled || s.Kind == "external" {
			continue
		}
		b.cannot(reconcile.Address("service:"+s.Name), from(s.Pos), "running servers comes in a later version; start it by hand: %s", h.serve(s))
	}
}

// serve is the command that starts a server.
func (h Host) serve(s spec.Service) string {
	host := "127.0.0.1"
	if s.Listen == "lan" {
		host = "0.0.0.0"
	}
	switch s.Kind {
	case "llama-server":
		command := fmt.Sprintf("llama-server --model %s --alias %s --host %s --port %d", h.modelFile(s.Model), s.Model, host, s.Port)
		if s.Context > 0 {
			command += fmt.Sprintf(" --ctx-size %d", s.Context)
		}
		return command
	case "ollama":
		return fmt.Sprintf("OLLAMA_HOST=%s:%d ollama serve", host, s.Port)
	case "llama-swap":
		return fmt.Sprintf("llama-swap --listen %s:%d", host, s.Port)
	}
	return s.Kind
}

// modelFile is where the first file of a model will lie.
func (h Host) modelFile(id string) string {
	for _, use := range h.Spec.Models {
		if use.ID != id {
			continue
		}
		for _, m := range h.Models {
			if m.ID != id || h.Pick == nil {
				continue
			}
			if q, _, err := h.Pick(use, m); err == nil && len(q.Files) > 0 {
				return string(store.Friendly(fsys.LogicalPath(h.store()), id, q.Files[0].Repo, q.Files[0].Path))
			}
		}
	}
	return path.Join(h.store(), "*", "*", "*.gguf")
}

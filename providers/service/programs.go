package service

import (
	"fmt"
	"slices"
	"strings"

	"aisync.dev/aisync/hosts/facts"
	"aisync.dev/aisync/providers/packages"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/schema/spec"
)

// programs of each kind of service: its server first, then those that it starts.
var programs = map[string][]string{
	"llama-server": {"llama-server"},
	"ollama":       {"ollama"},
	"llama-swap":   {"llama-swap", "llama-server"},
}

// Commands are the programs that run services, sorted.
func Commands() []string {
	var out []string
	for _, some := range programs {
		out = append(out, some...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// channels are the packages of a program, by installer and backend; "" is the
// CPU build, used for every backend without an entry. Sources: archlinux.org
// and aur.archlinux.org (llama.cpp is in the AUR, and in the repositories of
// some of Arch's relatives), formulae.brew.sh, packages.debian.org (llama.cpp
// from 14 on), pkg.go.dev.
var channels = map[string]map[string]map[string]string{
	"llama-server": {
		"pacman": {"": "llama.cpp", "vulkan": "llama.cpp-vulkan", "rocm": "llama.cpp-hip", "cuda": "llama.cpp-cuda"},
		"aur":    {"": "llama.cpp", "vulkan": "llama.cpp-vulkan", "rocm": "llama.cpp-hip", "cuda": "llama.cpp-cuda"},
		"apt":    {"": "llama.cpp"},
		"brew":   {"": "llama.cpp"},
	},
	"ollama": {
		"pacman": {"": "ollama", "vulkan": "ollama-vulkan", "rocm": "ollama-rocm", "cuda": "ollama-cuda"},
		"brew":   {"": "ollama"},
		"go":     {"": "github.com/ollama/ollama"},
	},
	"llama-swap": {
		"aur":  {"": "llama-swap"},
		"brew": {"": "mostlygeek/llama-swap/llama-swap"},
	},
}

// byHand is where to find a program that no installer has.
var byHand = map[string]string{
	"llama-server": "https://github.com/ggml-org/llama.cpp/releases",
	"ollama":       "https://github.com/ollama/ollama/releases",
	"llama-swap":   "https://github.com/mostlygeek/llama-swap/releases",
}

// backend is what computes for s: the spec's choice, otherwise the machine's best.
func backend(s spec.Service, f *facts.Facts) string {
	switch {
	case s.Backend != "":
		return s.Backend
	case f == nil:
		return "cpu"
	}
	return f.Backends()[0]
}

// packageOf is an installer's package of program for a backend; "" for none.
func packageOf(program, via, backend string) string {
	names := channels[program][via]
	if name := names[backend]; name != "" {
		return name
	}
	return names[""]
}

// vias are the installers that have a program.
func vias(program string) []string {
	var out []string
	for via := range channels[program] {
		out = append(out, via)
	}
	out = append(out, viaRelease)
	slices.Sort(out)
	return out
}

// place is the path of a program: where it was found, or where its installer
// will put it; "" if neither.
func (h Host) place(program string, s spec.Service) string {
	if _, ok := h.releaser(program, s); ok {
		return string(packages.ReleaseProgram(h.Home, program))
	}
	if h.Facts != nil && h.Facts.Programs[program] != "" {
		return h.Facts.Programs[program]
	}
	if s.Install == nil || s.Install.Via == viaRelease || packageOf(program, s.Install.Via, "") == "" {
		return ""
	}
	switch s.Install.Via {
	case "pacman", "aur", "apt":
		return "/usr/bin/" + program
	case "go":
		return string(h.Home.Join(".local/bin", program))
	case "brew":
		return brewPrefix(h.Facts) + "/bin/" + program
	}
	return ""
}

// brewPrefix is brew's prefix, from its documentation.
func brewPrefix(f *facts.Facts) string {
	switch {
	case f == nil || f.OS == "linux":
		return "/home/linuxbrew/.linuxbrew"
	case f.Arch == "arm64":
		return "/opt/homebrew"
	}
	return "/usr/local"
}

// Needs returns the programs of the services of h that its spec does not install.
func Needs(h *spec.Host, f *facts.Facts) []packages.Need {
	var out []packages.Need
	for _, s := range h.Services {
		if !Runs(s) || s.Install != nil {
			continue
		}
		for _, program := range programs[s.Kind] {
			n := packages.Need{Program: program, For: "it runs the service " + s.Name, Pos: s.Pos, Packages: map[string]string{}}
			for _, via := range []string{"pacman", "apt", "brew"} {
				if !inAUR(program, via, f) {
					n.Packages[via] = packageOf(program, via, backend(s, f))
				}
			}
			out = append(out, n)
		}
	}
	return out
}

// inAUR reports whether pacman has a program on relatives of Arch alone: Arch has it
// in the AUR.
func inAUR(program, via string, f *facts.Facts) bool {
	return via == "pacman" && program == "llama-server" && f != nil && f.Distro == "arch"
}

// howTo says how to get a missing program.
func (h Host) howTo(program string, s spec.Service) string {
	var mine []string
	b := backend(s, h.Facts)
	for _, via := range vias(program) {
		if inAUR(program, via, h.Facts) {
			continue
		}
		if h.Facts != nil && slices.Contains(h.Facts.Managers, installerProgram(via)) {
			mine = append(mine, fmt.Sprintf("install: {via: %q} (%s)", via, packageOf(program, via, b)))
		}
	}
	said := "install it by hand (" + byHand[program] + ")"
	if releases[program][platform(h.Facts)] != nil && program == programs[s.Kind][0] {
		mine = append(mine, `install: {via: "release", version: "…"}`)
	}
	if len(mine) > 0 && s.Install == nil {
		return "add " + strings.Join(mine, " or ") + " to the service, or " + said
	}
	return said
}

// Installer returns how a machine gets llama-server, as install: via takes it; ""
// where it is in PATH, or no package manager of the machine has it.
func Installer(f facts.Facts) string {
	if f.Programs["llama-server"] != "" {
		return ""
	}
	via := map[bool]string{true: "aur", false: "pacman"}[f.Distro == "arch"]
	for _, via := range []string{"brew", via, "apt"} {
		if slices.Contains(f.Managers, installerProgram(via)) {
			return via
		}
	}
	return ""
}

// installerProgram is the program of an installer as facts name it.
func installerProgram(via string) string {
	switch via {
	case "apt":
		return "apt-get"
	case "aur":
		return "pacman" // pacman sees what is installed; a person builds it
	}
	return via
}

// packages makes the service wait for the packages of its programs.
func (h Host) packages(w *wants) {
	for _, program := range programs[w.s.Kind] {
		if a := h.packageOf(program, w.s); a != "" {
			w.after = append(w.after, a)
		}
	}
}

// packageOf is the package that the spec installs a program with, "" for none.
func (h Host) packageOf(program string, s spec.Service) reconcile.Address {
	if _, ok := h.releaser(program, s); ok {
		return packages.Address(viaRelease, program)
	}
	if s.Install == nil || s.Install.Via == viaRelease {
		return ""
	}
	name := packageOf(program, s.Install.Via, backend(s, h.Facts))
	if name == "" {
		return ""
	}
	return packages.Address(s.Install.Via, name)
}

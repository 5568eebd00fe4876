package service

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"aisync.dev/aisync/hosts/facts"
	"aisync.dev/aisync/providers/packages"
	"aisync.dev/aisync/schema/spec"
)

// viaRelease is the installer that unpacks a project's own release archives.
const viaRelease = "release"

// releases are the addresses of a program's release archives, by platform and
// backend; "" is the archive for every backend without an entry. {version} is a
// version without its v. They match the assets of llama.cpp b11211, ollama
// v0.32 and llama-swap v255; for older ones, use url in the spec.
//
// Not listed, and left to url: llama.cpp's archives for ROCm, which name a
// version of ROCm, its archives for CUDA, whose names change, and ollama's for
// ROCm, which are two.
var releases = map[string]map[string]map[string]string{
	"llama-server": {
		"linux/amd64":  {"cpu": llamaCpp + "ubuntu-x64.tar.gz", "vulkan": llamaCpp + "ubuntu-vulkan-x64.tar.gz"},
		"linux/arm64":  {"cpu": llamaCpp + "ubuntu-arm64.tar.gz", "vulkan": llamaCpp + "ubuntu-vulkan-arm64.tar.gz"},
		"darwin/arm64": {"": llamaCpp + "macos-arm64.tar.gz"},
		"darwin/amd64": {"": llamaCpp + "macos-x64.tar.gz"},
	},
	"ollama": {
		"linux/amd64":  {"cpu": ollamaAt + "linux-amd64.tar.zst", "vulkan": ollamaAt + "linux-amd64.tar.zst", "cuda": ollamaAt + "linux-amd64.tar.zst"},
		"linux/arm64":  {"cpu": ollamaAt + "linux-arm64.tar.zst", "vulkan": ollamaAt + "linux-arm64.tar.zst", "cuda": ollamaAt + "linux-arm64.tar.zst"},
		"darwin/arm64": {"": ollamaAt + "darwin.tgz"},
		"darwin/amd64": {"": ollamaAt + "darwin.tgz"},
	},
	"llama-swap": {
		"linux/amd64":  {"": llamaSwap + "linux_amd64.tar.gz"},
		"linux/arm64":  {"": llamaSwap + "linux_arm64.tar.gz"},
		"darwin/arm64": {"": llamaSwap + "darwin_arm64.tar.gz"},
		"darwin/amd64": {"": llamaSwap + "darwin_amd64.tar.gz"},
	},
}

const (
	llamaCpp  = "https://github.com/ggml-org/llama.cpp/releases/download/{version}/llama-{version}-bin-"
	ollamaAt  = "https://github.com/ollama/ollama/releases/download/v{version}/ollama-"
	llamaSwap = "https://github.com/mostlygeek/llama-swap/releases/download/v{version}/llama-swap_{version}_"
)

// releaser is the service that installs a program from a release: s, or another
// if s itself names no installer.
func (h Host) releaser(program string, s spec.Service) (spec.Service, bool) {
	all := h.Spec.Services
	if own := programs[s.Kind][0] == program; own && s.Install != nil {
		all = []spec.Service{s}
	}
	for _, by := range all {
		if Runs(by) && by.Install != nil {
			if p, ok, err := programOf(program, by, h.Facts); err == nil && ok && p.Via == viaRelease {
				return by, true
			}
		}
	}
	return spec.Service{}, false
}

// releaseURL is the address of the archive of a program that s needs; "" if its
// makers have none for this machine.
func releaseURL(program string, s spec.Service, f *facts.Facts) string {
	forms := releases[program][platform(f)]
	version := strings.TrimPrefix(s.Install.Version, "v")
	return strings.ReplaceAll(cmp.Or(forms[backend(s, f)], forms[""]), "{version}", version)
}

// platform is a machine's key in releases.
func platform(f *facts.Facts) string {
	if f == nil {
		return ""
	}
	return f.OS + "/" + f.Arch
}

// release is the package of a program's release; ok is false if its makers have
// none for this machine, which the plan reports with the service.
func release(program string, s spec.Service, f *facts.Facts) (p packages.Program, ok bool, err error) {
	in := s.Install
	p = packages.Program{Command: program, Via: viaRelease, Name: program, Version: in.Version, Pos: in.Pos}
	p.Archive.URL, p.Archive.SHA256 = in.URL, in.SHA256
	switch {
	case program != programs[s.Kind][0]:
		return p, false, nil // the archive holds one program
	case in.Version == "":
		return p, false, fmt.Errorf("via: \"release\" needs version: the name of a release (%s)", byHand[program])
	case in.URL != "" && !packages.IsArchive(in.URL):
		return p, false, errors.New("the url does not end like an archive that aisync can unpack: tar, tar.gz, tar.bz2, tar.zst, zip")
	case in.URL == "":
		p.Archive.URL = releaseURL(program, s, f)
	}
	return p, p.Archive.URL != "", nil
}

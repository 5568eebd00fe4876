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

// viaRelease is the installer that unpacks what the makers of a program built.
const viaRelease = "release"

// releases are where the makers of a program put the archives of a version, by
// platform and backend; "" is that of every backend that has none of its own.
// {version} is a version without the v before it. As of llama.cpp b11211, ollama
// v0.32 and llama-swap v255, by the names of their assets; older ones had
// others, which url in the spec says. llama.cpp's archives for ROCm name a
// version of ROCm, ollama's are two, and for CUDA llama.cpp's makers say no name
// that lasts: these too are for url.
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

// releaser is the service that has a program installed from a release: s, or
// another where s itself does not say who brings it.
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

// releaseURL is where the archive of a program lies that s asks for; "" where
// its makers have none for this machine.
func releaseURL(program string, s spec.Service, f *facts.Facts) string {
	forms := releases[program][platform(f)]
	version := strings.TrimPrefix(s.Install.Version, "v")
	return strings.ReplaceAll(cmp.Or(forms[backend(s, f)], forms[""]), "{version}", version)
}

// platform is a machine as releases are listed.
func platform(f *facts.Facts) string {
	if f == nil {
		return ""
	}
	return f.OS + "/" + f.Arch
}

// release is a program as its makers' release holds it; ok is false where they
// have none for this machine, which the plan says of the service.
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
		return p, false, errors.New("the url is that of no archive which aisync can unpack: tar, tar.gz, tar.bz2, tar.zst, zip")
	case in.URL == "":
		p.Archive.URL = releaseURL(program, s, f)
	}
	return p, p.Archive.URL != "", nil
}

package service

import (
	"slices"
	"strings"
	"testing"

	"aisync.dev/aisync/hosts/facts"
	"aisync.dev/aisync/providers/packages"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/schema/spec"
)

func fromRelease(version string) *spec.Install {
	return &spec.Install{Via: "release", Version: version, Pos: spec.Position{File: "me.cue", Line: len(version)}}
}

// The forms are those of assets that were published: llama-b11211-bin-…,
// ollama-linux-amd64.tar.zst of v0.32.5, llama-swap_255_….
func TestWhereMakersPutTheirArchives(t *testing.T) {
	for _, x := range []struct{ kind, version, platform, backend, want string }{
		{"llama-server", "b11211", "linux/amd64", "cpu", "https://github.com/ggml-org/llama.cpp/releases/download/b11211/llama-b11211-bin-ubuntu-x64.tar.gz"},
		{"llama-server", "b11211", "linux/arm64", "vulkan", "https://github.com/ggml-org/llama.cpp/releases/download/b11211/llama-b11211-bin-ubuntu-vulkan-arm64.tar.gz"},
		{"llama-server", "b11211", "darwin/arm64", "vulkan", "https://github.com/ggml-org/llama.cpp/releases/download/b11211/llama-b11211-bin-macos-arm64.tar.gz"},
		{"llama-server", "b11211", "linux/amd64", "rocm", ""},
		{"llama-server", "b11211", "linux/riscv64", "cpu", ""},
		{"ollama", "v0.32.5", "linux/amd64", "cuda", "https://github.com/ollama/ollama/releases/download/v0.32.5/ollama-linux-amd64.tar.zst"},
		{"ollama", "0.32.5", "linux/arm64", "cpu", "https://github.com/ollama/ollama/releases/download/v0.32.5/ollama-linux-arm64.tar.zst"},
		{"ollama", "0.32.5", "linux/amd64", "rocm", ""},
		{"llama-swap", "v255", "linux/amd64", "rocm", "https://github.com/mostlygeek/llama-swap/releases/download/v255/llama-swap_255_linux_amd64.tar.gz"},
	} {
		os, arch, _ := strings.Cut(x.platform, "/")
		s := spec.Service{Kind: x.kind, Backend: x.backend, Install: fromRelease(x.version), Enabled: true}
		p, ok, err := programOf(x.kind, s, &facts.Facts{OS: os, Arch: arch})
		if err != nil || ok != (x.want != "") || p.Archive.URL != x.want {
			t.Errorf("%s with %s on %s: %q, %v", x.kind, x.backend, x.platform, p.Archive.URL, err)
		}
		if ok && !packages.IsArchive(p.Archive.URL) {
			t.Errorf("%s cannot be unpacked", p.Archive.URL)
		}
	}
}

func TestAServiceRunsTheProgramOfItsReleaseAndStartsAnewWithAnother(t *testing.T) {
	h := reference()
	h.Spec.Services, h.Spec.Nightly, h.Spec.Converge = h.Spec.Services[1:4], nil, nil
	h.Facts.Programs = map[string]string{"ollama": "/usr/bin/ollama"}
	h.Spec.Services[0].Install, h.Spec.Services[2].Install = fromRelease("b1"), fromRelease("v255")
	version := "=b1-aa"
	h.Version = func(a reconcile.Address) string { return version }
	const program = "/home/me/.local/share/aisync/releases/llama-server/bin/llama-server"
	one := shown(t, h)
	for _, want := range []string{
		"ExecStart=" + program + " ",
		"ExecStart=/home/me/.local/share/aisync/releases/llama-swap/bin/llama-swap ",
		`cmd: "` + program + ` `, // which another service brings
		"ExecStart=/usr/bin/ollama serve",
	} {
		if !strings.Contains(one, want) {
			t.Errorf("no %s in\n%s", want, one)
		}
	}
	runs := func() (out []reconcile.Fingerprint) {
		for _, d := range h.Declare().Declarations {
			if d.Target.Kind() == "service" {
				out = append(out, d.Leaves[0].Body.Fingerprint())
				if d.Target != "service:user/easy" && d.Target != "service:user/nightly.timer" && d.Target != "service:user/converge.timer" && !slices.Contains(d.DependsOn, "package:release/llama-server") {
					t.Errorf("%s waits for %v only", d.Target, d.DependsOn)
				}
			}
		}
		return out
	}
	before := runs()
	version = "=b1-bb"
	after := runs()
	if before[0] == after[0] || before[1] != after[1] || before[2] == after[2] {
		t.Errorf("with another archive %v became %v", before, after)
	}
}

func TestMissingReleaseIsReported(t *testing.T) {
	h := reference()
	h.Spec.Services = h.Spec.Services[1:2]
	h.Spec.Services[0].Install, h.Spec.Services[0].Backend = fromRelease("b1"), "rocm"
	if got := shown(t, h); !strings.Contains(got, `x service:user/coder: no archive of llama-server is known for linux/amd64 with rocm: name its url beside via: "release", or install it by hand (https://github.com/ggml-org/llama.cpp/releases)`) {
		t.Error(got)
	}
	h.Spec.Services[0].Install.URL = "https://example.org/llama-rocm.tar.gz"
	if got := shown(t, h); !strings.Contains(got, "releases/llama-server/bin/llama-server") {
		t.Error(got)
	}
}

func TestTwoServicesAgreeOnOneProgram(t *testing.T) {
	h := reference()
	all := h.Spec.Services[:2]
	h.Spec.Services = all
	all[0].Install, all[1].Install = fromRelease("b1"), fromRelease("b1")
	if got, err := Programs(h.Spec, h.Facts); len(got) != 1 || err != nil {
		t.Errorf("%v, %v", got, err)
	}
	all[1].Install = fromRelease("b22")
	if _, err := Programs(h.Spec, h.Facts); err == nil || !strings.Contains(err.Error(), `service "coder": it wants another llama-server than me.cue:2:0 does`) {
		t.Error(err)
	}
	all[1].Install, all[1].Backend = fromRelease("b1"), "cpu" // another archive
	if _, err := Programs(h.Spec, h.Facts); err == nil {
		t.Error("two archives of one program were taken")
	}
}

package service

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"aisync.dev/aisync/hosts/facts"
	"aisync.dev/aisync/providers/file"
	"aisync.dev/aisync/providers/service/control"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/fsys"
	"aisync.dev/aisync/schema/spec"
)

var update = flag.Bool("update", false, "write testdata anew")

// reference is a host with a service of each kind.
func reference() Host {
	return Host{
		Spec: &spec.Host{Nightly: &spec.Nightly{At: "02:30"}, Converge: &spec.Converge{Every: 4 * time.Hour}, Models: []spec.ModelUse{{ID: "next", Projector: "eyes", Draft: "short"}}, Services: []spec.Service{
			{Name: "big", Kind: "llama-server", Model: "next", Port: 8082, Context: 4096, Parallel: 2, Scope: "system", Listen: "lan", Enabled: true, NoKey: true, ChatTemplate: "~/100% mine.jinja", Args: []string{"--no-warmup", "--seed", "$x 1"}},
			{Name: "coder", Kind: "llama-server", Model: "coder", Port: 8081, Scope: "user", Listen: "loopback", Enabled: true, ChatTemplate: "chatml", Env: map[string]string{"GGML_VK_VISIBLE_DEVICES": "0"}},
			{Name: "easy", Kind: "ollama", Models: []string{"coder"}, Port: 11434, Scope: "user", Listen: "loopback", Enabled: true},
			{Name: "many", Kind: "llama-swap", Models: []string{"coder", "next"}, Port: 5801, Scope: "user", Listen: "loopback", Enabled: true},
			{Name: "off", Kind: "llama-server", Model: "coder", Port: 8083, Scope: "user"},
			{Name: "pair", Kind: "llama-server", Models: []string{"coder", "next"}, Loaded: 2, Port: 8084, Context: 4096, Parallel: 2, Scope: "user", Listen: "loopback", Enabled: true, ChatTemplate: "chatml", Args: []string{"--no-warmup"}},
			{Name: "theirs", Kind: "external", URL: "http://127.0.0.1:1/v1", Enabled: true},
		}},
		Facts: &facts.Facts{OS: "linux", Arch: "amd64", Vulkan: true, GPUs: []facts.GPU{{Unified: true}}, Memory: facts.Memory{Total: 128 << 30},
			Programs: map[string]string{"llama-server": "/usr/bin/llama-server", "ollama": "/usr/bin/ollama", "llama-swap": "/usr/bin/llama-swap"}},
		Home: "/home/me", Config: "/home/me/.config", State: "/home/me/.local/state/aisync", Ollama: "/home/me/.ollama/models",
		By: control.Systemd, Journal: true, User: "me", Self: "/usr/bin/aisync",
		Key: func(s spec.Service) (string, error) {
			if s.MakesKey() {
				return "0", nil
			}
			return "", nil
		},
		Offload: func(s spec.Service, _ string) Offload {
			if s.Name == "big" || s.Name == "pair" {
				return Offload{GPULayers: 31, CPUExperts: 12, Split: []int64{11, 22}, Prompts: 1 << 30}
			}
			return Offload{GPULayers: every}
		},
		Models: func(id string) (Model, bool) {
			return Model{File: fsys.LogicalPath("/models/" + id + "-00001-of-00002.gguf"), SHA256: []string{"aa", id}, Context: 262144, Views: []reconcile.Address{"view:~/.ollama/models/blobs/sha256-aa"}}, true
		},
		Memory: func(s spec.Service) int64 {
			if s.Name == "coder" {
				return 28 << 30
			}
			return 0
		},
	}
}

// shown is everything that h declares, as text.
func shown(t *testing.T, h Host) string {
	t.Helper()
	var b strings.Builder
	d := h.Declare()
	for _, x := range d.Declarations {
		fmt.Fprintf(&b, "== %s", x.Target)
		if len(x.DependsOn) > 0 {
			fmt.Fprintf(&b, " after %v", x.DependsOn)
		}
		b.WriteString("\n")
		body := x.Leaves[0].Body
		if text, ok := file.Text(body); ok {
			b.Write(text)
		} else {
			fmt.Fprintf(&b, "%s\n", body.Redacted())
		}
	}
	for _, u := range d.Unsupported {
		fmt.Fprintf(&b, "x %s: %s\n", u.Address, u.Reason)
	}
	for _, n := range d.Notes {
		fmt.Fprintf(&b, "note: %s\n", n.Text)
	}
	return b.String()
}

func TestEachKindIsDeclaredAsWritten(t *testing.T) {
	rooted, bare, boxed, mac := reference(), reference(), reference(), reference()
	rooted.Waits = "it starts when the system is booted"
	rooted.Spec.Services = rooted.Spec.Services[1:2]
	bare.Facts = &facts.Facts{OS: "linux", Managers: []string{"pacman", "paru"}, Vulkan: true, GPUs: []facts.GPU{{}}, Programs: map[string]string{}}
	boxed.By, boxed.Journal = control.Own, false
	mac.By, mac.Journal = control.Launchd, false
	mac.Spec.Services = mac.Spec.Services[1:2]
	for name, h := range map[string]Host{"systemd": reference(), "rooted": rooted, "bare": bare, "supervise": boxed, "launchd": mac} {
		t.Run(name, func(t *testing.T) {
			got := shown(t, h)
			golden := filepath.Join("testdata", name+".txt")
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("%s (-want +got); if it is right, run the test with -update:\n%s", golden, diff)
			}
		})
	}
}

// What systemd itself says of every unit. The programs are replaced by one that
// is there, for it looks.
func TestUnitsPassSystemdVerify(t *testing.T) {
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Skip("needs systemd-analyze")
	}
	h := reference()
	h.Self = "/bin/true"
	for name := range h.Facts.Programs {
		h.Facts.Programs[name] = "/bin/true"
	}
	for _, journal := range []bool{true, false} {
		h.Journal = journal
		for _, d := range h.Declare().Declarations {
			if base := filepath.Base(d.Target.Name()); d.Target.Kind() != "file" || filepath.Ext(base) != ".service" && filepath.Ext(base) != ".timer" {
				continue
			}
			text, _ := file.Text(d.Leaves[0].Body)
			if out := verify(t, filepath.Base(d.Target.Name()), text); out != "" {
				t.Errorf("%s:\n%s", d.Target, out)
			}
		}
	}
	broken := strings.Replace(string(unit{name: "x", command: command{argv: []string{"/bin/true"}}}.systemd()), "Type=exec", "Type=exex", 1)
	if verify(t, "broken.service", []byte(broken)) == "" {
		t.Error("a broken unit is found to be right")
	}
}

// verify is what systemd-analyze says of one unit.
func verify(t *testing.T, name string, text []byte) string {
	t.Helper()
	at := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(at, text, 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("systemd-analyze", "verify", "--man=no", at)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "SYSTEMD_LOG_LEVEL=warning"}
	out, err := cmd.CombinedOutput()
	var about []string
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, name) {
			about = append(about, line)
		}
	}
	if err != nil && len(about) == 0 {
		about = []string{err.Error(), string(out)}
	}
	return strings.Join(about, "")
}

// A server's digest moves with what it is started with, and with nothing else.
func TestOnlyInputsRestartServer(t *testing.T) {
	digests := func(h Host) map[reconcile.Address]reconcile.Fingerprint {
		out := map[reconcile.Address]reconcile.Fingerprint{}
		for _, d := range h.Declare().Declarations {
			if d.Target.Kind() == "service" {
				out[d.Target] = d.Leaves[0].Body.Fingerprint()
			}
		}
		return out
	}
	base := digests(reference())
	for name, test := range map[string]struct {
		change func(*Host)
		moves  []reconcile.Address
	}{
		"nothing": {func(*Host) {}, nil},
		"another model": {func(h *Host) {
			models := h.Models
			h.Models = func(id string) (Model, bool) {
				m, ok := models(id)
				if id == "next" {
					m.SHA256 = []string{"aa", "moved"}
				}
				return m, ok
			}
		}, []reconcile.Address{"service:system/big", "service:user/many", "service:user/pair"}},
		"another key": {func(h *Host) {
			h.Key = func(s spec.Service) (string, error) {
				return map[string]string{"coder": "1", "many": "0", "pair": "0"}[s.Name], nil
			}
		}, []reconcile.Address{"service:user/coder"}},
		"an argument":     {func(h *Host) { h.Spec.Services[0].Args = nil }, []reconcile.Address{"service:system/big"}},
		"ollama's folder": {func(h *Host) { h.Ollama = "/other" }, []reconcile.Address{"service:user/easy"}},
		"another place":   {func(h *Host) { h.Offload = nil }, []reconcile.Address{"service:system/big", "service:user/coder", "service:user/many", "service:user/pair"}},
	} {
		h := reference()
		test.change(&h)
		var moved []reconcile.Address
		for a, f := range digests(h) {
			if base[a] != f {
				moved = append(moved, a)
			}
		}
		slices.Sort(moved)
		if diff := cmp.Diff(test.moves, moved); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestTheBackendIsWhatTheMachineHas(t *testing.T) {
	card := []facts.GPU{{}}
	for _, c := range []struct {
		said string
		f    *facts.Facts
		want string
	}{
		{"", nil, "cpu"},
		{"", &facts.Facts{Vulkan: true}, "cpu"}, // a driver, and nothing to drive
		{"", &facts.Facts{GPUs: card, Vulkan: true, ROCm: "gfx1151"}, "vulkan"},
		{"", &facts.Facts{GPUs: card, ROCm: "gfx1151"}, "rocm"},
		{"", &facts.Facts{GPUs: card, CUDA: "550", Vulkan: true}, "cuda"},
		{"rocm", &facts.Facts{GPUs: card, Vulkan: true}, "rocm"},
	} {
		if got := backend(spec.Service{Backend: c.said}, c.f); got != c.want {
			t.Errorf("%q on %+v: %s, want %s", c.said, c.f, got, c.want)
		}
	}
}

func TestProgramsOfServicesAreInstalledWhereTheSpecAsks(t *testing.T) {
	f := &facts.Facts{Vulkan: true, GPUs: []facts.GPU{{}}}
	with := func(kind, via string) *spec.Host {
		return &spec.Host{Services: []spec.Service{{Name: "s", Kind: kind, Enabled: true, Install: &spec.Install{Via: via}}}}
	}
	for _, c := range []struct{ kind, via, want string }{
		{"llama-server", "pacman", "llama.cpp-vulkan"},
		{"llama-server", "brew", "llama.cpp"},
		{"ollama", "pacman", "ollama-vulkan"},
		{"ollama", "go", "github.com/ollama/ollama"},
		{"llama-swap", "aur", "llama-swap llama.cpp-vulkan"},
	} {
		got, err := Programs(with(c.kind, c.via), f)
		var names []string
		for _, p := range got {
			names = append(names, p.Name)
		}
		if err != nil || strings.Join(names, " ") != c.want {
			t.Errorf("%s by %s: %v, %v", c.kind, c.via, names, err)
		}
	}
	if _, err := Programs(with("ollama", "npm"), f); err == nil || !strings.Contains(err.Error(), "known: brew, go, pacman") {
		t.Errorf("got %v", err)
	}
}

// A plan that does not know the files of a model yet says so of the services
// that serve it, and stops none that runs from what was known before.
func TestAServiceWhoseModelIsNotKnownYetIsARowAndStaysAsItIs(t *testing.T) {
	h := reference()
	h.Spec.Nightly, h.Spec.Converge, h.Spec.Services = nil, nil, h.Spec.Services[1:4]
	known := h.Models
	h.Models = func(id string) (Model, bool) { m, _ := known(id); return m, id != "next" }
	h.Recorded = func(a reconcile.Address) bool { return a.Kind() == "file" }
	got := shown(t, h)
	const why = "its model next is not pinned; run: aisync apply, or aisync lock (needs the network)"
	for _, want := range []string{"x service:user/many: " + why, "x file:~/.config/systemd/user/aisync-many.service: unchanged: " + why, "== service:user/coder ", "== service:user/easy "} {
		if !strings.Contains(got, want) {
			t.Errorf("does not say %q:\n%s", want, got)
		}
	}
	if strings.Contains(got, "== file:~/.config/systemd/user/aisync-many.service") {
		t.Errorf("declares it:\n%s", got)
	}
	if why := h.Absent(h.Spec.Services[2]); why != "its model next is not pinned" {
		t.Errorf("absent: %q", why)
	}
	if why := h.Absent(h.Spec.Services[0]); why != "" {
		t.Errorf("coder is absent: %q", why)
	}
}

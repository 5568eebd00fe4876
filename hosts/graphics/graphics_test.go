package graphics

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"aisync.dev/aisync/hosts/facts"
)

// lay writes files below a new root; a content that begins with "-> " is a link.
func lay(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, content := range files {
		p := filepath.Join(root, name)
		err := os.MkdirAll(filepath.Dir(p), 0o755)
		if target, link := strings.CutPrefix(content, "-> "); link && err == nil {
			err = os.Symlink(target, p)
		} else if err == nil {
			err = os.WriteFile(p, []byte(content), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// oneCard is a machine with an RTX 4090 and NVIDIA's driver.
func oneCard() map[string]string {
	const at = "sys/bus/pci/devices/0000:01:00.0"
	return map[string]string{
		at + "/class": "0x030000\n", at + "/vendor": "0x10de\n", at + "/device": "0x2684\n", at + "/driver": "-> ../../drivers/nvidia",
		"proc/driver/nvidia/version":         "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  Release Build\n",
		"proc/sys/kernel/random/boot_id":     "one\n",
		"sys/class/drm/card0/device":         "-> ../../../bus/pci/devices/0000:01:00.0",
		"sys/class/drm/card0-HDMI-A-1/modes": "",
	}
}

const row = "00000000:01:00.0, NVIDIA GeForce RTX 4090, 24564, 24057, 580.95.05\n"

func says(out string, err error) Run {
	return func(context.Context, ...string) ([]byte, error) { return []byte(out), err }
}

// What a tool, a driver or a bus says wrong is never taken for a card, and never
// hides one.
func TestWrongAnswersAreUnknown(t *testing.T) {
	for name, c := range map[string]struct {
		change  map[string]string // of oneCard; "-" takes a file away
		run     Run
		memory  int64
		unknown string
	}{
		"right":                   {nil, says(row, nil), 24564 << 20, ""},
		"no tool":                 {nil, says("", exec.ErrNotFound), 0, "nvidia-smi is not installed"},
		"the tool hangs":          {nil, says("", context.DeadlineExceeded), 0, "nvidia-smi does not answer"},
		"no program may start":    {nil, nil, 0, "nvidia-smi may not be started here"},
		"the tool fails silently": {nil, says("", errors.New("exit status 14")), 0, "nvidia-smi fails: exit status 14"},
		"the tool fails":          {nil, says("\nFailed to initialize NVML: Driver/library version mismatch\nmore", errors.New("exit status 18")), 0, "nvidia-smi fails: Failed to initialize NVML: Driver/library version mismatch"},
		"nothing":                 {nil, says("\n\n", nil), 0, "nvidia-smi lists no unit"},
		"another form":            {nil, says("GPU 0: NVIDIA GeForce RTX 4090\n", nil), 0, "nvidia-smi prints something else"},
		"no memory":               {nil, says("00000000:01:00.0, NVIDIA GeForce RTX 4090, [N/A], [N/A], 1\n", nil), 0, `nvidia-smi gives "[N/A]"`},
		"a negative memory":       {nil, says("00000000:01:00.0, NVIDIA GeForce RTX 4090, -1, 0, 1\n", nil), 0, `nvidia-smi gives "-1"`},
		"more than any card has":  {nil, says("00000000:01:00.0, NVIDIA GeForce RTX 4090, 99999999999, 0, 1\n", nil), 0, "nvidia-smi gives"},
		"an overflow":             {nil, says("00000000:01:00.0, NVIDIA GeForce RTX 4090, 99999999999999999999, 0, 1\n", nil), 0, "nvidia-smi gives"},
		"another card alone":      {nil, says(strings.Replace(row, ":01:", ":02:", 1), nil), 0, "nvidia-smi does not list it"},
		"no driver":               {map[string]string{"proc/driver/nvidia/version": "-", "sys/bus/pci/devices/0000:01:00.0/driver": "-"}, says(row, nil), 0, "no driver is loaded for it"},
		"given to a guest":        {map[string]string{"proc/driver/nvidia/version": "-", "sys/bus/pci/devices/0000:01:00.0/driver": "-> ../vfio-pci"}, says(row, nil), 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			files := oneCard()
			for file, content := range c.change {
				if files[file] = content; content == "-" {
					delete(files, file)
				}
			}
			got := Look{Kernel: lay(t, files), Root: t.TempDir(), OS: "linux", Run: c.run}.Units(context.Background())
			i := slices.IndexFunc(got, func(g facts.GPU) bool { return g.Address == "0000:01:00.0" })
			if i < 0 || got[i].VRAM != c.memory || got[i].Name != "NVIDIA GeForce RTX 4090" || !strings.HasPrefix(got[i].MemoryUnknown, c.unknown) || (c.unknown == "") != (got[i].MemoryUnknown == "") {
				t.Errorf("%+v", got)
			}
		})
	}
}

func TestMoreThanIsFreeIsNotFree(t *testing.T) {
	got := Look{Kernel: lay(t, oneCard()), OS: "linux", Run: says("00000000:01:00.0, A, 24564, 99999, 1\n", nil)}.Units(context.Background())
	if len(got) != 1 || got[0].VRAM != 24564<<20 || got[0].VRAMFree != 0 {
		t.Errorf("%+v", got)
	}
}

// A card that vanishes while it is read, or whose files are no figures, has no
// memory, and names the reason.
func TestFilesOfOtherDriversMayBeWrong(t *testing.T) {
	for _, figure := range []string{"", "x", "-5", "99999999999999999999", "9999999999999999"} {
		files := map[string]string{
			"sys/bus/pci/devices/0000:03:00.0/class": "0x038000", "sys/bus/pci/devices/0000:03:00.0/vendor": "0x1002", "sys/bus/pci/devices/0000:03:00.0/device": "0x744c",
			"sys/bus/pci/devices/0000:03:00.0/driver": "-> ../amdgpu", "sys/bus/pci/devices/0000:03:00.0/mem_info_vram_total": figure,
			"sys/class/drm/card1/device": "-> ../../../bus/pci/devices/0000:09:00.0", // is gone
		}
		got := Look{Kernel: lay(t, files), OS: "linux"}.Units(context.Background())
		if len(got) != 1 || got[0].VRAM != 0 || got[0].MemoryUnknown != "its driver amdgpu does not give mem_info_vram_total" || got[0].Name != "AMD Radeon RX 7900" {
			t.Errorf("%q: %+v", figure, got)
		}
	}
}

// The tool is asked once for each boot, driver and set of cards, and a cache that
// is damaged costs another question.
func TestTheToolIsAskedOnce(t *testing.T) {
	root, asked := lay(t, oneCard()), 0
	look := Look{Kernel: root, OS: "linux", Cache: filepath.Join(t.TempDir(), "aisync", "graphics.json"), Run: func(context.Context, ...string) ([]byte, error) {
		asked++
		return []byte(row), nil
	}}
	put := func(name, text string) {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for i, c := range []struct {
		change func()
		asked  int
		free   int64
	}{
		{func() {}, 1, 24057 << 20},
		{func() {}, 1, 0}, // free then is not free now
		{func() { put(filepath.Join(root, "proc/sys/kernel/random/boot_id"), "two\n") }, 2, 24057 << 20},
		{func() { put(filepath.Join(root, "proc/driver/nvidia/version"), "Kernel Module  999.1  x") }, 3, 24057 << 20},
		{func() { put(look.Cache, "{") }, 4, 24057 << 20},
		{func() { put(look.Cache, `{"format_version":1,"key":["999.1","two","0000:01:00.0"],"output":"lies"}`) }, 5, 24057 << 20},
		{func() {}, 5, 0},
	} {
		c.change()
		got := look.Units(context.Background())
		if asked != c.asked || len(got) != 1 || got[0].VRAM != 24564<<20 || got[0].VRAMFree != c.free {
			t.Errorf("step %d: asked %d times: %+v", i, asked, got)
		}
	}
}

func TestProgramsEndAndAreFound(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "tool"), []byte("#!/bin/sh\necho \"$1 $LC_ALL\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	run := Programs([]string{"relative", dir}, []string{"PATH=/usr/bin:/bin"})
	if out, err := run(context.Background(), "tool", "said"); err != nil || string(out) != "said C\n" {
		t.Errorf("%q %v", out, err)
	}
	if _, err := run(context.Background(), "no-such-tool"); !errors.Is(err, exec.ErrNotFound) {
		t.Error(err)
	}
	late, cancel := context.WithDeadline(context.Background(), time.Unix(1, 0))
	defer cancel()
	if _, err := run(late, "tool"); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}

func TestSmallerChipsAreNarrower(t *testing.T) {
	for cores, want := range map[string]int64{"40": 546e9, "32": 410e9, "none": 546e9} {
		run := func(_ context.Context, argv ...string) ([]byte, error) {
			if argv[0] == "sysctl" {
				return []byte("40960\n"), nil
			}
			return []byte("      Chipset Model: Apple M4 Max\n      Total Number of Cores: " + cores + "\n"), nil
		}
		got := Look{OS: "darwin", Memory: 64 << 30, Run: run}.Units(context.Background())
		if len(got) != 1 || got[0].Bandwidth != want || got[0].GTT != 40<<30 || !got[0].Unified {
			t.Errorf("%s: %+v", cores, got)
		}
	}
}

// A card that no data sheet of ours has gets the name that the machine's pci.ids
// has for it, and one id with several cards is told by its memory.
func TestNamesOfUnits(t *testing.T) {
	const at, list = "sys/bus/pci/devices/0000:01:00.0", "usr/share/misc/pci.ids"
	ids := "# a comment\n1001  Others\n\t1234  Other [Not this]\n10de  NVIDIA Corporation\n\t1234  GX1 [GeForce X]\n\t\t10de 1234  A maker's\n\t1235  Plain\n1002  AMD\n\t1236  Not NVIDIA's\n"
	for device, want := range map[string]string{"1234": "GeForce X", "1235": "Plain", "1236": "", "2684": "NVIDIA GeForce RTX 4090"} {
		root := lay(t, map[string]string{at + "/class": "0x030000\n", at + "/vendor": "0x10de\n", at + "/device": "0x" + device + "\n", list: ids})
		got := Look{Kernel: root, Root: root, OS: "linux"}.Units(context.Background())
		if len(got) != 1 || got[0].Name != want {
			t.Errorf("%s: %+v, want the name %q", device, got, want)
		}
	}
	for gb, want := range map[string]string{"12868124672": "AMD Radeon RX 7700 XT", "17163091968": "AMD Radeon RX 7800 XT", "8589934592": "AMD Radeon RX 7700/7800 XT"} {
		root := lay(t, map[string]string{
			at + "/class": "0x030000\n", at + "/vendor": "0x1002\n", at + "/device": "0x747e\n", at + "/driver": "-> ../../drivers/amdgpu", at + "/mem_info_vram_total": gb + "\n",
		})
		if got := (Look{Kernel: root, Root: root, OS: "linux"}).Units(context.Background()); len(got) != 1 || got[0].Name != want {
			t.Errorf("%s bytes: %+v, want the name %q", gb, got, want)
		}
	}
}

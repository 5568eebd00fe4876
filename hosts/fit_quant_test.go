package hosts

import (
	"strings"
	"testing"

	"aisync.dev/aisync/hosts/facts"
	"aisync.dev/aisync/schema/spec"
)

func TestPickQuantForUse(t *testing.T) {
	pearl, _ := Recorded("pearl")
	velox, _ := Recorded("velox")
	big := loadOf(t, "big", "Q4_K_M", 48_400, nextShape, 262144)
	header := shaped(t, coderShape)
	card := func(vram, memory int64) facts.Facts {
		return facts.Facts{Memory: facts.Memory{Total: memory << 30}, CUDA: "580", GPUs: []facts.GPU{{Vendor: "10de", VRAM: vram << 30}}}
	}
	for name, c := range map[string]struct {
		f     facts.Facts
		use   Use
		quant string
		fits  bool
		say   string
	}{
		"pearl, beside the large one":             {pearl, Use{Shape: header, Context: 65536, Others: []Load{big}}, "Q6_K", true, "the best that fits 116.5 GB of unified memory"},
		"pearl, beside two large ones":            {pearl, Use{Shape: header, Context: 16384, Others: []Load{big, loadOf(t, "o", "Q4_K_M", 36_000, nextShape, 32768)}}, "Q4_K_M", true, "unified memory"},
		"pearl, no header":                        {pearl, Use{Others: []Load{big}}, "Q6_K", true, "the best"},
		"velox":                                   {velox, Use{Shape: header, Context: 32768}, "Q4_K_M", true, "the quickest good one"},
		"pearl, for speed":                        {pearl, Use{Shape: header, Prefer: "speed"}, "Q4_K_M", true, "as the spec prefers speed"},
		"velox, for quality":                      {velox, Use{Shape: header, Prefer: "quality"}, "Q6_K", true, "as the spec prefers quality"},
		"a card, for quality":                     {card(24, 64), Use{Shape: header, Context: 4096, Prefer: "quality"}, "Q5_K_M", true, "the best that fits 23.2 GB of graphics memory"},
		"a card, a short context":                 {card(24, 64), Use{Shape: header, Context: 4096}, "Q5_K_M", true, "the best that fits 23.2 GB of graphics memory"},
		"a card, a long context":                  {card(24, 64), Use{Shape: header, Context: 131072}, "Q4_K_M", true, "of graphics and main memory"},
		"a card, a long context in a small cache": {card(32, 64), Use{Shape: header, Context: 131072, Cache: "q8_0"}, "Q5_K_M", true, "graphics memory"},
		"a card without memory beside it":         {card(12, 12), Use{Shape: header}, "Q4_K_M", false, "even it does not fit"},
		"full context":                            {facts.Facts{Memory: facts.Memory{Total: 48 << 30}}, Use{Shape: header, Context: 262144}, "Q4_K_M", false, "of memory"},
	} {
		t.Run(name, func(t *testing.T) {
			got := PickQuantFor(coder, c.f, c.use)
			if got.Quant != c.quant || got.Fits != c.fits || !strings.Contains(got.Reason, c.say) {
				t.Errorf("%+v", got)
			}
		})
	}
	only := spec.Model{Quants: coder.Quants[:1]}
	if got := PickQuantFor(only, velox, Use{Shape: header, Sequences: 1 << 10}); got.Fits || !strings.Contains(got.Reason, "the only quantization, but it does not fit") {
		t.Errorf("%+v", got)
	}
}

func TestFitDiskUsesStoreDisk(t *testing.T) {
	f := facts.Facts{Disks: []facts.Disk{{Path: "/", Free: 5 * gib64, Size: 9 * gib64}, {Path: "/home", Free: 60 * gib64, Size: 99 * gib64}, {Path: "/home/me", Size: 0}}}
	for name, c := range map[string]struct {
		missing int64
		dir     string
		want    Level
		path    string
	}{
		"room":                      {58 * gib64, "/home/me/models", Fits, "/home"},
		"the reserve does not stay": {58*gib64 + 1, "/home/me/models", No, "/home"},
		"a name that only begins":   {4 * gib64, "/homeless/models", No, "/"},
		"the folder itself":         {gib64, "/home", Fits, "/home"},
		"nothing is missing":        {0, "/srv", Fits, "/"},
	} {
		if v := FitDisk(c.missing, c.dir, f); v.Level != c.want || v.Path != c.path || v.Reason() == "" {
			t.Errorf("%s: %+v", name, v)
		}
	}
	if v := FitDisk(1, "/x", facts.Facts{}); v.Level != Unknown || !strings.Contains(v.Reason(), "unknown") {
		t.Errorf("%+v", v)
	}
}

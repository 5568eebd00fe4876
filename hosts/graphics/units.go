package graphics

import (
	"strings"

	"aisync.dev/aisync/hosts/facts"
)

const giga = int64(1e9)

// kind is where a unit's memory lies.
type kind int

const (
	discrete kind = iota
	shared        // the processor's memory, with its bandwidth: no faster than the processor
	unified       // the processor's memory, which all of the chip reads fast
)

// unit is what a data sheet says of a unit.
type unit struct {
	name string
	giga int64 // bandwidth of its memory, bytes × 10⁹ each second
	kind kind
}

// sheets are the units known by PCI ids, which are those of pci.ids of 2026-08-22
// (https://github.com/pciutils/pciids). Names are those of the drivers' tools.
// Bandwidths are those of the makers' data sheets, width of the bus times rate;
// where an id has several cards, that of the slowest.
var sheets = map[string]unit{
	"10de:1b06": {"NVIDIA GeForce GTX 1080 Ti", 484, discrete}, "10de:1b38": {"Tesla P40", 346, discrete}, "10de:1b81": {"NVIDIA GeForce GTX 1070", 256, discrete},
	"10de:1db4": {"Tesla V100-PCIE-16GB", 900, discrete}, "10de:1db6": {"Tesla V100-PCIE-32GB", 900, discrete}, "10de:1e81": {"NVIDIA GeForce RTX 2080 SUPER", 496, discrete},
	"10de:1e82": {"NVIDIA GeForce RTX 2080", 448, discrete}, "10de:1e84": {"NVIDIA GeForce RTX 2070 SUPER", 448, discrete}, "10de:1e87": {"NVIDIA GeForce RTX 2080", 448, discrete},
	"10de:1f02": {"NVIDIA GeForce RTX 2070", 448, discrete}, "10de:1f06": {"NVIDIA GeForce RTX 2060 SUPER", 448, discrete}, "10de:1f07": {"NVIDIA GeForce RTX 2070", 448, discrete},
	"10de:1f82": {"NVIDIA GeForce GTX 1650", 128, discrete}, "10de:2182": {"NVIDIA GeForce GTX 1660 Ti", 288, discrete}, "10de:2184": {"NVIDIA GeForce GTX 1660", 192, discrete},
	"10de:2191": {"NVIDIA GeForce GTX 1660 Ti", 288, discrete}, "10de:21c4": {"NVIDIA GeForce GTX 1660 SUPER", 336, discrete}, "10de:20b0": {"NVIDIA A100-SXM4-40GB", 1555, discrete},
	"10de:20b2": {"NVIDIA A100-SXM4-80GB", 2039, discrete}, "10de:20f1": {"NVIDIA A100-PCIE-40GB", 1555, discrete}, "10de:220a": {"NVIDIA GeForce RTX 3080", 912, discrete},
	"10de:2231": {"NVIDIA RTX A5000", 768, discrete}, "10de:2233": {"NVIDIA RTX A5500", 768, discrete}, "10de:2236": {"NVIDIA A10", 600, discrete}, "10de:2335": {"NVIDIA H200", 4800, discrete},
	"10de:24b0": {"NVIDIA RTX A4000", 448, discrete}, "10de:24dd": {"NVIDIA GeForce RTX 3070 Laptop GPU", 384, discrete}, "10de:2507": {"NVIDIA GeForce RTX 3050", 224, discrete},
	"10de:27b2": {"NVIDIA RTX 4000 Ada Generation", 360, discrete},
	"10de:1b80": {"NVIDIA GeForce GTX 1080", 320, discrete}, "10de:1e07": {"NVIDIA GeForce RTX 2080 Ti", 616, discrete},
	"10de:1eb1": {"Quadro RTX 4000", 416, discrete}, "10de:1eb8": {"Tesla T4", 320, discrete}, "10de:1f08": {"NVIDIA GeForce RTX 2060", 336, discrete},
	"10de:20b5": {"NVIDIA A100 80GB PCIe", 1935, discrete}, "10de:2203": {"NVIDIA GeForce RTX 3090 Ti", 1008, discrete}, "10de:2204": {"NVIDIA GeForce RTX 3090", 936, discrete},
	"10de:2206": {"NVIDIA GeForce RTX 3080", 760, discrete}, "10de:2208": {"NVIDIA GeForce RTX 3080 Ti", 912, discrete}, "10de:2216": {"NVIDIA GeForce RTX 3080", 760, discrete},
	"10de:2230": {"NVIDIA RTX A6000", 768, discrete}, "10de:2235": {"NVIDIA A40", 696, discrete}, "10de:2321": {"NVIDIA H100 NVL", 3900, discrete},
	"10de:2330": {"NVIDIA H100 80GB HBM3", 3350, discrete}, "10de:2331": {"NVIDIA H100 PCIe", 2000, discrete}, "10de:2482": {"NVIDIA GeForce RTX 3070 Ti", 608, discrete},
	"10de:2484": {"NVIDIA GeForce RTX 3070", 448, discrete}, "10de:2488": {"NVIDIA GeForce RTX 3070", 448, discrete}, "10de:2486": {"NVIDIA GeForce RTX 3060 Ti", 448, discrete},
	"10de:2503": {"NVIDIA GeForce RTX 3060", 360, discrete}, "10de:2504": {"NVIDIA GeForce RTX 3060", 360, discrete}, "10de:2520": {"NVIDIA GeForce RTX 3060 Laptop GPU", 336, discrete},
	"10de:2684": {"NVIDIA GeForce RTX 4090", 1008, discrete}, "10de:26b1": {"NVIDIA RTX 6000 Ada Generation", 960, discrete}, "10de:26b5": {"NVIDIA L40", 864, discrete},
	"10de:26b9": {"NVIDIA L40S", 864, discrete}, "10de:2702": {"NVIDIA GeForce RTX 4080 SUPER", 736, discrete}, "10de:2704": {"NVIDIA GeForce RTX 4080", 717, discrete},
	"10de:2705": {"NVIDIA GeForce RTX 4070 Ti SUPER", 672, discrete}, "10de:2757": {"NVIDIA GeForce RTX 4090 Laptop GPU", 576, discrete}, "10de:2782": {"NVIDIA GeForce RTX 4070 Ti", 504, discrete},
	"10de:2783": {"NVIDIA GeForce RTX 4070 SUPER", 504, discrete}, "10de:2786": {"NVIDIA GeForce RTX 4070", 504, discrete}, "10de:27b8": {"NVIDIA L4", 300, discrete},
	"10de:27e0": {"NVIDIA GeForce RTX 4080 Laptop GPU", 432, discrete}, "10de:2803": {"NVIDIA GeForce RTX 4060 Ti", 288, discrete}, "10de:2805": {"NVIDIA GeForce RTX 4060 Ti", 288, discrete},
	"10de:2820": {"NVIDIA GeForce RTX 4070 Laptop GPU", 256, discrete}, "10de:2860": {"NVIDIA GeForce RTX 4070 Laptop GPU", 256, discrete}, "10de:2882": {"NVIDIA GeForce RTX 4060", 272, discrete},
	"10de:28a0": {"NVIDIA GeForce RTX 4060 Laptop GPU", 256, discrete}, "10de:28e0": {"NVIDIA GeForce RTX 4060 Laptop GPU", 256, discrete}, "10de:2b85": {"NVIDIA GeForce RTX 5090", 1792, discrete},
	"10de:2bb1": {"NVIDIA RTX PRO 6000 Blackwell Workstation Edition", 1792, discrete}, "10de:2c02": {"NVIDIA GeForce RTX 5080", 960, discrete}, "10de:2c05": {"NVIDIA GeForce RTX 5070 Ti", 896, discrete},
	"10de:2c58": {"NVIDIA GeForce RTX 5090 Laptop GPU", 896, discrete}, "10de:2d04": {"NVIDIA GeForce RTX 5060 Ti", 448, discrete}, "10de:2d05": {"NVIDIA GeForce RTX 5060", 448, discrete},
	"10de:2e12": {"NVIDIA GB10", 273, unified}, "10de:2f04": {"NVIDIA GeForce RTX 5070", 672, discrete},

	"1002:150e": {"AMD Radeon 890M (Strix Point)", 120, unified}, "1002:1586": {"AMD Radeon 8060S (Strix Halo)", 256, unified}, "1002:15bf": {"AMD Radeon 780M", 90, shared},
	"1002:15e7": {"AMD Radeon Graphics (Barcelo)", 51, shared}, "1002:1636": {"AMD Radeon Graphics (Renoir)", 51, shared}, "1002:1638": {"AMD Radeon Graphics (Cezanne)", 51, shared},
	"1002:164e": {"AMD Radeon Graphics (Raphael)", 83, shared}, "1002:1681": {"AMD Radeon 680M", 77, shared}, "1002:1900": {"AMD Radeon 780M", 90, shared},
	"1002:66af": {"AMD Radeon VII", 1024, discrete}, "1002:67df": {"AMD Radeon RX 470/480/570/580/590", 211, discrete}, "1002:731f": {"AMD Radeon RX 5600/5700 XT", 288, discrete},
	"1002:738c": {"AMD Instinct MI100", 1229, discrete}, "1002:73a5": {"AMD Radeon RX 6950 XT", 576, discrete}, "1002:73ff": {"AMD Radeon RX 6600", 224, discrete}, "1002:740f": {"AMD Instinct MI210", 1638, discrete},
	"1002:7551": {"AMD Radeon AI PRO R9700", 640, discrete},
	"1002:73bf": {"AMD Radeon RX 6800/6900 XT", 512, discrete}, "1002:73df": {"AMD Radeon RX 6700 XT", 384, discrete}, "1002:7448": {"AMD Radeon PRO W7900", 864, discrete},
	"1002:744c": {"AMD Radeon RX 7900", 0, discrete}, "1002:747e": {"AMD Radeon RX 7700/7800 XT", 432, discrete}, "1002:7480": {"AMD Radeon RX 7600", 288, discrete},
	"1002:74a1": {"AMD Instinct MI300X", 5300, discrete}, "1002:7550": {"AMD Radeon RX 9070", 640, discrete}, "1002:7590": {"AMD Radeon RX 9060 XT", 320, discrete},

	"8086:56a0": {"Intel Arc A770", 560, discrete}, "8086:56a1": {"Intel Arc A750", 512, discrete}, "8086:56a2": {"Intel Arc A580", 512, discrete}, "8086:56a5": {"Intel Arc A380", 186, discrete},
	"8086:e212": {"Intel Arc Pro B50", 224, discrete}, "8086:64a0": {"Intel Arc 140V (Lunar Lake)", 136, shared},
	"8086:7d55": {"Intel Arc (Meteor Lake-P)", 90, shared}, "8086:a7a0": {"Intel Iris Xe (Raptor Lake-P)", 77, shared}, "8086:e20b": {"Intel Arc B580", 456, discrete},
	"8086:e20c": {"Intel Arc B570", 380, discrete}, "8086:e211": {"Intel Arc Pro B60", 456, discrete},
}

// chips are Apple's, by name. Source: apple.com's technical specifications.
var chips = map[string]int64{
	"Apple M1": 68, "Apple M1 Pro": 200, "Apple M1 Max": 400, "Apple M1 Ultra": 800,
	"Apple M2": 100, "Apple M2 Pro": 200, "Apple M2 Max": 400, "Apple M2 Ultra": 800,
	"Apple M3": 100, "Apple M3 Pro": 150, "Apple M3 Max": 400, "Apple M3 Ultra": 819,
	"Apple M4": 120, "Apple M4 Pro": 273, "Apple M4 Max": 546,
	"Apple M5": 153, "Apple M5 Pro": 307, "Apple M5 Max": 614,
}

// byMemory are the cards of one id, by GiB.
var byMemory = map[string]map[int64]unit{
	"1002:744c": {24: {"AMD Radeon RX 7900 XTX", 960, discrete}, 20: {"AMD Radeon RX 7900 XT", 800, discrete}, 16: {"AMD Radeon RX 7900 GRE", 576, discrete}},
	"1002:747e": {16: {"AMD Radeon RX 7800 XT", 624, discrete}, 12: {"AMD Radeon RX 7700 XT", 432, discrete}},
}

// known adds what data sheets say of a unit: the name that its driver does not
// give, the bandwidth, and where its memory lies.
func known(g *facts.GPU) {
	u, ok := sheets[g.Vendor+":"+g.Device]
	if m, several := byMemory[g.Vendor+":"+g.Device][(g.VRAM+gib/2)/gib]; several {
		u = m
	}
	if !ok { // by name: WSL hides the id, and one card has several
		for _, other := range sheets {
			if g.Name != "" && other.name == g.Name {
				u = other
			}
		}
	}
	if g.Name == "" {
		g.Name = u.name
	}
	if g.Bandwidth = u.giga * giga; g.Vendor == apple {
		g.Bandwidth = chips[g.Name] * giga
	}
	g.Integrated = g.Integrated || u.kind == shared
	g.Unified = g.Unified || u.kind == unified || onChip(*g)
}

// onChip reports whether a unit of NVIDIA has the processor's memory: its tool
// gives no memory then.
func onChip(g facts.GPU) bool {
	if g.Vendor != nvidia {
		return false
	}
	for _, chip := range []string{"GB10", "Orin", "Thor"} {
		if strings.Contains(g.Name, chip) {
			return true
		}
	}
	return sheets[g.Vendor+":"+g.Device].kind == unified
}

// Bandwidth returns the bytes a second of a unit's memory: what its facts say, or
// what is known of its id; 0 for unknown.
func Bandwidth(g facts.GPU) int64 {
	if g.Bandwidth == 0 {
		known(&g)
	}
	return g.Bandwidth
}

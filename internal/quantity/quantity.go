// Package quantity shows counts and sizes to people. It imports nothing of ours.
// Call Count, Bytes or Memory.
package quantity

import (
	"strconv"
	"strings"
)

// Count is a number with its noun: "1 change", "3 changes", "2 entries".
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	if stem, ok := strings.CutSuffix(noun, "y"); ok {
		return strconv.Itoa(n) + " " + stem + "ies"
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

// Bytes is the size of a file or a transfer, in powers of 1000 as disks and
// hubs count: "18.6 GB".
func Bytes(n int64) string { return size(n, 1000, []string{"B", "kB", "MB", "GB", "TB", "PB"}) }

// Memory is a size of memory, in powers of 1024: "62.5 GiB".
func Memory(n int64) string { return size(n, 1024, []string{"B", "KiB", "MiB", "GiB", "TiB", "PiB"}) }

func size(n, base int64, units []string) string {
	if n < base {
		return strconv.FormatInt(n, 10) + " " + units[0]
	}
	v, i := float64(n), 0
	for v >= float64(base) && i < len(units)-1 {
		v /= float64(base)
		i++
	}
	return strconv.FormatFloat(v, 'f', 1, 64) + " " + units[i]
}

package hosts

import (
	"fmt"
	"strings"

	"aisync.dev/aisync/hosts/facts"
)

// diskReserve stays free on a disk that models are fetched to.
const diskReserve = 2 * gib64

// DiskVerdict says whether what is to be fetched has a place on its disk. Here
// what is free now does count: files stay.
type DiskVerdict struct {
	Level   Level  `json:"verdict"` // Fits, No or Unknown
	Path    string `json:"path"`    // of the disk; "" if it is not known
	Missing int64  `json:"missing_bytes"`
	Reserve int64  `json:"reserve_bytes"`
	Free    int64  `json:"free_bytes"`
}

// FitDisk says whether missing bytes have a place in folder dir, with 2 GiB left.
func FitDisk(missing int64, dir string, f facts.Facts) DiskVerdict {
	v := DiskVerdict{Level: Unknown, Missing: missing, Reserve: diskReserve}
	for _, d := range f.Disks {
		below := d.Path == "/" || dir == d.Path || strings.HasPrefix(dir, strings.TrimSuffix(d.Path, "/")+"/")
		if below && d.Size > 0 && len(d.Path) >= len(v.Path) {
			v.Path, v.Free = d.Path, d.Free
		}
	}
	switch {
	case missing == 0:
		v.Level = Fits
	case v.Path == "":
	case add(missing, diskReserve) > v.Free:
		v.Level = No
	default:
		v.Level = Fits
	}
	return v
}

// Reason is one clause for people.
func (v DiskVerdict) Reason() string {
	if v.Path == "" {
		return fmt.Sprintf("needs %s, and how much is free on its disk is not known", gibibytes(v.Missing))
	}
	return fmt.Sprintf("needs %s and %s in reserve, and %s has %s free", gibibytes(v.Missing), gibibytes(v.Reserve), v.Path, gibibytes(v.Free))
}

package hosts

import (
	"fmt"
	"strings"

	"aisync.dev/aisync/hosts/facts"
)

// diskReserve stays free on the disk of the models.
const diskReserve = 2 * gib64

// DiskVerdict says whether downloads fit their disk. It counts what is free now,
// because files stay.
type DiskVerdict struct {
	Level   Level  `json:"verdict"` // Fits, No or Unknown
	Path    string `json:"path"`    // of the disk; "": unknown
	Missing int64  `json:"missing_bytes"`
	Reserve int64  `json:"reserve_bytes"`
	Free    int64  `json:"free_bytes"`
}

// FitDisk says whether missing bytes fit folder dir, with 2 GiB left.
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

// Reason returns a clause for people.
func (v DiskVerdict) Reason() string {
	if v.Path == "" {
		return fmt.Sprintf("needs %s, but the free space on its disk is unknown", gibibytes(v.Missing))
	}
	return fmt.Sprintf("needs %s and %s in reserve; %s has %s free", gibibytes(v.Missing), gibibytes(v.Reserve), v.Path, gibibytes(v.Free))
}

package keeper

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"aisync.dev/aisync/agents/process"
)

// Only what is seen says that an agent is gone: not a record that is missing in a
// folder that is missing too.
func TestLifeOfKnown(t *testing.T) {
	table := process.System()
	self, err := table.Read(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	here := Here(table)
	away := here
	away.Namespace += "x" // a sandbox's
	before := here
	before.Boot += "x"
	root := t.TempDir()
	folder := t.TempDir()
	if err := os.MkdirAll(filepath.Join(folder, Dir), 0o700); err != nil {
		t.Fatal(err)
	}
	old := Lease + time.Second
	for name, test := range map[string]struct {
		root  string
		known Known
		want  Life
	}{
		"a process that is there":                     {folder, Known{PID: self.PID, Start: self.Start, Place: here, Kept: true, Age: old}, Alive},
		"a process that has ended":                    {folder, Known{PID: self.PID, Start: self.Start + 1, Place: here, Age: 0}, Gone},
		"a process of an earlier boot":                {root, Known{PID: self.PID, Start: self.Start, Place: before, Age: 0}, Gone},
		"a hidden process whose record is taken away": {folder, Known{PID: 1, Start: 1, Place: away, Kept: true, Age: 0}, Gone},
		"a hidden process without a folder":           {root, Known{PID: 1, Start: 1, Place: away, Kept: true, Age: old}, Unknown},
		"a hidden process that had no record":         {folder, Known{PID: 1, Start: 1, Place: away, Age: old}, Unknown},
		"a hidden process that called a hook":         {root, Known{PID: 1, Start: 1, Place: away, Age: time.Minute}, Alive},
		"an agent without a process":                  {folder, Known{Place: here, Age: old}, Unknown},
	} {
		if test.known.Place == before && here.Machine == "" {
			continue // which machine it is cannot be told
		}
		if got := Look(table, test.root).Life(test.known); got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}

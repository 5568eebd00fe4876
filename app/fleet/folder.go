package fleet

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"time"

	"aisync.dev/aisync/internal/quantity"
	"aisync.dev/aisync/internal/regular"
)

// Row is one file of a folder of reports.
type Row struct {
	File     string    `json:"file"`
	State    string    `json:"state"` // one of the states of a row
	Problems []string  `json:"problems"`
	Hostname string    `json:"hostname"`
	Host     string    `json:"host"`
	Aisync   string    `json:"aisync"`
	Made     time.Time `json:"made,omitzero"`
	Age      int64     `json:"age_seconds"` // less than 0: of the future
	Spec     string    `json:"spec"`        // a commit, or a digest of the files
	Bases    []Base    `json:"bases"`
	Drift    int       `json:"drift"`
	Pending  int       `json:"pending"`
	Unknown  int       `json:"unknown"`
	Failures int       `json:"doctor_failures"`
	Outside  []string  `json:"runtimes_outside"` // IDs of runtimes that are missing, or outside of their range
	Projects int       `json:"projects"`
}

// States of a row, the worst first.
const (
	Damaged = "damaged" // no report can be read
	Foreign = "foreign" // it is of another version of the format
	Failing = "failing" // something fails, or could not be looked at
	Stale   = "stale"   // the report is old, or of the future
	Differs = "differs" // something differs
	InOrder = "in order"
)

var states = []string{Damaged, Foreign, Failing, Stale, Differs, InOrder}

// Options say how reports are judged.
type Options struct {
	Now   time.Time
	Stale time.Duration // the age from which a report is old
}

// clocks is how far the clocks of two machines may be apart.
const clocks = 5 * time.Minute

// largest is the most that is read of a report.
const largest = 4 << 20

// ErrNoReports is a folder without reports.
var ErrNoReports = errors.New("no reports: no *.json")

// Read returns a row for each report in a folder, those with problems first.
func Read(dir string, o Options) ([]Row, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	rows := []Row{}
	of := map[string]string{} // files by host name
	for _, e := range entries {
		name := e.Name()
		if strings.HasPrefix(name, ".") || !strings.HasSuffix(name, ".json") {
			continue
		}
		text, err := regular.Read(filepath.Join(dir, name), largest)
		if err != nil {
			rows = append(rows, Row{File: name, State: Damaged, Problems: []string{"cannot be read: " + err.Error()}, Bases: []Base{}, Outside: []string{}})
			continue
		}
		r := Judge(name, text, o)
		if first := of[r.Hostname]; r.Hostname != "" && first != "" {
			r.bad(Failing, "%s is of this host name, too: two machines have one name, or one was renamed", first)
		} else {
			of[r.Hostname] = name
		}
		rows = append(rows, r)
	}
	if len(rows) == 0 {
		return nil, ErrNoReports
	}
	rank := func(r Row) int { return slices.Index(states, r.State) }
	sort.SliceStable(rows, func(i, j int) bool {
		if a, b := rank(rows[i]), rank(rows[j]); a != b {
			return a < b
		}
		return rows[i].Name() < rows[j].Name()
	})
	return rows, nil
}

// Name is the host's name, or that of the file.
func (r Row) Name() string {
	if r.Hostname != "" {
		return r.Hostname
	}
	return r.File
}

// bad adds a problem; the worst state stays.
func (r *Row) bad(state, format string, args ...any) {
	r.Problems = append(r.Problems, fmt.Sprintf(format, args...))
	if slices.Index(states, state) < slices.Index(states, r.State) {
		r.State = state
	}
}

// Judge reads one report.
func Judge(file string, text []byte, o Options) Row {
	row := Row{File: file, State: InOrder, Problems: []string{}, Bases: []Base{}, Outside: []string{}}
	var head struct {
		FormatVersion string `json:"format_version"`
		Kind          string `json:"kind"`
		Hostname      string `json:"hostname"`
		Aisync        struct {
			Version string `json:"version"`
		} `json:"aisync"`
		Made time.Time `json:"made"`
	}
	var r Report
	err := json.Unmarshal(text, &head)
	var syntax *json.SyntaxError
	switch {
	case len(strings.TrimSpace(string(text))) == 0:
		row.bad(Damaged, "damaged: the file is empty")
		return row
	case errors.As(err, &syntax) && int(syntax.Offset) >= len(strings.TrimRight(string(text), " \n")):
		row.bad(Damaged, "damaged: it ends too early, as a file that is still being copied does")
		return row
	case errors.As(err, &syntax):
		row.bad(Damaged, "damaged: %s", err.Error())
		return row
	case head.Kind != Kind:
		row.bad(Damaged, "no report of aisync")
		return row
	}
	row.Hostname, row.Aisync = head.Hostname, head.Aisync.Version
	if !head.Made.IsZero() {
		row.Made, row.Age = head.Made, int64(o.Now.Sub(head.Made).Seconds())
	}
	major, _, _ := strings.Cut(head.FormatVersion, ".")
	if own, _, _ := strings.Cut(Version, "."); err != nil || major != own {
		row.bad(Foreign, "the report is of format %q, and this aisync reads %s: upgrade the older aisync of the two", head.FormatVersion, Version)
		row.aged(o)
		return row
	}
	if err := json.Unmarshal(text, &r); err != nil {
		row.bad(Damaged, "damaged: %s", err.Error())
		return row
	}
	row.Host, row.Projects = r.Host, len(r.Projects)
	if row.Spec = r.Spec.Commit; row.Spec == "" {
		row.Spec = strings.TrimPrefix(r.Spec.Digest, "sha256:")
	}
	row.Bases = append(row.Bases, r.Bases...)
	if r.Spec.Error != "" {
		row.bad(Failing, "the spec cannot be used: %s", r.Spec.Error)
		r.Drift.Error = "" // for that reason
	}
	row.parts("", r.Drift, r.Doctor)
	for _, x := range r.Runtimes {
		if x.State != Missing && x.State != Outside {
			continue
		}
		row.Outside = append(row.Outside, x.ID)
		if x.State == Missing {
			row.bad(Failing, "%s is missing", x.ID)
		} else {
			row.bad(Failing, "%s %s is outside of its range: %s", x.ID, x.Version, x.Why)
		}
	}
	for _, p := range r.Projects {
		if p.Error != "" {
			row.bad(Failing, "%s could not be looked at: %s", p.Name, p.Error)
			continue
		}
		row.parts(p.Name+": ", p.Drift, p.Doctor)
	}
	row.aged(o)
	return row
}

// parts adds what differs and fails in the host, or in a project.
func (r *Row) parts(in string, d Drift, c Doctor) {
	r.Drift, r.Pending, r.Unknown, r.Failures = r.Drift+d.Drift, r.Pending+d.Pending, r.Unknown+d.Unknown, r.Failures+c.Fail
	if d.Error != "" {
		r.bad(Failing, "%sdrift is not known: %s", in, d.Error)
	}
	if d.Unknown > 0 {
		r.bad(Failing, "%s%s unknown", in, quantity.Count(d.Unknown, "resource"))
	}
	if c.Fail > 0 {
		var names []string
		for _, f := range c.Findings {
			if f.Level == "fail" && !slices.Contains(names, f.Check) {
				names = append(names, f.Check)
			}
		}
		r.bad(Failing, "%sdoctor: %s", in, strings.TrimSuffix(quantity.Count(c.Fail, "failure")+" ("+strings.Join(names, ", ")+")", " ()"))
	}
	if d.Drift > 0 {
		r.bad(Differs, "%s%s edited", in, quantity.Count(d.Drift, "resource"))
	}
	if d.Pending > 0 {
		r.bad(Differs, "%s%s pending", in, quantity.Count(d.Pending, "resource"))
	}
}

// aged says whether the report is old, or of the future.
func (r *Row) aged(o Options) {
	age := time.Duration(r.Age) * time.Second
	switch {
	case r.Made.IsZero():
		r.bad(Failing, "the report has no date")
	case age < -clocks:
		r.bad(Stale, "the report is %s in the future: one of the two clocks is wrong", Ago(-age))
	case age > o.Stale:
		r.bad(Stale, "the last report is %s old", Ago(age))
	}
}

// Ago is a duration in one unit.
func Ago(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(max(d, 0).Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dd", int(d.Hours()/24))
}

package fleet

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Textfile returns r in Prometheus' text format 0.0.4, as node_exporter's textfile
// collector reads it: gauges without times.
// https://prometheus.io/docs/instrumenting/exposition_formats/
func (r *Report) Textfile() []byte {
	var t textfile
	t.gauge(int(r.Made.Unix()), "aisync_report_timestamp_seconds", "When this report was made, in seconds since 1970.")
	t.gauge(1, "aisync_build_info", "The aisync that made this report.", "version", r.Aisync.Version)
	t.gauge(1, "aisync_spec_info", "The spec of this host.", "host", r.Host, "commit", r.Spec.Commit)
	t.gauge(one(r.Spec.Error == ""), "aisync_spec_valid", "Whether the spec can be used.")
	t.gauge(r.Spec.Edits, "aisync_spec_uncommitted_files", "Files of the spec that are not committed.")
	for _, b := range r.Bases {
		t.gauge(1, "aisync_base_info", "What the spec extends.", "base", b.Name, "pin", b.Pin)
	}
	for _, x := range r.Runtimes {
		t.gauge(1, "aisync_runtime_info", "An agent program of this host.", "runtime", x.ID, "version", x.Version, "state", x.State)
	}
	for _, x := range r.Runtimes {
		t.gauge(one(x.State == InRange), "aisync_runtime_in_range", "Whether a program is there in a version that fits.", "runtime", x.ID)
	}
	kinds := map[string]int{}
	for _, p := range r.Pins {
		kinds[p.Kind]++
	}
	for _, k := range slices.Sorted(maps.Keys(kinds)) {
		t.gauge(kinds[k], "aisync_pins", "Pins of the host's lock.", "kind", k)
	}
	if d := r.Drift; d.Error == "" {
		t.gauge(d.Checked, "aisync_resources", "Resources of the host that were looked at.")
		for i, n := range []int{d.Drift, d.Pending, d.Unknown} {
			t.gauge(n, "aisync_differing_resources", "Resources of the host that differ.", "state", []string{"drift", "pending", "unknown"}[i])
		}
	}
	for i, n := range []int{r.Doctor.OK, r.Doctor.Skip, r.Doctor.Warn, r.Doctor.Fail} {
		t.gauge(n, "aisync_doctor_checks", "Checks of doctor by their results.", "result", []string{"ok", "skip", "warn", "fail"}[i])
	}
	for _, p := range r.Projects {
		t.gauge(p.Drift.Drift+p.Drift.Pending+p.Drift.Unknown, "aisync_project_differing_resources", "Resources of a project that differ.", "project", p.Name)
	}
	for _, p := range r.Projects {
		t.gauge(p.Doctor.Fail, "aisync_project_doctor_failures", "Checks of doctor that fail in a project.", "project", p.Name)
	}
	for _, p := range r.Projects {
		t.gauge(one(p.Error+p.Drift.Error == ""), "aisync_project_checked", "Whether a project could be looked at.", "project", p.Name)
	}
	return t.Bytes()
}

func one(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// textfile is being written.
type textfile struct {
	bytes.Buffer
	name string // of the last gauge
}

var escapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

// gauge writes a sample. The samples of a name follow each other; labels are names and
// values by turns.
func (t *textfile) gauge(value int, name, help string, labels ...string) {
	if name != t.name {
		fmt.Fprintf(t, "# HELP %s %s\n# TYPE %s gauge\n", name, help, name)
		t.name = name
	}
	var list []string
	for i := 0; i < len(labels); i += 2 {
		list = append(list, labels[i]+`="`+escapes.Replace(strings.ToValidUTF8(labels[i+1], "?"))+`"`)
	}
	if len(list) > 0 {
		name += "{" + strings.Join(list, ",") + "}"
	}
	fmt.Fprintf(t, "%s %d\n", name, value)
}

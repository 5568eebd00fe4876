package fleet

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Textfile returns r in Prometheus' text format 0.0.4, as node_exporter's textfile
// collector reads it: gauges without times.
// https://prometheus.io/docs/instrumenting/exposition_formats/
func (r *Report) Textfile() []byte {
	var t textfile
	t.metric("aisync_report_timestamp_seconds", "When this report was made, in seconds since 1970.")
	t.sample(strconv.FormatInt(r.Made.Unix(), 10))
	t.metric("aisync_build_info", "The aisync that made this report.")
	t.sample("1", "version", r.Aisync.Version)
	t.metric("aisync_spec_info", "The spec of this host.")
	t.sample("1", "host", r.Host, "commit", r.Spec.Commit)
	t.metric("aisync_spec_valid", "Whether the spec can be used.")
	t.sample(one(r.Spec.Error == ""))
	t.metric("aisync_spec_uncommitted_files", "Files of the spec that are not committed.")
	t.sample(strconv.Itoa(r.Spec.Edits))
	if len(r.Bases) > 0 {
		t.metric("aisync_base_info", "What the spec extends.")
		for _, b := range r.Bases {
			t.sample("1", "base", b.Name, "pin", b.Pin)
		}
	}
	if len(r.Runtimes) > 0 {
		t.metric("aisync_runtime_info", "An agent program of this host.")
		for _, x := range r.Runtimes {
			t.sample("1", "runtime", x.ID, "version", x.Version, "state", x.State)
		}
		t.metric("aisync_runtime_in_range", "Whether a program is there in a version that fits.")
		for _, x := range r.Runtimes {
			t.sample(one(x.State == InRange), "runtime", x.ID)
		}
	}
	kinds := map[string]int{}
	for _, p := range r.Pins {
		kinds[p.Kind]++
	}
	if len(kinds) > 0 {
		t.metric("aisync_pins", "Pins of the host's lock.")
		for _, k := range slices.Sorted(maps.Keys(kinds)) {
			t.sample(strconv.Itoa(kinds[k]), "kind", k)
		}
	}
	if r.Drift.Error == "" {
		t.metric("aisync_resources", "Resources of the host that were looked at.")
		t.sample(strconv.Itoa(r.Drift.Checked))
		t.metric("aisync_differing_resources", "Resources of the host that differ.")
		t.sample(strconv.Itoa(r.Drift.Drift), "state", "drift")
		t.sample(strconv.Itoa(r.Drift.Pending), "state", "pending")
		t.sample(strconv.Itoa(r.Drift.Unknown), "state", "unknown")
	}
	if r.Doctor.Error == "" {
		t.metric("aisync_doctor_checks", "Checks of doctor by their results.")
		for _, c := range []struct {
			result string
			n      int
		}{{"ok", r.Doctor.OK}, {"skip", r.Doctor.Skip}, {"warn", r.Doctor.Warn}, {"fail", r.Doctor.Fail}} {
			t.sample(strconv.Itoa(c.n), "result", c.result)
		}
	}
	if len(r.Projects) > 0 {
		t.metric("aisync_project_differing_resources", "Resources of a project that differ.")
		for _, p := range r.Projects {
			t.sample(strconv.Itoa(p.Drift.Drift+p.Drift.Pending+p.Drift.Unknown), "project", p.Name)
		}
		t.metric("aisync_project_doctor_failures", "Checks of doctor that fail in a project.")
		for _, p := range r.Projects {
			t.sample(strconv.Itoa(p.Doctor.Fail), "project", p.Name)
		}
		t.metric("aisync_project_checked", "Whether a project could be looked at.")
		for _, p := range r.Projects {
			t.sample(one(p.Error == ""), "project", p.Name)
		}
	}
	return t.Bytes()
}

func one(yes bool) string {
	if yes {
		return "1"
	}
	return "0"
}

// textfile is being written. Samples belong to the last metric.
type textfile struct {
	bytes.Buffer
	name string
}

func (t *textfile) metric(name, help string) {
	t.name = name
	fmt.Fprintf(t, "# HELP %s %s\n# TYPE %s gauge\n", name, help, name)
}

var escapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

// sample writes a value; labels are names and values by turns.
func (t *textfile) sample(value string, labels ...string) {
	t.WriteString(t.name)
	for i := 0; i < len(labels); i += 2 {
		fmt.Fprintf(t, `%s%s="%s"`, map[bool]string{true: "{", false: ","}[i == 0], labels[i], escapes.Replace(strings.ToValidUTF8(labels[i+1], "?")))
	}
	if len(labels) > 0 {
		t.WriteString("}")
	}
	t.WriteString(" " + value + "\n")
}

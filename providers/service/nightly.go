package service

import (
	"fmt"
	"strings"

	"aisync.dev/aisync/providers/file"
	"aisync.dev/aisync/providers/link"
	"aisync.dev/aisync/providers/service/control"
	"aisync.dev/aisync/schema/spec"
)

// nightly declares the timer that works the queues of tasks. The command reads from
// the spec, at its time, what to do.
func (h Host) nightly(d *Declared, n spec.Nightly) {
	w := &wants{Declared: d, s: spec.Service{Name: control.Nightly, Scope: "user", Pos: n.Pos}}
	if h.By != control.Systemd {
		w.cannot(Address(w.s), "a timer needs systemd, which does not run here; let cron or another scheduler run: aisync task nightly")
		return
	}
	argv := []string{h.Self, "task", "nightly"}
	service := nightlyService(argv)
	inputs := map[string]string{"time": n.At, "service": digest(service)}
	h.timer(w, argv, inputs, service, nightlyTimer(n.At, digestOf(inputs)))
}

// timer declares a timer of systemd: its two units, the link that starts it with the
// session, and its running state.
func (h Host) timer(w *wants, argv []string, inputs map[string]string, service, timer []byte) {
	dir := UnitFolder(h.By, h.Home, h.Config, false)
	name := strings.TrimSuffix(control.UnitName(w.s.Name), ".timer")
	for _, unit := range []struct {
		name string
		text []byte
	}{{name + ".service", service}, {name + ".timer", timer}} {
		at := h.at("file", dir.Join(unit.name))
		w.declare(at, file.Whole(unit.text, 0o644))
		w.after = append(w.after, at)
	}
	wanted := h.at("link", dir.Join("timers.target.wants", name+".timer"))
	w.declare(wanted, link.To("../"+name+".timer"), w.after...)
	w.after = append(w.after, wanted)
	if h.Waits != "" {
		w.cannot(Address(w.s), "%s", h.Waits)
		return
	}
	w.declare(Address(w.s), run{digest: digestOf(inputs), inputs: inputs, by: h.By, argv: argv}, w.after...)
}

// nightlyService runs one night's work, at low priority. It makes sandboxes,
// which a unit with restricted namespaces cannot. A task's command that is
// killed for lack of memory does not end the night.
func nightlyService(argv []string) []byte {
	return fmt.Appendf(nil, `%s
[Unit]
Description=aisync: the tasks of the night

[Service]
Type=oneshot
ExecStart=%s
Nice=10
IOSchedulingClass=idle
NoNewPrivileges=yes
OOMPolicy=continue
`, header, execLine(argv))
}

// nightlyTimer starts it. A night that the machine slept through is not made up
// for by day.
func nightlyTimer(at, digest string) []byte {
	return fmt.Appendf(nil, `%s
[Unit]
Description=aisync: the tasks of the night, at %s [%s]

[Timer]
OnCalendar=*-*-* %s:00
AccuracySec=1min

[Install]
WantedBy=timers.target
`, header, at, digest, at)
}

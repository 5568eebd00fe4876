package service

import (
	"fmt"
	"time"

	"aisync.dev/aisync/providers/file"
	"aisync.dev/aisync/providers/link"
	"aisync.dev/aisync/providers/service/control"
	"aisync.dev/aisync/schema/spec"
)

// convergeFirst is how long after the start of a session, or of the timer, the first
// run begins.
const convergeFirst = 10 * time.Minute

// converge declares what runs aisync converge again and again: a timer of systemd, or,
// under another service manager, a service that waits itself.
func (h Host) converge(d *Declared, c spec.Converge) {
	every := spell(c.Every)
	env := h.folders()
	if h.By == control.Systemd {
		w := &wants{Declared: d, s: spec.Service{Name: control.Converge, Scope: "user", Pos: c.Pos}}
		argv := []string{h.Self, "converge"}
		service := convergeService(argv, env)
		inputs := map[string]string{"interval": every, "service": digest(service)}
		h.timer(w, argv, inputs, service, convergeTimer(c.Every, digestOf(inputs)))
		return
	}
	s := spec.Service{Name: "converge", Scope: "user", Pos: c.Pos}
	w := &wants{Declared: d, s: s}
	f := h.files(s)
	env["HOME"] = string(h.Home)
	u := unit{
		command: command{argv: []string{h.Self, "converge", "--every", every}, env: env},
		name:    s.Name, says: "aisync: converge every " + every, log: control.LogFile(string(LogFolder(h.State)), s.Name),
	}
	inputs := map[string]string{"interval": every, "unit": digest(h.text(u))}
	u.digest = digestOf(inputs)
	w.declare(h.at("file", f.unit), file.Whole(h.text(u), 0o644))
	w.after = append(w.after, h.at("file", f.unit))
	if f.wanted != "" {
		w.declare(h.at("link", f.wanted), link.To(f.target), h.at("file", f.unit))
		w.after = append(w.after, h.at("link", f.wanted))
	}
	if h.Waits != "" {
		w.cannot(Address(s), "%s", h.Waits)
		return
	}
	w.declare(Address(s), run{digest: u.digest, inputs: inputs, by: h.By, argv: u.argv, env: u.variables()}, w.after...)
}

// folders are the variables without which a process of the service manager would look
// for aisync's folders elsewhere.
func (h Host) folders() map[string]string {
	env := map[string]string{}
	if h.Config != h.Home.Join(".config") {
		env["XDG_CONFIG_HOME"] = string(h.Config)
	}
	if h.State != h.Home.Join(".local/state/aisync") {
		env["XDG_STATE_HOME"] = string(h.State.Dir())
	}
	return env
}

// spell is a duration as a spec has it: whole days, hours or minutes.
func spell(d time.Duration) string {
	switch {
	case d%(24*time.Hour) == 0:
		return fmt.Sprintf("%dd", d/(24*time.Hour))
	case d%time.Hour == 0:
		return fmt.Sprintf("%dh", d/time.Hour)
	}
	return fmt.Sprintf("%dm", d/time.Minute)
}

// convergeService applies once, at low priority. Nobody can be asked.
func convergeService(argv []string, env map[string]string) []byte {
	text := fmt.Appendf(nil, `%s
[Unit]
Description=aisync: apply what needs no decision

[Service]
Type=oneshot
ExecStart=%s
`, header, execLine(argv))
	for _, name := range sorted(env) {
		text = fmt.Appendf(text, "Environment=%s\n", quoteUnit(name+"="+env[name]))
	}
	return append(text, "Nice=10\nIOSchedulingClass=idle\nNoNewPrivileges=yes\n"...)
}

// convergeTimer starts it ten minutes after the session and then so long after each
// end, a tenth of that apart from other machines, at most half an hour.
func convergeTimer(every time.Duration, digest string) []byte {
	return fmt.Appendf(nil, `%s
[Unit]
Description=aisync: apply what needs no decision, every %s [%s]

[Timer]
OnActiveSec=%d
OnUnitInactiveSec=%d
RandomizedDelaySec=%d
AccuracySec=1min

[Install]
WantedBy=timers.target
`, header, spell(every), digest, int(convergeFirst.Seconds()), int(every.Seconds()), int(min(every/10, 30*time.Minute).Seconds()))
}

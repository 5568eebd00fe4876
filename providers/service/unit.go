package service

import (
	"fmt"
	"strconv"
	"strings"

	"aisync.dev/aisync/providers/service/control"
)

// unit is what a service manager must know of one service.
type unit struct {
	command
	name   string
	says   string // a short description
	system bool
	user   string // the user that a system service runs as; "" is root
	log    string // file for its output; "" if the journal keeps it
	memory int64  // memory limit in bytes; 0: nine tenths of the machine's
	waits  bool   // it waits for the network, because it listens there
	digest string // of everything that it is started with; "" while that is computed

	before, started, ending []string // commands run before its start, after it, and before its stop
}

// variables are the server's entire environment.
func (u unit) variables() map[string]string {
	env := map[string]string{control.ServiceVariable: u.name}
	if u.digest != "" {
		env[control.InputsVariable] = u.digest
	}
	for name, value := range u.env {
		env[name] = value
	}
	return env
}

// systemd is the text of a unit file. Where a sandbox is impossible, as for a
// person's units on a kernel without user namespaces, systemd skips the options
// that need one.
//
// A server gets no further privileges, a private /tmp, and a read-only system;
// homes stay writable, because models and the caches of graphics drivers are
// there. It restarts after a failure, at most five times in five minutes.
func (u unit) systemd() []byte {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line(header)
	line("[Unit]")
	line("Description=%s", escapeSpecifiers(u.says))
	if u.waits && u.system {
		line("Wants=network-online.target")
		line("After=network-online.target")
	}
	line("StartLimitIntervalSec=300")
	line("StartLimitBurst=5")
	line("")
	line("[Service]")
	line("Type=exec")
	if len(u.before) > 0 {
		line("ExecStartPre=%s", execLine(u.before))
	}
	line("ExecStart=%s", execLine(u.argv))
	if len(u.started) > 0 {
		line("ExecStartPost=-%s", execLine(u.started))
	}
	if len(u.ending) > 0 {
		line("ExecStop=-%s", execLine(u.ending))
	}
	env := u.variables()
	for _, name := range sorted(env) {
		line("Environment=%s", quoteUnit(name+"="+env[name]))
	}
	if u.user != "" {
		line("User=%s", u.user)
	}
	line("Restart=on-failure")
	line("RestartSec=2")
	line("TimeoutStopSec=20")
	if u.log != "" {
		line("StandardOutput=append:%s", escapeSpecifiers(u.log))
		line("StandardError=inherit")
	}
	line("NoNewPrivileges=yes")
	line("PrivateTmp=yes")
	line("ProtectSystem=full")
	line("ProtectControlGroups=yes")
	line("RestrictSUIDSGID=yes")
	line("RestrictRealtime=yes")
	line("LockPersonality=yes")
	line("RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK")
	line("OOMScoreAdjust=500") // kill the server rather than a person's programs
	if u.memory > 0 {
		line("MemoryMax=%d", u.memory)
	} else {
		line("MemoryMax=90%%")
	}
	line("")
	line("[Install]")
	line("WantedBy=%s", u.target())
	return []byte(b.String())
}

// target is the unit that starts it with the machine or the session.
func (u unit) target() string {
	if u.system {
		return "multi-user.target"
	}
	return "default.target"
}

// execLine is argv in the syntax of systemd.service(5).
func execLine(argv []string) string {
	words := make([]string, len(argv))
	for i, a := range argv {
		words[i] = quoteUnit(strings.ReplaceAll(a, "$", "$$"))
	}
	return strings.Join(words, " ")
}

// quoteUnit quotes one word of a unit file: systemd.syntax(7), systemd.unit(5).
func quoteUnit(s string) string {
	s = escapeSpecifiers(s)
	if s != "" && !strings.ContainsAny(s, " \t\n\r\"'\\;") {
		return s
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\r", `\r`, "\t", `\t`).Replace(s) + `"`
}

func escapeSpecifiers(s string) string { return strings.ReplaceAll(s, "%", "%%") }

// definition is what aisync's supervisor reads.
func (u unit) definition() control.Definition {
	return control.Definition{FormatVersion: "1.0", Name: u.name, Command: u.argv, Environment: u.variables(), Before: u.before, Started: u.started, Ending: u.ending}
}

// launchd is the text of a property list, written from launchd.plist(5).
func (u unit) launchd() []byte {
	var b strings.Builder
	b.WriteString(`<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<!-- ` + strings.TrimPrefix(header, "# ") + ` -->
<plist version="1.0">
<dict>
`)
	text := func(key, value string) {
		fmt.Fprintf(&b, "\t<key>%s</key>\n\t<string>%s</string>\n", key, escapeXML(value))
	}
	text("Label", control.LabelOf(u.name))
	b.WriteString("\t<key>ProgramArguments</key>\n\t<array>\n")
	for _, a := range u.argv {
		fmt.Fprintf(&b, "\t\t<string>%s</string>\n", escapeXML(a))
	}
	b.WriteString("\t</array>\n\t<key>EnvironmentVariables</key>\n\t<dict>\n")
	env := u.variables()
	for _, name := range sorted(env) {
		fmt.Fprintf(&b, "\t\t<key>%s</key>\n\t\t<string>%s</string>\n", escapeXML(name), escapeXML(env[name]))
	}
	b.WriteString("\t</dict>\n")
	if u.user != "" {
		text("UserName", u.user)
	}
	b.WriteString("\t<key>RunAtLoad</key>\n\t<true/>\n")
	b.WriteString("\t<key>KeepAlive</key>\n\t<dict>\n\t\t<key>SuccessfulExit</key>\n\t\t<false/>\n\t</dict>\n")
	b.WriteString("\t<key>ThrottleInterval</key>\n\t<integer>" + strconv.Itoa(10) + "</integer>\n")
	text("StandardOutPath", u.log)
	text("StandardErrorPath", u.log)
	b.WriteString("</dict>\n</plist>\n")
	return []byte(b.String())
}

func escapeXML(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(s)
}

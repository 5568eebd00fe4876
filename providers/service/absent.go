package service

import (
	"fmt"

	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/providers/service/control"
	"aisync.dev/aisync/schema/spec"
)

// Absent says why this plan starts nothing of s; "" if s is started, or will be
// when the system boots. It needs only Facts, By, Home, Lacking and Models.
func (h Host) Absent(s spec.Service) string {
	why, _ := h.missing(s)
	return why
}

// missing says what a service lacks on this machine, "" for nothing, and, as
// the end of a sentence about it, what to do.
func (h Host) missing(s spec.Service) (why, fix string) {
	if s.Scope == "system" && h.By == control.Own {
		return "a system service needs systemd or launchd, and neither runs here", `; write scope: "user"`
	}
	for _, program := range programs[s.Kind] {
		if program == programs[s.Kind][0] && s.Install != nil && s.Install.Via == viaRelease && s.Install.URL == "" && releaseURL(program, s, h.Facts) == "" {
			return fmt.Sprintf("no archive of %s is known for %s with %s", program, platform(h.Facts), backend(s, h.Facts)),
				fmt.Sprintf(": name its url beside via: \"release\", or install it by hand (%s)", byHand[program])
		}
		if h.place(program, s) == "" {
			return program + " is not in PATH", ": " + h.howTo(program, s)
		}
		if a := h.packageOf(program, s); a != "" && h.Facts.Programs[program] == "" && h.Lacking != nil && h.Lacking(a) {
			return program + " is not in PATH", fmt.Sprintf(": it waits for %s", a)
		}
	}
	for _, id := range ModelsOf(s) {
		if m, ok := h.Models(id); ok && m.Unfit != "" && s.Kind != "ollama" {
			return m.Unfit, ""
		}
		for _, id := range append([]string{id}, h.Spec.Model(id).Beside()...) {
			if _, ok := h.Models(id); !ok {
				return fmt.Sprintf("its model %s is not pinned", id), "; " + advice.ApplyLooks
			}
		}
	}
	if h.Key != nil && s.Key != nil {
		if _, err := h.Key(s); err != nil {
			return err.Error(), ""
		}
	}
	return "", ""
}

package service

import (
	"slices"
	"strconv"

	"aisync.dev/aisync/providers/service/control"
	"aisync.dev/aisync/providers/service/slots"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/fsys"
	"aisync.dev/aisync/schema/spec"
)

// keyVariable is llama-server's, and that of the command for slots.
const keyVariable = "LLAMA_API_KEY"

// SlotFolder holds what the services of a host saved of their conversations.
func SlotFolder(state fsys.LogicalPath) fsys.LogicalPath { return state.Join("slots") }

// keepSlots has the llama-server of u save its slots when it stops, and restore
// them when it starts, in a folder for its model and its settings. A spec that
// names a folder itself keeps it. launchd runs nothing beside a server. A server of
// several models gives the folder to each that it starts.
func (h Host) keepSlots(u *unit, s spec.Service, inputs map[string]string) {
	const option, variable = "--slot-save-path", "LLAMA_ARG_SLOT_SAVE_PATH"
	if s.Kind != "llama-server" || h.Self == "" || h.By == control.Launchd || slices.Contains(s.Args, option) || s.Env[variable] != "" {
		return
	}
	settings := map[string]string{"command": shell(u.argv)}
	for name, sum := range inputs {
		settings[name] = sum
	}
	dir := string(SlotFolder(h.State).Join(s.Name, digestOf(settings)))
	u.argv = append(u.argv[:len(u.argv):len(u.argv)], option, dir)
	key := s.Access(string(h.Home), string(h.State)).Key
	if key.Text != "" {
		u.env[keyVariable] = key.Text // as the arguments have it
	}
	words := func(action string, more ...string) []string {
		if s.Routes() {
			for _, id := range s.AllModels() {
				more = append(more, "--model", id)
			}
		}
		if h.Key != nil && key.File != "" {
			more = append(more, "--key-file", key.File)
		}
		return append([]string{h.Self, "services", "slots", action, dir, strconv.Itoa(s.Port), strconv.Itoa(max(1, s.Parallel))}, more...)
	}
	u.before, u.started, u.ending = words("prepare"), words("restore"), words("save")
	if h.By == control.Systemd {
		u.started = words("restore", "--detach") // a unit is not active before this ends
	}
}

// forget removes what a service that is taken out had saved. Its key stays as long as
// the spec has the service: a rollback starts it with that.
func (p Provider) forget(w reconcile.WriteEnv, name string) error {
	dir, err := w.FS.Physical(SlotFolder(p.State).Join(name))
	if err != nil {
		return err
	}
	return slots.Forget(dir)
}

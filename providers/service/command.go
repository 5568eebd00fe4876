package service

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"aisync.dev/aisync/internal/shellquote"
	"aisync.dev/aisync/reconcile/fsys"
	"aisync.dev/aisync/schema/spec"
)

// command is how a server is run: a program, its arguments, its variables.
type command struct {
	argv []string
	env  map[string]string
}

// llamaServer is the command line of llama-server for one model. The port is
// text, because llama-swap fills it in. See
// https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md.
//
// The slots of a server share its context, so it is as many times that of a
// conversation. --jinja is the default of newer versions; older ones need it
// for tools.
func (h Host) llamaServer(program string, s spec.Service, m served, host, port string) []string {
	slots := max(1, s.Parallel)
	argv := []string{program, "--model", string(m.file), "--alias", m.id, "--host", host, "--port", port,
		"--parallel", strconv.Itoa(slots), "--ctx-size", strconv.FormatInt(m.context*int64(slots), 10)}
	argv = append(argv, h.offload(s, m.id).arguments(AskedOf(s))...)
	return append(append(argv, m.beside()...), h.template(s)...)
}

// template is the arguments of s that hold whatever its model.
func (h Host) template(s spec.Service) []string {
	argv := []string{"--jinja"}
	switch t := s.ChatTemplate; {
	case strings.Contains(t, "/"):
		argv = append(argv, "--chat-template-file", string(h.path(t)))
	case t != "":
		argv = append(argv, "--chat-template", t)
	}
	return append(append(argv, h.keyArguments(s)...), s.Args...)
}

// offload is where a model of s lies while it is served.
func (h Host) offload(s spec.Service, id string) Offload {
	if h.Offload == nil {
		return Offload{GPULayers: ServerDecides}
	}
	return h.Offload(s, id)
}

// path is the host path for a path of the spec.
func (h Host) path(p string) fsys.LogicalPath {
	if rest, ok := strings.CutPrefix(p, "~/"); ok {
		return h.Home.Join(rest)
	}
	return fsys.LogicalPath(path.Clean(p))
}

// address is where a server listens: loopback, unless the spec opens it to the
// network explicitly.
func address(s spec.Service) string {
	if s.Listen == "lan" {
		return "0.0.0.0"
	}
	return "127.0.0.1"
}

// command returns the command that runs s with models; config is the path of
// the configuration of a server of several models.
func (h Host) command(s spec.Service, program string, models []served, config fsys.LogicalPath) command {
	c := command{env: map[string]string{}}
	port := strconv.Itoa(s.Port)
	switch s.Kind {
	case "llama-server":
		if s.Routes() {
			c.argv = h.router(program, s, config, port)
			break
		}
		c.argv = h.llamaServer(program, s, models[0], address(s), port)
		if models[0].draft != "" {
			c.env[specType] = simpleDraft
		}
	case "llama-swap":
		c.argv = []string{program, "--config", string(config), "--listen", address(s) + ":" + port}
	case "ollama":
		// See https://github.com/ollama/ollama/blob/main/envconfig/config.go.
		// ollama must not prune what aisync put into its folder when it starts.
		c.argv = []string{program, "serve"}
		c.env["OLLAMA_HOST"] = address(s) + ":" + port
		c.env["OLLAMA_MODELS"] = string(h.Ollama)
		c.env["OLLAMA_NOPRUNE"] = "1"
		longest := int64(s.Context)
		for _, m := range models {
			longest = max(longest, m.context)
		}
		if longest > 0 { // otherwise 4096, which an agent's first question fills
			c.env["OLLAMA_CONTEXT_LENGTH"] = strconv.FormatInt(longest, 10)
		}
		c.env["OLLAMA_NUM_PARALLEL"] = strconv.Itoa(max(1, s.Parallel)) // otherwise ollama chooses, and memory was counted for one
	}
	if s.Kind != "ollama" {
		guarded(c.env)
		h.bounded(c.env, s, models)
	}
	maps.Copy(c.env, s.Env)
	return c
}

// guarded has llama-server answer pages of this machine's servers alone: without a
// word it lets every web page read its answers, with credentials. Older versions
// take the variables for nothing. ollama refuses other origins by itself.
func guarded(env map[string]string) {
	env["LLAMA_ARG_CORS_ORIGINS"] = "localhost"
}

// bounded bounds what llama-server keeps of conversations: 8 GiB of old ones and 32
// checkpoints of each where no bound is set, which no fit counts. They are
// variables, because older versions refuse arguments that they do not know. Cards
// are counted by their address.
func (h Host) bounded(env map[string]string, s spec.Service, models []served) {
	var prompts, checkpoints int64
	for _, m := range models {
		o := h.offload(s, m.id)
		prompts, checkpoints = max(prompts, o.Prompts), max(checkpoints, o.Checkpoints)
		if len(o.Split) > 1 {
			env["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID"
		}
	}
	asked := AskedOf(s)
	if h.Offload != nil && asked.PromptCache == nil {
		env["LLAMA_ARG_CACHE_RAM"] = strconv.FormatInt(prompts>>20, 10)
	}
	if checkpoints > 0 && asked.Checkpoints == nil {
		env["LLAMA_ARG_CTX_CHECKPOINTS"] = strconv.FormatInt(checkpoints, 10)
	}
}

// swapPorts is the first port of llama-swap's servers, its default.
const swapPorts = 5800

// swapStart is the first of n consecutive ports that no service has, and that
// no llama-swap service before s uses.
func (h Host) swapStart(s spec.Service) int {
	start := swapPorts
	for _, other := range h.Spec.Services {
		if other.Name == s.Name {
			break
		}
		if other.Kind == "llama-swap" {
			start += len(other.Models)
		}
	}
	for again := true; again; {
		again = false
		for _, other := range h.Spec.Services {
			if other.Port >= start && other.Port < start+len(s.Models) {
				start, again = other.Port+1, true
			}
		}
	}
	return start
}

// swapConfig is the configuration of llama-swap: one server for each model, of
// which one runs at a time. See
// https://github.com/mostlygeek/llama-swap/blob/main/docs/configuration.md.
func (h Host) swapConfig(s spec.Service, program string, models []served) []byte {
	var b strings.Builder
	b.WriteString(header + "\n")
	// A large model takes minutes to load.
	b.WriteString("healthCheckTimeout: 600\nstartPort: " + strconv.Itoa(h.swapStart(s)) + "\nmodels:\n")
	for _, m := range models {
		argv := h.llamaServer(program, s, m, "127.0.0.1", swapPort)
		b.WriteString("  " + strconv.Quote(m.id) + ":\n")
		b.WriteString("    proxy: \"http://127.0.0.1:${PORT}\"\n")
		b.WriteString("    cmd: " + strconv.Quote(shell(argv)) + "\n")
		if m.draft != "" {
			b.WriteString("    env: [\"" + specType + "=" + simpleDraft + "\"]\n")
		}
	}
	return []byte(b.String())
}

// header is the first line of every file that only aisync writes.
const header = "# Written by aisync, which owns this file: change the spec instead."

// swapPort is llama-swap's placeholder for the port of a model.
const swapPort = "${PORT}"

// shell joins argv so that a shell, and llama-swap, splits it again.
func shell(argv []string) string {
	words := make([]string, len(argv))
	for i, a := range argv {
		words[i] = shellquote.Word(a)
		if a == swapPort {
			words[i] = a
		}
	}
	return strings.Join(words, " ")
}

// sorted are the names of variables in a fixed order.
func sorted(env map[string]string) []string { return slices.Sorted(maps.Keys(env)) }

// BaseURL is the address of s from this machine, with /v1.
func BaseURL(s spec.Service) string {
	return cmp.Or(strings.TrimSuffix(s.URL, "/"), "http://127.0.0.1:"+strconv.Itoa(s.Port)+"/v1")
}

// ModelName is the name of a model in s's list. Requests may leave out ollama's
// tag.
func ModelName(s spec.Service, id string) string {
	if s.Kind == "ollama" && !strings.Contains(id, ":") {
		return id + ":latest"
	}
	return id
}

// Runs reports whether aisync must run s.
func Runs(s spec.Service) bool { return s.Enabled && s.Kind != "external" }

// ModelsOf are the models that s serves.
func ModelsOf(s spec.Service) []string { return s.AllModels() }

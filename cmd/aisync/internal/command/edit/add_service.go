package edit

import (
	"slices"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/internal/nearest"
	"aisync.dev/aisync/internal/shellquote"
	"aisync.dev/aisync/schema/edit"
	"aisync.dev/aisync/schema/spec"
)

// firstPort is the lowest port of a new service: the one that the reference hosts
// give their first server.
const firstPort = 8081

// serviceFlags holds the fields of a service as flags.
type serviceFlags struct {
	kind, model, url, listen, scope, backend, template string
	models, apis, args, env                            []string
	port, context, parallel, layers                    int
	disabled                                           bool
	install                                            spec.Install
}

func addServiceCommand(a *cli.App) *cobra.Command {
	var f EditFlags
	var s serviceFlags
	var endpoint bool
	cmd := &cobra.Command{
		Use:   "service NAME",
		Short: "add a local model server, or an external one, to the host",
		Long: `Adds a service to the host's spec. The default of --port is the first port from
8081 on that no other service of the spec uses; ollama keeps its default port.
--via installs the server's program with a package manager, or with --version
from an upstream release.

With --endpoint, generic local runtimes such as local-openai use this service. A
vendor's program such as claude keeps its vendor's service unless the spec sets
runtimes: claude: endpoint: true.`,
		Example: `  $ aisync add service coder --kind llama-server --model qwen3-8b --port 8081 --endpoint
  $ aisync add service easy --kind ollama --models qwen3-8b --via release --version v0.32.5
  $ aisync add service lan --kind external --url http://192.168.1.5:8000/v1 --apis chat,responses`,
		Annotations: map[string]string{"effect": "writes"},
		Args:        cli.ExactArgs(1, "the name"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return changeSpec(cmd.Context(), a, KindOf("service"), f, func(e *Editing) error {
				has := e.Files.Find("services", args[0])
				if s.kind == "" && len(has) == 0 {
					return cli.Usagef("add service: missing --kind: llama-server, ollama, llama-swap or external")
				}
				for _, id := range append(slices.Clone(s.models), s.model) {
					if s.kind != "external" && id != "" && !slices.Contains(e.Names(KindOf("model")), id) {
						return advice.Command(nearest.Unknown("model", id, e.Names(KindOf("model"))), "aisync add model "+shellquote.Terminal(id))
					}
				}
				if s.port == 0 && (s.kind == "llama-server" || s.kind == "llama-swap") {
					s.port = e.portOf(args[0])
				}
				value, err := s.text(cmd.Flags())
				if err != nil {
					return err
				}
				if err := e.Put("service "+args[0], value != "{}", value, "services", args[0]); err != nil || !endpoint {
					return err
				}
				if !e.usesEndpoint() {
					e.Notes = append(e.Notes, "no runtime of this host uses "+args[0]+" yet; run: aisync add runtime local-openai --scope host --cli opencode, or write for a program: runtimes: claude: endpoint: true")
				}
				return e.Put("endpoint", true, edit.String(args[0]), "endpoint")
			})
		},
	}
	f.register(cmd)
	s.register(cmd.Flags())
	cmd.Flags().BoolVar(&endpoint, "endpoint", false, "use it for generic local runtimes, and for programs with endpoint: true")
	return cmd
}

// usesEndpoint reports whether a runtime of the host uses the host's endpoint.
func (e *Editing) usesEndpoint() bool {
	return slices.ContainsFunc(e.spec.Host.Runtimes, func(u spec.RuntimeUse) bool {
		if u.Endpoint != nil {
			return u.Endpoint.On && u.Endpoint.Service == ""
		}
		rt, _ := e.index.Runtime(u.ID)
		return rt.Local
	})
}

func (s *serviceFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&s.kind, "kind", "", "`KIND` of server: llama-server, ollama, llama-swap, or external for one that aisync does not run")
	flags.StringVar(&s.model, "model", "", "serve the model `ID`")
	flags.StringSliceVar(&s.models, "models", nil, "serve the models `IDS`")
	flags.IntVar(&s.port, "port", 0, "listen on `PORT`, 1024 or higher")
	flags.IntVar(&s.context, "context", 0, "context length in `TOKENS`")
	flags.IntVar(&s.parallel, "parallel", 0, "serve `CONVERSATIONS` at a time, each with its own context (default 1)")
	flags.StringVar(&s.backend, "backend", "", "compute with `BACKEND`: vulkan, rocm, cuda, sycl, metal, cpu (default: chosen for the machine)")
	flags.IntVar(&s.layers, "gpu-layers", 0, "put `LAYERS` on the GPU (default: chosen for the machine)")
	flags.StringVar(&s.template, "chat-template", "", "use the chat template `NAME` of llama-server, or a file that starts with ~/ or /")
	flags.StringArrayVar(&s.args, "arg", nil, "pass `ARGUMENT` to llama-server; may be repeated: --arg=--threads --arg=8")
	flags.StringArrayVar(&s.env, "env", nil, "set the variable `NAME=VALUE` for it; may be repeated")
	flags.StringVar(&s.scope, "service-scope", "", "run it as a unit of `WHICH` manager: user (default), system")
	flags.StringVar(&s.listen, "listen", "", "listen on `WHERE`: loopback (default), lan")
	flags.StringVar(&s.url, "url", "", "`URL` of an external service")
	flags.StringSliceVar(&s.apis, "apis", nil, "`APIS` of an external service: chat, responses, messages, completions, embeddings")
	flags.StringVar(&s.install.Via, "via", "", "install its program with `INSTALLER`: pacman, aur, apt, brew, go, release")
	flags.StringVar(&s.install.Version, "version", "", "install `VERSION`; required for a release")
	flags.StringVar(&s.install.URL, "release-url", "", "`URL` of the release's archive, if aisync does not know it")
	flags.StringVar(&s.install.SHA256, "sha256", "", "`DIGEST` of the archive (default: pinned at the first download)")
	flags.BoolVar(&s.disabled, "disabled", false, "add it without running it")
}

// text returns the service in CUE, "{}" without flags.
func (s *serviceFlags) text(flags *pflag.FlagSet) (string, error) {
	var env []edit.Field
	for _, set := range s.env {
		name, value, err := assignment("env", set)
		if err != nil {
			return "", err
		}
		env = append(env, edit.Field{Name: name, Value: edit.String(value)})
	}
	in := s.install
	install := edit.Struct(edit.Text("via", in.Via), edit.Text("version", in.Version), edit.Text("url", in.URL), edit.Text("sha256", in.SHA256))
	if install != "{}" && in.Via == "" {
		return "", cli.Usagef("add service: --version, --release-url and --sha256 need --via INSTALLER")
	}
	fields := []edit.Field{
		edit.Text("kind", s.kind), edit.Text("model", s.model), edit.Texts("models", s.models), edit.Number("port", s.port),
		edit.Number("context", s.context), edit.Number("parallel", s.parallel), edit.Text("backend", s.backend),
		edit.Text("chatTemplate", s.template), edit.Texts("args", s.args), structOf("env", edit.Struct(env...)),
		edit.Text("scope", s.scope), edit.Text("listen", s.listen), edit.Text("url", s.url), edit.Texts("apis", s.apis),
		structOf("install", install),
	}
	if flags.Changed("gpu-layers") {
		fields = append(fields, edit.Field{Name: "gpuLayers", Value: strconv.Itoa(s.layers)})
	}
	if s.disabled {
		fields = append(fields, edit.Field{Name: "enabled", Value: "false"})
	}
	return edit.Struct(fields...), nil
}

// structOf returns a field, or the zero Field for an empty struct.
func structOf(name, text string) edit.Field {
	if text == "{}" {
		return edit.Field{}
	}
	return edit.Field{Name: name, Value: text}
}

// portOf returns the port of the service name, or else the first free one.
func (e *Editing) portOf(name string) int {
	for _, s := range e.spec.Host.Services {
		if s.Name == name && s.Port != 0 {
			return s.Port
		}
	}
	return e.freePort()
}

// freePort returns the first port from firstPort on that no service of the spec uses.
func (e *Editing) freePort() int {
	port := firstPort
	for e.taken(port) {
		port++
	}
	return port
}

func (e *Editing) taken(port int) bool {
	for _, s := range e.spec.Host.Services {
		if s.Port == port {
			return true
		}
	}
	return false
}

package main

import (
	"slices"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/schema/edit"
)

// firstPort is where the port of a new service is looked for from: the port
// that the reference hosts give their first server.
const firstPort = 8081

func addServiceCommand(a *app) *cobra.Command {
	var f editFlags
	var kindName, model, url, listen, serviceScope string
	var models, apis []string
	var port, context int
	var endpoint, disabled bool
	cmd := &cobra.Command{
		Use:   "service NAME",
		Short: "let the host have a local server, or know one that somebody else runs",
		Long: `Adds a service to the host's spec. Without --port, one that listens gets the
first port from 8081 on that no other service of the spec has; ollama keeps its
own.`,
		Example: `  $ aisync add service coder --kind llama-server --model qwen3-8b --port 8081 --endpoint
  $ aisync add service lan --kind external --url http://192.168.1.5:8000/v1 --apis chat,responses`,
		Annotations: map[string]string{"effect": "writes"},
		Args:        exactArgs(1, "the name"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.edit(cmd.Context(), kindOf("service"), f, func(e *editing) error {
				has := e.files.Find("services", args[0])
				if kindName == "" && len(has) == 0 {
					return usagef("add service: --kind is missing: llama-server, ollama, llama-swap or external")
				}
				for _, id := range append(slices.Clone(models), model) {
					if kindName != "external" && id != "" && !slices.Contains(e.names(kindOf("model")), id) {
						return withHint(unknown("model", id, e.names(kindOf("model"))), "aisync add model "+shellQuote(id))
					}
				}
				if port == 0 && (kindName == "llama-server" || kindName == "llama-swap") && len(has) == 0 {
					port = e.freePort()
				}
				fields := []edit.Field{
					edit.Text("kind", kindName), edit.Text("model", model), edit.Texts("models", models), edit.Number("port", port),
					edit.Number("context", context), edit.Text("scope", serviceScope), edit.Text("listen", listen), edit.Text("url", url), edit.Texts("apis", apis),
				}
				if disabled {
					fields = append(fields, edit.Field{Name: "enabled", Value: "false"})
				}
				if err := e.put("service "+args[0], kindName != "", edit.Struct(fields...), "services", args[0]); err != nil || !endpoint {
					return err
				}
				return e.put("endpoint", true, edit.String(args[0]), "endpoint")
			})
		},
	}
	f.register(cmd)
	flags := cmd.Flags()
	flags.StringVar(&kindName, "kind", "", "`KIND`: llama-server, ollama, llama-swap, or external for somebody else's")
	flags.StringVar(&model, "model", "", "the model that it serves, by its `ID`")
	flags.StringSliceVar(&models, "models", nil, "the models that it serves, by their `IDS`")
	flags.IntVar(&port, "port", 0, "`PORT` from 1024 on")
	flags.IntVar(&context, "context", 0, "context length in `TOKENS`")
	flags.StringVar(&serviceScope, "service-scope", "", "`WHOSE` unit it is: user (default), system")
	flags.StringVar(&listen, "listen", "", "`WHERE` it listens: loopback (default), lan")
	flags.StringVar(&url, "url", "", "`URL` of an external one")
	flags.StringSliceVar(&apis, "apis", nil, "the `APIS` that it speaks: chat, responses, messages, completions, embeddings")
	flags.BoolVar(&endpoint, "endpoint", false, "local runtimes talk to it")
	flags.BoolVar(&disabled, "disabled", false, "described, and not run")
	return cmd
}

// freePort is the first port that no service of the spec has.
func (e *editing) freePort() int {
	port := firstPort
	for e.taken(port) {
		port++
	}
	return port
}

func (e *editing) taken(port int) bool {
	for _, s := range e.spec.Host.Services {
		if s.Port == port {
			return true
		}
	}
	return false
}

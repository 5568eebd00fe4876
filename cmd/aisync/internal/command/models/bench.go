package models

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/app/doctor/endpoint"
	"aisync.dev/aisync/app/pin"
	"aisync.dev/aisync/app/speeds"
	"aisync.dev/aisync/app/stack"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/hosts"
	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/internal/shellquote"
	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/providers/service"
	"aisync.dev/aisync/schema/spec"
)

// modelBenchDoc is models bench --json; see docs/json.md.
type modelBenchDoc struct {
	FormatVersion string          `json:"format_version"`
	Measured      []speeds.Record `json:"measured"`
}

// benchLimit is how long a server may take to load a model and answer.
const benchLimit = 10 * time.Minute

func modelsBenchCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "bench [ID]",
		Short: "measure how fast the running services answer, and record it",
		Long: `Asks each running service of the host for each model it serves, or for ID alone:
a prompt of about 400 words and an answer of 64 tokens, both new to the server.
It prints the tokens a second, by the server's own timings where it has some, and
records them with the host, the quantization and the settings; aisync models fit
shows them beside its estimate. Measure while the machine does nothing else.`,
		Example: `  $ aisync models bench
  $ aisync models bench qwen3-coder-30b`,
		Annotations: map[string]string{"effect": "writes"},
		Args:        cli.MaxArgs(1),
		ValidArgsFunction: func(cmd *cobra.Command, p1 []string, p2 string) ([]string, cobra.ShellCompDirective) {
			return modelNames(a, cmd, p1, p2)
		},
		RunE: func(cmd *cobra.Command, args []string) error { return modelsBench(cmd.Context(), a, cmp.Or(args...)) },
	}
}

// speedsFile is where measurements are recorded.
func speedsFile(v *stack.View) string {
	return v.Places.Physical(v.Places.State.Join("speeds.jsonl"))
}

func modelsBench(ctx context.Context, a *cli.App, id string) error {
	v, err := a.Loaded(ctx, stack.ScopeHost, stack.Look)
	if err != nil {
		return err
	}
	switch {
	case v.Spec.Host == nil:
		return advice.Command(stack.ErrNoHost, "aisync init")
	case v.Places.Root != "":
		return advice.New(errors.New("nothing runs below --root"), "run it on the machine itself")
	}
	needs, err := servedNeeds(ctx, v)
	if err != nil {
		return err
	}
	doc := modelBenchDoc{cli.ViewVersion, []speeds.Record{}}
	asked := 0
	for _, s := range v.Spec.Host.Services {
		for _, m := range service.ModelsOf(s) {
			if !s.Enabled || id != "" && m != id {
				continue
			}
			asked++
			r, err := benchOne(ctx, a, v, s, m)
			if err != nil {
				return advice.Command(fmt.Errorf("service %s: %s: %w", s.Name, m, err), "aisync services status")
			}
			n := needs.Of(s.Name, m)
			r.Host, r.Quant, r.Settings = v.Spec.Host.Name, n.Quant, speeds.Settings(n)
			if err := speeds.Add(speedsFile(v), r); err != nil {
				return err
			}
			doc.Measured = append(doc.Measured, r)
			if !a.Flags.JSON {
				a.Printf("%s  %s  %s\n", a.Paint().Bold(termtext.Safe(m)), termtext.Safe(cmp.Or(r.Quant, "-")), termtext.Safe(speedText(r)))
			}
		}
	}
	if asked == 0 {
		if id != "" {
			return advice.Command(fmt.Errorf("no enabled service of this host serves %s", id), "aisync add service coder --kind llama-server --model "+shellquote.Terminal(id))
		}
		return advice.Command(errors.New("no service of this host serves a model"), "aisync add service coder --kind llama-server --model ID")
	}
	if a.Flags.JSON {
		return a.WriteJSON(doc)
	}
	return nil
}

// servedNeeds is where the models of the host's services lie, as models fit sees
// it. One that cannot be chosen now is measured all the same.
func servedNeeds(ctx context.Context, v *stack.View) (hosts.Verdict, error) {
	r := v.Resolver(pin.Look)
	for _, use := range v.Spec.Host.Models {
		m, ok := v.Catalog.Model(use.ID)
		if !ok {
			continue
		}
		if _, _, err := r.Model(ctx, use, m); err == nil {
			r.Measure(ctx, use.ID)
		}
	}
	f, err := v.Facts()
	if err != nil {
		return hosts.Verdict{}, err
	}
	return hosts.Fit(servedLoads(r), f), nil
}

// servedLoads are the loads of the services whose files are known.
func servedLoads(r *pin.Resolver) []hosts.Load {
	return slices.DeleteFunc(r.ServiceLoads(), func(l hosts.Load) bool { return l.Weights == 0 })
}

// measuredOf returns the newest measurement of model as the services serve it.
func measuredOf(records []speeds.Record, host, model string, served hosts.Verdict) *speeds.Record {
	for _, n := range served.Loads {
		if r, ok := speeds.Of(records, host, n); ok && n.Model == model {
			return &r
		}
	}
	return nil
}

// benchOne measures model of s.
func benchOne(ctx context.Context, a *cli.App, v *stack.View, s spec.Service, model string) (speeds.Record, error) {
	access, err := v.Access(s)
	if err != nil {
		return speeds.Record{}, err
	}
	e := endpoint.Endpoint{URL: service.BaseURL(s), Client: endpoint.Client(a.Flags.Offline || s.Kind != "external"), Header: access}
	if len(s.APIs) > 0 && !slices.Contains(s.APIs, "chat") {
		e.API = s.APIs[0]
	}
	ctx, cancel := context.WithTimeout(ctx, benchLimit)
	defer cancel()
	names, err := e.Models(ctx)
	if err != nil {
		return speeds.Record{}, err
	}
	a.Say("aisync: measuring %s at %s", termtext.Safe(model), termtext.Safe(e.URL))
	x, err := e.Bench(ctx, cmp.Or(endpoint.Named(names, service.ModelName(s, model)), endpoint.Named(names, model), model))
	if err != nil {
		return speeds.Record{}, err
	}
	return speeds.Record{
		Service: s.Name, Model: model, At: time.Now().UTC().Truncate(time.Second),
		PromptTokens: x.Tokens, Prompt: x.TokensPerSecond, AnswerTokens: x.Answer, Answer: x.AnswerTokensPerSecond, ByServer: x.ByServer,
	}, nil
}

// speedText says what was measured.
func speedText(r speeds.Record) string {
	by := "timed by aisync"
	if r.ByServer {
		by = "timed by the server"
	}
	return fmt.Sprintf("answers %.1f tokens/s, takes a prompt in at %.0f tokens/s (%d and %d tokens, %s)", r.Answer, r.Prompt, r.AnswerTokens, r.PromptTokens, by)
}

// measuredText is the clause of models fit about a measurement.
func measuredText(r *speeds.Record) string {
	if r == nil {
		return ""
	}
	return fmt.Sprintf("measured on %s: answers %.1f tokens/s, takes a prompt in at %.0f tokens/s", r.At.Format(time.DateOnly), r.Answer, r.Prompt)
}

package edit

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/app/modelsource"
	"aisync.dev/aisync/app/pin"
	"aisync.dev/aisync/app/stack"
	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/internal/nearest"
	"aisync.dev/aisync/internal/quantity"
	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/schema/edit"
	"aisync.dev/aisync/schema/spec"
)

// modelFlags are the fields of a model as flags.
type modelFlags struct {
	name, quant, fit, draft string
	context                 int
	withoutProjector        bool
	projector               string // the ID of its entry
}

func addModelCommand(a *cli.App) *cobra.Command {
	var f EditFlags
	var m modelFlags
	cmd := &cobra.Command{
		Use:   "model NAME",
		Short: "add a model to the host",
		Long: `Adds a model to the host's spec. NAME is an ID of the catalog, or a name from
elsewhere, which also gets an entry in the spec's own catalog, and a pin:

  owner/repo:QUANT, hf:…, hf.co/…  a repository of Hugging Face
  https://huggingface.co/…         its page, or the page of a file
  ollama:NAME:TAG                  a model of ollama
  oci://HOST/REPO:TAG              an artifact of a registry
  https://HOST/F.gguf#sha256=HEX   a file of a server
  ./F.gguf                         a file of this machine

Without QUANT it takes Q4_K_M as ollama and llama.cpp do, else the best that
fits this machine. --quant auto writes all that the repository has, and the best
that fits is chosen and pinned. For a model of the catalog with several
quantizations that is the default. A projector of the repository (mmproj) becomes
a second model, ID-mmproj, and the model names it.`,
		Example:     "  $ aisync add model qwen3-coder-30b --context 32768\n  $ aisync add model unsloth/Qwen3-8B-GGUF:Q5_K_M\n  $ aisync add model ollama:qwen3:8b --name small",
		Annotations: map[string]string{"effect": "writes"},
		Args:        cli.ExactArgs(1, "the name"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return addModel(cmd.Context(), a, f, m, args[0])
		},
		ValidArgsFunction: completeCatalog(a, func(e *Editing) []string { return catalog.ModelIDs(e.index.Models()) }, "model"),
	}
	f.register(cmd)
	cmd.Flags().StringVar(&m.name, "name", "", "call a model from elsewhere `ID` in the spec (default: by its name there)")
	cmd.Flags().StringVar(&m.quant, "quant", "", "`NAME` of a quantization, or auto")
	cmd.Flags().IntVar(&m.context, "context", 0, "plan its memory for a context of `TOKENS`")
	cmd.Flags().StringVar(&m.draft, "draft", "", "let the model `ID` guess its next tokens")
	cmd.Flags().BoolVar(&m.withoutProjector, "no-mmproj", false, "leave out the projector that shows it pictures")
	cmd.Flags().StringVar(&m.fit, "fit", "", "`ignore`: do not warn if it does not fit")
	return cmd
}

func addModel(ctx context.Context, a *cli.App, f EditFlags, m modelFlags, name string) error {
	k := KindOf("model")
	e := &Editing{App: a, Flags: f}
	if err := e.Open(ctx, k); err != nil {
		return err
	}
	if _, ok := e.index.Model(name); ok {
		if m.name != "" {
			return cli.Usagef("--name applies to a model from elsewhere; %s is an ID of the catalog", termtext.Safe(name))
		}
		if err := e.putModel(name, m); err != nil {
			return err
		}
		return e.finish(ctx, k)
	}
	s, err := a.Held(ctx, e.Scope, 0, "aisync add", stack.HoldLoaded)
	if err != nil {
		return err
	}
	defer s.Release()
	n, err := modelsource.Parse(name, s.Network().Endpoint())
	if err != nil {
		return err
	}
	if n.Kind == modelsource.Catalog {
		unknown := nearest.Unknown("model", name, catalog.ModelIDs(e.index.Models()))
		return advice.New(unknown, "one of Hugging Face is owner/repo, one of ollama is ollama:"+termtext.Safe(name)+"; to find one: aisync models search "+termtext.Safe(name))
	}
	cwd, err := a.Cwd()
	if err != nil {
		return err
	}
	look := modelsource.Lookup{
		Network: s.Network(), Facts: s.Facts, Home: e.Places.Physical(e.Places.Home), Cwd: cwd,
		Reading: func(size int64, file string) {
			a.Say("reading %s (%s)", termtext.Safe(filepath.Base(file)), quantity.Bytes(size))
		},
	}
	found, err := look.Entry(ctx, n, m.quant)
	if err != nil {
		return err
	}
	id, err := e.putEntry(found, m.name)
	if err != nil {
		return err
	}
	ids := []string{id}
	if found.Projector != nil && !m.withoutProjector {
		m.projector, err = e.putEntry(modelsource.Entry{Model: *found.Projector}, id+"-mmproj")
		if err != nil {
			return err
		}
		if err := e.Put("model "+m.projector, false, "{}", "models", m.projector); err != nil {
			return err
		}
		ids = append(ids, m.projector)
	}
	m.quant = found.Quant
	if err := e.putModel(id, m); err != nil {
		return err
	}
	e.Notes = append(e.Notes, found.Notes...)
	return e.finishModels(ctx, k, s, ids)
}

// putModel adds the model id of the catalog to the host.
func (e *Editing) putModel(id string, m modelFlags) error {
	q := m.quant
	if known, ok := e.index.Model(id); ok {
		var quants []string
		for _, q := range known.Quants {
			quants = append(quants, q.Name)
		}
		if q != "" && q != "auto" && !slices.Contains(quants, q) {
			return nearest.Unknown("quantization", q, append(quants, "auto"))
		}
		if q == "" && len(quants) > 1 {
			q = "auto"
		}
	}
	value := edit.Struct(edit.Text("quant", q), edit.Number("context", m.context), edit.Text("fit", m.fit),
		edit.Text("mmproj", m.projector), edit.Text("draft", m.draft))
	return e.Put("model "+id, m.quant != "" || m.context != 0 || m.fit != "" || m.draft != "", value, "models", id)
}

// putEntry adds an entry to the catalog of the spec, under the ID name or the
// first that no other model has, and returns its ID.
func (e *Editing) putEntry(found modelsource.Entry, name string) (string, error) {
	ids := found.IDs
	if name != "" {
		ids = []string{name}
	}
	top, value := e.Files.Top(), modelText(found.Model)
	for _, id := range ids {
		known, ok := e.index.Model(id)
		if !ok {
			return id, top.Add(value, "catalog", "models", id)
		}
		at := top.Find("catalog", "models", id)
		switch {
		case len(at) > 0 && top.Same(value, "catalog", "models", id):
			return id, nil
		case len(at) > 0 && (name != "" || sameSource(known, found.Model)):
			return "", advice.New(fmt.Errorf("model %s exists with other values: %s", id, at[0]), "change it there, or give this one another name, with --name")
		}
	}
	return "", advice.New(fmt.Errorf("the catalog has another model called %s", ids[len(ids)-1]), "give this one another name, with --name")
}

// sameSource reports whether two models come from one repository, artifact or file.
func sameSource(a, b spec.Model) bool {
	from := func(m spec.Model) string {
		switch {
		case len(m.Quants) == 0:
			return ""
		case len(m.Quants[0].Files) == 0:
			return m.Quants[0].Repo
		}
		f := m.Quants[0].Files[0]
		return f.Repo + strings.Join(f.Sources, " ")
	}
	return from(a) == from(b)
}

// modelText is a model as CUE text of one line.
func modelText(m spec.Model) string {
	var quants []edit.Field
	for _, q := range m.Quants {
		var files []string
		for _, f := range q.Files {
			files = append(files, edit.Struct(edit.Text("path", f.Path), edit.Field{Name: "size", Value: strconv.FormatInt(f.Size, 10)}, edit.Text("sha256", f.SHA256),
				edit.Text("repo", f.Repo), edit.Text("revision", f.Revision), edit.Texts("sources", f.Sources)))
		}
		fields := []edit.Field{edit.Text("repo", q.Repo), edit.Text("revision", q.Revision)}
		if len(files) > 0 {
			fields = []edit.Field{{Name: "files", Value: "[" + strings.Join(files, ", ") + "]"}}
		}
		quants = append(quants, edit.Field{Name: q.Name, Value: edit.Struct(fields...)})
	}
	return edit.Struct(edit.Text("license", m.License), edit.Field{Name: "quants", Value: edit.Struct(quants...)})
}

// finishModels finishes an edit that named models, which are pinned with it where the
// network is there. Nothing is written where their host refuses one.
func (e *Editing) finishModels(ctx context.Context, k Kind, s *stack.Session, ids []string) error {
	if _, err := e.Check(ctx, k); err != nil {
		return err
	}
	r := s.WritingResolver(pin.Lock)
	if r.Network.Offline {
		return e.finish(ctx, k)
	}
	r.Spec, r.Catalog = e.after, catalog.With(e.after.Catalog)
	for _, id := range ids {
		m, _ := r.Catalog.Model(id)
		use := e.after.Host.Model(id)
		if use.ID == "" {
			return errors.New("the host does not have the model")
		}
		if _, _, err := r.Model(ctx, use, m); err != nil {
			return fmt.Errorf("nothing was written: model %q: %w", id, pin.Advise(err))
		}
	}
	return e.finishPinned(ctx, k, s, r)
}

package launch

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"unicode"

	"github.com/pelletier/go-toml/v2"

	"aisync.dev/aisync/agents/identity"
	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/schema/spec"
)

// Choice is a runtime as a person named it.
type Choice struct {
	Runtime spec.Runtime
	Label   string // the runtime's id or the model's alias, for ids and window names
	Service string // of the host, where a model or service was named; else ""
	Model   string // the service's name for it; "" is the service's default
}

// Resolve returns the choice that a word after --runtime means, the first that
// fits:
//
//   - the id of a runtime, or another id under which the catalog knows it
//   - the name of a service of the host
//   - the id of a model that a service of the host serves
//   - local-WORDS, where WORDS are, in this order, some of the words of one such
//     model's or service's name: local-qwen30b is qwen3-coder-30b
//
// All but the first are the runtime for models (catalog.ForModels) with that
// service and model.
func Resolve(word string, runtimes catalog.Index, h *spec.Host) (Choice, error) {
	if rt, ok := runtimes.Find(word); ok {
		return Choice{Runtime: rt, Label: rt.ID}, nil
	}
	at := Choice{Runtime: catalog.ForModels(), Label: label(word)}
	served := serves(h)
	for _, s := range served {
		if s.service == word && s.first {
			at.Service, at.Model = s.service, s.model
			return at, nil
		}
	}
	if fit := slices.DeleteFunc(slices.Clone(served), func(s serving) bool { return s.model != word }); len(fit) > 0 {
		at.Service, at.Model = fit[0].service, fit[0].model
		return at, nil
	}
	if h != nil && slices.ContainsFunc(h.Models, func(m spec.ModelUse) bool { return m.ID == word }) {
		return Choice{}, fmt.Errorf("no service of host %s serves the model %s; add one: aisync add service NAME --model %s", h.Name, word, word)
	}
	if alias, ok := strings.CutPrefix(word, "local-"); ok {
		fit := slices.DeleteFunc(slices.Clone(served), func(s serving) bool {
			return !inOrder(words(alias), words(s.model)) && !(s.first && inOrder(words(alias), words(s.service)))
		})
		fit = slices.CompactFunc(fit, func(a, b serving) bool { return a.model == b.model })
		if len(fit) == 1 {
			at.Service, at.Model = fit[0].service, fit[0].model
			return at, nil
		}
		if len(fit) > 1 {
			var models []string
			for _, s := range fit {
				models = append(models, s.model)
			}
			return Choice{}, fmt.Errorf("--runtime %s could be %s; name the model or its service", word, strings.Join(models, " or "))
		}
	}
	return Choice{}, unknown(word, runtimes, served)
}

func label(word string) string { return identity.Sanitize(word, "local") }

// serving is one model of one service.
type serving struct {
	service, model string
	first          bool // the service's default
}

func serves(h *spec.Host) []serving {
	var out []serving
	if h == nil {
		return nil
	}
	for _, s := range h.Services {
		models := s.Models
		if s.Model != "" && !slices.Contains(models, s.Model) {
			models = append([]string{s.Model}, models...)
		}
		if len(models) == 0 {
			models = []string{""}
		}
		for i, m := range models {
			out = append(out, serving{s.Name, m, i == 0})
		}
	}
	return out
}

// words splits a name where a letter follows a non-letter, or a digit a letter:
// qwen3-coder-30b is qwen 3 coder 30b, qwen30b is qwen 30b.
func words(name string) []string {
	var out []string
	last := ' '
	for _, r := range strings.ToLower(name) {
		letter, digit := unicode.IsLetter(r), unicode.IsDigit(r) || r == '.'
		lastDigit := unicode.IsDigit(last) || last == '.'
		switch {
		case !letter && !digit:
		case len(out) == 0 || !unicode.IsLetter(last) && !lastDigit, digit && unicode.IsLetter(last):
			out = append(out, string(r))
		default:
			out[len(out)-1] += string(r)
		}
		last = r
	}
	return out
}

// inOrder reports whether some is a subsequence of all.
func inOrder(some, all []string) bool {
	if len(some) == 0 {
		return false
	}
	for _, w := range all {
		if len(some) > 0 && some[0] == w {
			some = some[1:]
		}
	}
	return len(some) == 0
}

func unknown(word string, runtimes catalog.Index, served []serving) error {
	var ids, models []string
	for _, r := range runtimes.Runtimes() {
		ids = append(ids, r.ID)
	}
	for _, s := range served {
		models = append(models, s.service)
		if s.model != "" {
			models = append(models, s.model)
		}
	}
	slices.Sort(models)
	text := fmt.Sprintf("unknown runtime %q; known: %s", word, strings.Join(ids, ", "))
	if models = slices.Compact(models); len(models) > 0 {
		text += "; services and models here: " + strings.Join(models, ", ")
	}
	return errors.New(text)
}

// Default reads the runtime in a file of defaults, "" where the file is missing:
// runtime = "…" or default = "…", at the top or in a table [runtime].
func Default(file string) (string, error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read the default runtime: %w", err)
	}
	var doc map[string]any
	if err := toml.Unmarshal(text, &doc); err != nil {
		var at *toml.DecodeError
		if errors.As(err, &at) {
			row, col := at.Position()
			return "", fmt.Errorf("%s:%d:%d: %w", file, row, col, err)
		}
		return "", fmt.Errorf("%s: %w", file, err)
	}
	if table, ok := doc["runtime"].(map[string]any); ok {
		doc = table
	}
	for _, key := range []string{"runtime", "default", "id"} {
		if name, ok := doc[key].(string); ok && name != "" {
			return name, nil
		}
	}
	return "", fmt.Errorf(`%s names no runtime; want a line such as: runtime = %q`, file, catalog.Preferred().ID)
}

// NamedModel is a word for a model of the host, and its meaning.
type NamedModel struct{ Name, Is string }

// Models returns the words by which Resolve knows the models of a host:
// services, and models by their ids.
func Models(h *spec.Host) []NamedModel {
	var out []NamedModel
	for _, s := range serves(h) {
		if s.first {
			out = append(out, NamedModel{s.service, "service, " + s.model})
		}
	}
	for _, s := range serves(h) {
		if s.model != "" && !slices.ContainsFunc(out, func(m NamedModel) bool { return m.Name == s.model }) {
			out = append(out, NamedModel{s.model, "model of service " + s.service})
		}
	}
	return out
}

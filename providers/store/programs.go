package store

import (
	"path"
	"strings"

	"aisync.dev/aisync/reconcile/fsys"
)

// Programs are the folders in which other programs keep models.
type Programs struct {
	HuggingFace fsys.LogicalPath // the hub's cache
	Ollama      fsys.LogicalPath
	LMStudio    fsys.LogicalPath
	LlamaCpp    fsys.LogicalPath
}

// ProgramPlaces finds them as the programs do, from environment variables and
// the home folder; "" if neither tells. See
// https://huggingface.co/docs/huggingface_hub/package_reference/environment_variables,
// https://github.com/ollama/ollama/blob/main/envconfig/config.go,
// https://lmstudio.ai/docs/app/basics/import-model and, for llama.cpp,
// https://github.com/ggml-org/llama.cpp/blob/master/common/common.cpp.
func ProgramPlaces(getenv func(string) string, home fsys.LogicalPath) Programs {
	at := func(variable, below string) fsys.LogicalPath {
		if v := getenv(variable); strings.HasPrefix(v, "/") {
			return fsys.LogicalPath(path.Join(v, below))
		}
		return ""
	}
	first := func(candidates ...fsys.LogicalPath) fsys.LogicalPath {
		for _, c := range candidates {
			if c != "" {
				return c
			}
		}
		return ""
	}
	below := func(p string) fsys.LogicalPath {
		if home == "" {
			return ""
		}
		return home.Join(p)
	}
	return Programs{
		HuggingFace: first(at("HF_HUB_CACHE", ""), at("HF_HOME", "hub"), at("XDG_CACHE_HOME", "huggingface/hub"), below(".cache/huggingface/hub")),
		Ollama:      first(at("OLLAMA_MODELS", ""), below(".ollama/models")),
		LMStudio:    below(".lmstudio/models"),
		LlamaCpp:    first(at("LLAMA_CACHE", ""), at("XDG_CACHE_HOME", "llama.cpp"), below(".cache/llama.cpp")),
	}
}

// Location is a folder in which a program keeps models.
type Location struct {
	Program string // "huggingface", "ollama", "lmstudio", "llama.cpp", "folder"
	Dir     fsys.LogicalPath
}

// Locations are the known folders of p.
func (p Programs) Locations() []Location {
	var out []Location
	for _, l := range []Location{{"huggingface", p.HuggingFace}, {"ollama", p.Ollama}, {"lmstudio", p.LMStudio}, {"llama.cpp", p.LlamaCpp}} {
		if l.Dir != "" {
			out = append(out, l)
		}
	}
	return out
}

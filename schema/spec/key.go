package spec

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// Key is where the key of a service is.
type Key struct {
	Secret
	Text string `json:"-"` // as the spec has it among the arguments or variables of a server
}

// Access is what a request to a server must carry.
type Access struct {
	Key     Key // zero: none
	Headers []EnvVar
}

// KeyFolder is the folder, below aisync's state, of the keys that aisync makes. It
// has one file for each service.
const KeyFolder = "keys"

// keyFiles and keyTexts are the arguments and the variables with which a person
// gives llama-server a key. See
// https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md.
const (
	keyFileOption, keyFileVariable = "--api-key-file", "LLAMA_ARG_API_KEY_FILE"
	keyOption, keyVariable         = "--api-key", "LLAMA_API_KEY"
)

// Access returns what requests to s must carry. home is what ~/ stands for, state
// aisync's folder; "": it has made no key.
func (s Service) Access(home, state string) Access {
	a := Access{Key: s.key(home, state)}
	for _, h := range s.Headers {
		if h.Secret != nil {
			h.Secret = &Secret{Env: h.Secret.Env, File: below(home, h.Secret.File)}
		}
		a.Headers = append(a.Headers, h)
	}
	return a
}

// Open reports whether requests need nothing.
func (a Access) Open() bool { return a.Key == Key{} && len(a.Headers) == 0 }

// below is the path of a spec in home.
func below(home, file string) string {
	if rest, ok := strings.CutPrefix(file, "~/"); ok {
		return path.Join(home, rest)
	}
	return file
}

func (s Service) key(home, state string) Key {
	in := func(file string) Key { return Key{Secret: Secret{File: below(home, file)}} }
	text, file := s.saidKey()
	switch {
	case text != "":
		first, _, _ := strings.Cut(text, ",") // each is taken
		return Key{Text: first}
	case file != "":
		return in(file)
	case s.Key != nil && s.Key.File != "":
		return in(s.Key.File)
	case s.Key != nil:
		return Key{Secret: *s.Key}
	case s.MakesKey() && state != "":
		return in(path.Join(state, KeyFolder, s.Name))
	}
	return Key{}
}

// MakesKey reports whether aisync makes the key of s.
func (s Service) MakesKey() bool {
	text, file := s.saidKey()
	return text == "" && file == "" && s.Key == nil && !s.NoKey && (s.Kind == "llama-server" || s.Kind == "llama-swap")
}

// SaysKey reports whether the arguments or variables of s name its key, which
// overrides all else.
func (s Service) SaysKey() bool {
	text, file := s.saidKey()
	return text != "" || file != ""
}

func (s Service) saidKey() (text, file string) {
	if s.Kind == "external" || s.Kind == "ollama" {
		return "", ""
	}
	of := func(option, variable string) string {
		for _, arg := range slices.Backward(s.Args) {
			if value, ok := strings.CutPrefix(arg, option+"="); ok {
				return value
			}
		}
		if i := slices.Index(s.Args, option); i >= 0 && i+1 < len(s.Args) {
			return s.Args[i+1]
		}
		return s.Env[variable]
	}
	return of(keyOption, keyVariable), of(keyFileOption, keyFileVariable)
}

// KeyContradiction returns what is wrong with the key and the headers of s, and
// what to write instead; "" if nothing is.
func (s Service) KeyContradiction() (problem, hint string) {
	switch {
	case s.Key != nil && (s.Key.Env == "") == (s.Key.File == ""):
		return "a key is named by exactly one of env and file", `write {env: "NAME"} or {file: "path"}`
	case s.Kind == "external" && s.NoKey:
		return "an external service has no key unless the spec names one", "leave out key"
	case s.Kind == "external":
		return "", ""
	case s.Key != nil && s.Key.Env != "":
		return "the server gets its key from a file", `write key: {file: "path"}, or leave it out: aisync makes one`
	case (s.Key != nil || s.NoKey) && s.SaysKey():
		return "args or env name a key already", "leave out key"
	}
	return "", ""
}

// Header returns the headers of a request, the key among them. value reads a
// secret.
func (a Access) Header(value func(Secret) (string, error)) (map[string]string, error) {
	out := map[string]string{}
	for _, h := range a.Headers {
		text := h.Value
		if h.Secret != nil {
			var err error
			if text, err = value(*h.Secret); err != nil {
				return nil, fmt.Errorf("header %s: %w", h.Name, err)
			}
		}
		out[h.Name] = text
	}
	key := a.Key.Text
	if a.Key.Secret != (Secret{}) {
		var err error
		if key, err = value(a.Key.Secret); err != nil {
			return nil, fmt.Errorf("key: %w", err)
		}
	}
	if key != "" {
		out["Authorization"] = "Bearer " + key
	}
	return out, nil
}

package spec

import (
	"errors"
	"maps"
	"strings"
	"testing"
)

func TestKeyOfAService(t *testing.T) {
	for name, c := range map[string]struct {
		service Service
		want    Key
	}{
		"made":                     {Service{Kind: "llama-server"}, Key{Secret: Secret{File: "/state/keys/s"}}},
		"of each model":            {Service{Kind: "llama-swap"}, Key{Secret: Secret{File: "/state/keys/s"}}},
		"none is wanted":           {Service{Kind: "llama-server", NoKey: true}, Key{}},
		"a person's":               {Service{Kind: "llama-server", Key: &Secret{File: "~/mine"}}, Key{Secret: Secret{File: "/home/me/mine"}}},
		"an argument wins":         {Service{Kind: "llama-server", Args: []string{"--api-key", "a,b"}}, Key{Text: "a"}},
		"one word":                 {Service{Kind: "llama-server", Args: []string{"--api-key-file=/k"}}, Key{Secret: Secret{File: "/k"}}},
		"a variable wins":          {Service{Kind: "llama-server", Env: map[string]string{"LLAMA_API_KEY": "v"}}, Key{Text: "v"}},
		"a variable with a file":   {Service{Kind: "llama-server", Env: map[string]string{"LLAMA_ARG_API_KEY_FILE": "~/k"}}, Key{Secret: Secret{File: "/home/me/k"}}},
		"ollama":                   {Service{Kind: "ollama"}, Key{}},
		"external":                 {Service{Kind: "external"}, Key{}},
		"external with a variable": {Service{Kind: "external", Key: &Secret{Env: "K"}}, Key{Secret: Secret{Env: "K"}}},
	} {
		c.service.Name = "s"
		if got := c.service.Access("/home/me", "/state").Key; got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

func TestKeyContradictions(t *testing.T) {
	for name, c := range map[string]struct {
		service Service
		want    string
	}{
		"none":             {Service{Kind: "llama-server", NoKey: true}, ""},
		"both":             {Service{Kind: "external", Key: &Secret{Env: "A", File: "b"}}, "exactly one"},
		"neither":          {Service{Kind: "external", Key: &Secret{}}, "exactly one"},
		"external, false":  {Service{Kind: "external", NoKey: true}, "no key unless"},
		"a variable":       {Service{Kind: "llama-swap", Key: &Secret{Env: "A"}}, "from a file"},
		"said twice":       {Service{Kind: "llama-server", Key: &Secret{File: "a"}, Args: []string{"--api-key", "x"}}, "already"},
		"none, and said":   {Service{Kind: "llama-server", NoKey: true, Env: map[string]string{"LLAMA_API_KEY": "x"}}, "already"},
		"external, named":  {Service{Kind: "external", Key: &Secret{Env: "A"}}, ""},
		"a server's, said": {Service{Kind: "llama-server", Args: []string{"--api-key", "x"}}, ""},
	} {
		if got, _ := c.service.KeyContradiction(); (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestHeaderOfRequests(t *testing.T) {
	read := func(s Secret) (string, error) {
		if s.Env == "K" {
			return "key", nil
		}
		return "", errors.New("not there")
	}
	a := Access{Key: Key{Secret: Secret{Env: "K"}}, Headers: []EnvVar{{Name: "X", Value: "x"}, {Name: "Y", Secret: &Secret{Env: "K"}}}}
	got, err := a.Header(read)
	if want := map[string]string{"Authorization": "Bearer key", "X": "x", "Y": "key"}; !maps.Equal(got, want) || err != nil {
		t.Errorf("%v, %v", got, err)
	}
	if a.Headers[1].Secret = new(Secret); a.Open() {
		t.Error("it asks for a key")
	}
	if _, err := a.Header(read); err == nil || !strings.Contains(err.Error(), "header Y") {
		t.Error(err)
	}
}

package start

import (
	"errors"
	"testing"

	"aisync.dev/aisync/schema/spec"
)

// A key and headers are named in the program's form, else they are written, and shown
// by their names alone.
func TestFillNamesSecrets(t *testing.T) {
	values := func(s spec.Secret) (string, error) {
		if s.Env == "GONE" {
			return "", errors.New("not set")
		}
		return "the value", nil
	}
	access := func(k spec.Key, headers ...spec.EnvVar) Server {
		return Server{Name: "s", Access: spec.Access{Key: k, Headers: headers}}
	}
	var (
		none  = access(spec.Key{})
		env   = access(spec.Key{Secret: spec.Secret{Env: "K"}})
		file  = access(spec.Key{Secret: spec.Secret{File: "/a b"}})
		text  = access(spec.Key{Text: "it's"})
		gone  = access(spec.Key{Secret: spec.Secret{Env: "GONE"}})
		heads = access(spec.Key{}, spec.EnvVar{Name: "A", Secret: &spec.Secret{Env: "K"}}, spec.EnvVar{Name: "B", Value: "b"}, spec.EnvVar{Name: "C", Secret: &spec.Secret{File: "/c"}})
		forms = spec.Reference{SecretEnv: "${NAME}", SecretFile: "!cat 'NAME'"}
	)
	for _, c := range []struct {
		server       Server
		ref          spec.Reference
		value        string
		want, shown  string
		key, headers bool
	}{
		{none, forms, `"{key}"`, `"none"`, ``, false, false},
		{none, forms, `{"a":"{keyShell}","b":"{noKey}","c":"{keyed}","d":"{headers}"}`, `{"b":"none","c":false}`, ``, false, false},
		{env, forms, `"{key}"`, `"${K}"`, ``, true, false},
		{file, forms, `"{key}"`, `"!cat '/a b'"`, ``, true, false},
		{env, spec.Reference{}, `"k {key}"`, `"k the value"`, `"k (the secret K)"`, true, false},
		{text, forms, `"{key}"`, `"it's"`, `"(the key of service s)"`, true, false},
		{env, forms, `{"a":"{keyShell}","b":"{noKey}","c":"{keyed}","d":"{keyVariable}","e":"{keyCommand}","f":"{keyText}"}`, `{"a":"printenv K","c":true,"d":"K"}`, ``, true, false},
		{file, forms, `{"a":"{keyShell}","d":"{keyVariable}","e":"{keyCommand}"}`, `{"a":"cat '/a b'","e":{"args":["/a b"],"command":"cat"}}`, ``, true, false},
		{text, forms, `"{keyShell}"`, `"printf %s 'it'\\''s'"`, `"printf %s '(the key of service s)'"`, true, false},
		{heads, forms, `"{headers}"`, `{"A":"${K}","B":"b","C":"!cat /c"}`, ``, false, true},
		{heads, spec.Reference{}, `{"e":"{headerVariables}","o":"{otherHeaders}"}`, `{"e":{"A":"K"},"o":{"B":"b","C":"the value"}}`, `{"e":{"A":"K"},"o":{"B":"b","C":"(the secret /c)"}}`, false, true},
		{heads, spec.Reference{}, `"{headerLines}"`, `"A: the value\nB: b\nC: the value"`, `"A: (the secret K)\nB: b\nC: (the secret /c)"`, false, true},
	} {
		c.ref.JSON = []byte(c.value)
		got, ok, err := c.server.Fill(c.ref, values)
		if string(got.Value) != c.want || string(got.Shown) != c.shown || got.Key != c.key || got.Headers != c.headers || !ok || err != nil {
			t.Errorf("%s: %s, shown %s, key %v, headers %v, %v; want %s, %s", c.value, got.Value, got.Shown, got.Key, got.Headers, err, c.want, c.shown)
		}
	}
	if _, ok, err := gone.Fill(spec.Reference{JSON: []byte(`"{key}"`)}, values); ok || err == nil {
		t.Error("a secret that is not there was written")
	}
	if named := heads.NamedHeaders(spec.Reference{SecretEnv: "${NAME}"}); len(named) != 2 {
		t.Errorf("%+v", named)
	}
}

// Variables that hold a secret are kept apart from those that are shown.
func TestLaunchKeepsSecretsApart(t *testing.T) {
	s := Server{Name: "s", URL: "http://h:1/v1", Context: 1_000_000, Access: spec.Access{Key: spec.Key{Secret: spec.Secret{Env: "K"}}}}
	l := Launch{Environment: map[string]string{}, Secrets: map[string]string{}}
	vars := map[string]string{"KEY": "{key}", "URL": "{url}", "ROOM": "{context}", "NONE": "{noKey}"}
	if err := s.set(&l, vars, func(spec.Secret) (string, error) { return "value", nil }); err != nil {
		t.Fatal(err)
	}
	if len(l.Environment) != 2 || l.Environment["ROOM"] != "1000000" || len(l.Secrets) != 1 || l.Secrets["KEY"] != "value" {
		t.Errorf("%v, %v", l.Environment, l.Secrets)
	}
	if shown, told := s.Variables(vars); len(shown) != 2 || !told.Key {
		t.Errorf("%v, %v", shown, told)
	}
}

package marketplace

import (
	"strings"
	"testing"

	"aisync.dev/aisync/internal/bundle"
	"aisync.dev/aisync/schema/spec"
)

// A plugin that has its marketplace's name does not hide it.
func TestAddressIsThatOfAMarketplace(t *testing.T) {
	const known = "gh:github/awesome-copilot@marketplace"
	for name, c := range map[string]struct {
		source spec.Source
		want   string
	}{
		"a source of the spec":    {spec.Source{Name: "awesome-copilot", URL: "acme/copy"}, "acme/copy"},
		"a plugin of a like name": {spec.Source{Name: "awesome-copilot", URL: known + "//plugins/awesome-copilot", From: "awesome-copilot@awesome-copilot"}, known},
		"no source":               {spec.Source{Name: "other"}, known},
	} {
		got, err := Address("awesome-copilot", []spec.Source{c.source}, func(text string) (string, error) { return text, nil })
		if err != nil || got != c.want {
			t.Errorf("%s: %q, %v; want %q", name, got, err, c.want)
		}
	}
}

func TestRepositoryOfKnownMarketplaceIsReadWhereItsPluginsAre(t *testing.T) {
	read := func(text string) (string, error) { return bundle.Address(text, "/") }
	want, err := read("gh:github/awesome-copilot@marketplace")
	if err != nil {
		t.Fatal(err)
	}
	for market, at := range map[string]string{
		"awesome-copilot":                           want,
		"github/awesome-copilot":                    want,
		"https://github.com/github/awesome-copilot": want,
		"gh:github/awesome-copilot@main":            "",
		"acme/awesome-copilot":                      "",
	} {
		if at == "" {
			if at, err = read(market); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := Address(market, nil, read); err != nil || got != at {
			t.Errorf("%s: %q, %v; want %q", market, got, err, at)
		}
		url, err := read(market) // of a source that the spec calls otherwise
		if got, of := Address("mine", []spec.Source{{Name: "mine", URL: url}}, read); strings.Contains(market, "/") && (err != nil || of != nil || got != at) {
			t.Errorf("source %s: %q, %v; want %q", market, got, of, at)
		}
	}
}

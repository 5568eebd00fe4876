package marketplace

import (
	"testing"

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

package cli

import (
	"slices"
	"testing"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/cmd/aisync/quick"
)

func TestALinkIsOneOfThisVersionsCommands(t *testing.T) {
	root := &cobra.Command{}
	root.AddCommand(&cobra.Command{Use: "launch [PATH]"}, &cobra.Command{Use: "roster"}, &cobra.Command{Use: "other"})
	if got, want := LinksOf(root), []string{"agent-roster", "ai"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	for name, command := range quick.Links {
		if got := ExpandLink(name, []string{"x"}); !slices.Equal(got, append(slices.Clip(command), "x")) {
			t.Errorf("%s is %q", name, got)
		}
	}
	if got := ExpandLink("aisync", []string{"x"}); !slices.Equal(got, []string{"x"}) {
		t.Errorf("its own name adds %q", got)
	}
}

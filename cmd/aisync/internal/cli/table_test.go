package cli

import (
	"fmt"
	"strings"
	"testing"
)

func TestTableFollowsTheWidth(t *testing.T) {
	rows := "claude\tinstalled\tClaude Code 2.1.330, by npm, in ~/.local/bin of this person\n" +
		"opencode\tmissing\tnot in PATH\n"
	for width, want := range map[int]string{
		0: "claude    installed  Claude Code 2.1.330, by npm, in ~/.local/bin of this person\n" +
			"opencode  missing    not in PATH\n",
		50: "claude    installed  Claude Code 2.1.330, by npm,\n" +
			"                     in ~/.local/bin of this\n" +
			"                     person\n" +
			"opencode  missing    not in PATH\n",
		30: "claude    installed  Claude Code 2.1.330, by npm, in ~/.local/bin of this person\n" + // no room for words
			"opencode  missing    not in PATH\n",
	} {
		var out strings.Builder
		table := &Table{out: &out, width: width}
		fmt.Fprint(table, rows)
		if err := table.Flush(); err != nil || out.String() != want {
			t.Errorf("%d columns: %v\n%s\nwant\n%s", width, err, out.String(), want)
		}
	}
}

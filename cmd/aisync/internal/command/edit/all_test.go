package edit

import (
	"strings"
	"testing"
)

func TestPathsOfSourcesAreThoseThatWereTyped(t *testing.T) {
	for _, c := range []struct{ dir, typed, want string }{
		{"/home/me/code/p", "add bundle --source=../rules -- rules//x", "add bundle --source=../../rules -- rules//x"},
		{"/home/me/here/p", "add bundle --source=./p/own -- own//x", "add bundle --source=./own -- own//x"},
		{"/home/me/code/p", "add skill -- ../skills//docs pdf", "add skill -- ../../skills//docs pdf"},
		{"/home/me/code/p", "add skill -- acme/tools pdf", "add skill -- acme/tools pdf"},
		{"/home/me/code/p", "add mcp -- notes ./serve", "add mcp -- notes ./serve"},
		{"/home/me/code/p", "add bundle --source=https://x/../y -- a//b", "add bundle --source=https://x/../y -- a//b"},
	} {
		if got := strings.Join(from("/home/me/here", c.dir, strings.Fields(c.typed)), " "); got != c.want {
			t.Errorf("%s: %s, want %s", c.typed, got, c.want)
		}
	}
}

package realcli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Programs that are started in a folder with rules for itself, and at the root,
// have what loads says: the rules of both, also beside notes of a person's.
func TestProgramsStartedInAFolder(t *testing.T) {
	needWholeRun(t)
	for name, start := range map[string]string{"at the root": "", "in the folder": "sub"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, scope{"both", true, true}, everyone())
			w.start = start
			at := filepath.Join(w.project, "aisync.cue")
			text, err := os.ReadFile(at)
			if err != nil {
				t.Fatal(err)
			}
			spec := strings.Replace(string(text), "sources: here:", "nested: [\"sub\", \"web\"]\n\tsources: here:", 1)
			w.write(w.project, "aisync.cue", spec)
			for _, folder := range []string{"sub", "web"} {
				w.write(w.project, folder+"/aisync.cue", "package aisync\n\nproject: {name: \""+folder+"\", extends: \"..\", sources: "+folder+": \"house\", bundles: [\""+folder+"//"+folder+"\"]}\n")
				w.write(w.project, folder+"/house/languages/"+folder+"/common/rules/all.md", "# All\n\nKeep to "+mark("own", folder+"all")+".\n")
				w.write(w.project, folder+"/house/languages/"+folder+"/common/rules/zig.md", "---\npaths: [\"*.zig\"]\n---\n# Zig\n\nKeep to "+mark("own", folder+"zig")+".\n")
			}
			w.write(w.project, "CLAUDE.md", "# Mine\n\nKeep to "+mark("own", "claude")+".\n")
			w.aisync("apply", "--yes", "--trust")
			w.agree(t)
		})
	}
}

package schema

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"aisync.dev/aisync/schema/costly"
)

// endless is little to write and 160,000 texts to make: enough here, and a line
// more makes it years.
const endless = `package aisync
b: ["1","2","3","4","5","6","7","8","9","10","11","12","13","14","15","16","17","18","19","20"]
project: {
	name: "a"
	bundles: [for x in b for y in b for z in b for w in b {"\(x)\(y)"}]
}
`

func TestCostlySpecIsAborted(t *testing.T) {
	dir := t.TempDir()
	o := Options{ProjectDir: dir, Scope: ProjectOnly, Texts: map[string][]byte{filepath.Join(dir, ProjectFile): []byte(endless)}}
	t.Run("when it is interrupted", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
		defer cancel()
		if _, err := Load(ctx, o); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
	})
	t.Run("after a while", func(t *testing.T) {
		defer func(was time.Duration) { patience = was }(patience)
		patience = 50 * time.Millisecond
		if _, err := Load(context.Background(), o); err == nil || !strings.Contains(err.Error(), dir) {
			t.Error(err)
		}
	})
}

func TestTakesAtOnce(t *testing.T) {
	for text, want := range map[string]bool{
		"a: 1\nproject: {name: *\"x\" | string, bundles: [for i in b {i}]}": false,
		"import \"aisync.dev/schema\"\nschema.#Project":                     false,
		"// 1 + 2, and \"\\(x)\"\na: (1)":                                   false,
		"a: \"x\" * 3":                                                      true,
		"a: {b: [1 + c]}":                                                   true,
		"a: \"\\(b)\"":                                                      true,
		"a: #\"\\#(b)\"#":                                                   true,
		"a: \"\"\"\n\t\\(b)\n\t\"\"\"":                                      true,
		"import \"strings\"\na: strings.ToUpper(b)":                         true,
		"import s \"aisync.dev/other\"\na: 1":                               true,
		"a: 1 +":                                                            false,
	} {
		if got := costly.AllocatesAtOnce([]byte("package aisync\n"+text), schemaPackage, catalogPackage); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

package merge

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"aisync.dev/aisync/internal/merge/json"
	"aisync.dev/aisync/internal/merge/leaf"
	"aisync.dev/aisync/internal/merge/text"
	"aisync.dev/aisync/internal/merge/toml"
	"aisync.dev/aisync/internal/merge/yaml"
)

// Format is how leaves are kept in a document, as a spec names it.
type Format string

const (
	JSON     Format = "json"     // comments and trailing commas of the user are kept, never introduced
	JSONC    Format = "jsonc"    // the same: programs differ in what they read, not in what is kept
	TOML     Format = "toml"     // 1.0, and what go-toml reads of 1.1
	YAML     Format = "yaml"     // one document; what has an anchor, an alias or a tag is left alone
	Text     Format = "text"     // whole lines, and blocks between "# …" markers
	Markdown Format = "markdown" // the same, blocks between "<!-- … -->" markers
	Slashes  Format = "slashes"  // the same, blocks between "// …" markers
)

// formats lists every format, how lines and blocks are marked beside its leaves,
// and the extensions of the files that have it. docs/recipes/merge-format.md says
// how to add one.
var formats = []struct {
	*leaf.Format
	marks      Format
	extensions []string
}{
	{&json.JSON, Slashes, []string{".json"}},
	{&json.JSONC, Slashes, []string{".jsonc"}},
	{&toml.TOML, Text, []string{".toml"}},
	{&yaml.YAML, Text, []string{".yaml", ".yml"}},
	{&text.Text, Text, nil},
	{&text.Markdown, Markdown, []string{".md", ".markdown", ".mdc", ".html"}},
	{&text.Slashes, Slashes, []string{".js", ".ts", ".go", ".cue", ".c", ".rs"}},
}

// FormatOf guesses from a file's name; Text where it does not know.
func FormatOf(name string) Format {
	ext := strings.ToLower(path.Ext(name))
	for _, f := range formats {
		if slices.Contains(f.extensions, ext) {
			return Format(f.Name)
		}
	}
	return Text
}

// TextFormat returns how lines and blocks are kept in a document of a format.
func TextFormat(format Format) Format {
	for _, f := range formats {
		if f.Name == string(format) {
			return f.marks
		}
	}
	return format
}

// find returns the format that name names.
func find(name Format) (leaf.Format, error) {
	names := make([]string, len(formats))
	for i, f := range formats {
		if f.Name == string(name) {
			return *f.Format, nil
		}
		names[i] = f.Name
	}
	last := len(names) - 1
	return leaf.Format{}, fmt.Errorf("format %q is unknown; use %s or %s", name, strings.Join(names[:last], ", "), names[last])
}

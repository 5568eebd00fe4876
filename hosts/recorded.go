package hosts

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"aisync.dev/aisync/hosts/facts"
)

//go:embed recorded/*.json
var recorded embed.FS

// Recorded returns facts of a reference host. They come from data sheets, not
// from measurements.
func Recorded(name string) (facts.Facts, bool) {
	b, err := recorded.ReadFile("recorded/" + name + ".json")
	if err != nil {
		return facts.Facts{}, false
	}
	f, err := parseFacts(name, b)
	return f, err == nil
}

// ReadFacts reads the output of aisync facts --json.
func ReadFacts(path string) (facts.Facts, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return facts.Facts{}, fmt.Errorf("read facts: %w", err)
	}
	return parseFacts(path, b)
}

func parseFacts(name string, b []byte) (facts.Facts, error) {
	var f facts.Facts
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(&f); err != nil {
		at := d.InputOffset()
		if syntax := (*json.SyntaxError)(nil); errors.As(err, &syntax) {
			at = syntax.Offset
		}
		line := 1 + bytes.Count(b[:min(int(at), len(b))], []byte("\n"))
		return f, fmt.Errorf("%s:%d: invalid facts: %v; make them with: aisync facts --json", name, line, err)
	}
	if f.FormatVersion < 1 || f.FormatVersion > facts.FormatVersion {
		return f, fmt.Errorf("%s: facts of format_version %d, but this aisync supports 1 to %d; make new ones with: aisync facts --json", name, f.FormatVersion, facts.FormatVersion)
	}
	return f, nil
}

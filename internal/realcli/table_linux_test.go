package realcli

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/schema/spec"
)

const (
	sourcesPage = "../../docs/sources.md"
	tableBegin  = "<!-- published:begin -->\n"
	tableEnd    = "<!-- published:end -->\n"
)

// The table of docs/sources.md says what becomes of each part of each format in each
// program: what the sources in testdata/published hold, what aisync takes of them,
// where the catalog has a place, and what programs were seen to load.
func TestTableOfPublishedParts(t *testing.T) {
	page, err := os.ReadFile(sourcesPage)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, begins := strings.Cut(string(page), tableBegin)
	_, after, ends := strings.Cut(rest, tableEnd)
	if !begins || !ends {
		t.Fatalf("%s has no place for the table", sourcesPage)
	}
	want := before + tableBegin + publishedTable(t) + tableEnd + after
	if want == string(page) {
		return
	}
	if !*update {
		t.Fatalf("%s is not up to date; run: go test ./internal/realcli -run TestTableOfPublishedParts -update", sourcesPage)
	}
	if err := os.WriteFile(sourcesPage, []byte(want), 0o644); err != nil {
		t.Fatal(err)
	}
}

// recorded is what programs were seen to load when make test-runtimes ran.
func recorded(t *testing.T) (seen seenPublished) {
	t.Helper()
	text, err := os.ReadFile(publishedFile)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &seen); err != nil {
		t.Fatal(err)
	}
	return seen
}

func publishedTable(t *testing.T) string {
	seen := recorded(t)
	list := slices.DeleteFunc(catalog.With(spec.Catalog{}).Runtimes(), func(r spec.Runtime) bool { return r.Experimental })
	var b strings.Builder
	b.WriteString("\n| format | part |")
	for _, rt := range list {
		b.WriteString(" " + rt.ID + " |")
	}
	b.WriteString(" why not |\n|---|---|" + strings.Repeat("---|", len(list)+1) + "\n")
	for _, f := range formats {
		r := f.read(t)
		for _, part := range publishedParts {
			if !r.has[part] {
				continue
			}
			fmt.Fprintf(&b, "| %s | %s |", f.name, part)
			var without []string
			for _, rt := range list {
				cell := "–"
				if r.takes[part] {
					cell = cellOf(rt, part, slices.Contains(seen[f.id][part], rt.ID))
				}
				if cell == "–" {
					without = append(without, rt.ID)
				}
				b.WriteString(" " + cell + " |")
			}
			switch {
			case !r.takes[part]:
				b.WriteString(" " + r.left[part])
			case len(without) > 0:
				b.WriteString(" " + strings.Join(without, ", ") + ": no place for " + part)
			}
			b.WriteString(" |\n")
		}
	}
	return b.String() + "\n"
}

// cellOf says how a part that aisync takes of a source reaches rt, by the catalog's
// places for it.
func cellOf(rt spec.Runtime, part string, seen bool) string {
	if seen {
		return "proved"
	}
	name := part
	if part == "MCP servers" {
		name = "mcp"
	}
	parts := catalog.Parts()
	i := slices.IndexFunc(parts, func(p catalog.Part) bool { return p.Name == name })
	if level, _ := parts[i].Project(rt); level != catalog.Manual {
		return "written"
	}
	if level, _ := parts[i].User(rt); level != catalog.Manual {
		return "host"
	}
	return "–"
}

// A format or part that the sources no longer have leaves the record too.
func TestRecordHasSourcesPartsOnly(t *testing.T) {
	for id, of := range recorded(t) {
		i := slices.IndexFunc(formats, func(f format) bool { return f.id == id })
		if i < 0 {
			t.Errorf("there is no format %s", id)
			continue
		}
		takes := formats[i].read(t).takes
		for part := range maps.Keys(of) {
			if !takes[part] {
				t.Errorf("%s: aisync takes no %s", id, part)
			}
		}
	}
}

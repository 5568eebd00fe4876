// Package page renders a ledger as one self-contained HTML page without scripts.
// It reads no file. It is separate from package ensemble because html/template
// initialises slowly and most commands are short. Call Write.
package page

import (
	_ "embed"
	"html/template"
	"io"
	"time"

	"aisync.dev/aisync/agents/ledger"
)

//go:embed page.html
var text string

// Write writes the page.
func Write(w io.Writer, story ledger.Story) error {
	t, err := template.New("page").Parse(text)
	if err != nil {
		return err
	}
	return t.Execute(w, struct {
		Made string
		ledger.Story
	}{time.Now().UTC().Format(time.RFC3339), story})
}

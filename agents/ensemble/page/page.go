// Package page shows a ledger as one page for a browser, which needs nothing
// else and runs nothing. It reads no file. It is a package of its own because
// html/template is slow to begin, and most commands of ensemble are short. Start
// reading at Write.
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

package lint

import (
	"fmt"

	"aisync.dev/aisync/internal/secret"
)

// checkSecrets reports each line with a secret once.
func checkSecrets(s *source, say func(Finding)) {
	for _, f := range s.files {
		if f.binary {
			continue
		}
		text, last := string(f.text), 0
		for _, m := range secret.Find(text) {
			n := secret.Line(text, m.Start)
			if n == last {
				continue
			}
			last = n
			level := Error
			if m.ByName() {
				level = Warning // rather a guess than a form
			}
			say(Finding{File: f.name, Line: n, Level: level, Text: fmt.Sprintf("looks like %s; remove and revoke it or, if it is none, put %q in the line", m.Kind, ignoreMark)})
		}
	}
}

package leaf

import (
	"errors"
	"fmt"
	"strings"
)

var escaper = strings.NewReplacer("~", "~0", "/", "~1", "#", "~2")
var unescaper = strings.NewReplacer("~0", "~", "~1", "/", "~2", "#")

// Pointer writes the JSON pointer of names.
func Pointer(names ...string) string {
	var b strings.Builder
	for _, n := range names {
		b.WriteByte('/')
		b.WriteString(escaper.Replace(n))
	}
	return b.String()
}

// Names returns the names of which a pointer is made.
func Names(pointer string) ([]string, error) {
	if pointer == "" {
		return nil, errors.New("empty; a leaf is never the whole document")
	}
	if pointer[0] != '/' {
		return nil, errors.New("want a pointer that starts with /, or line:… or block:…")
	}
	parts := strings.Split(pointer[1:], "/")
	for i, p := range parts {
		for j := 0; j < len(p); j++ {
			if p[j] == '~' && (j+1 == len(p) || p[j+1] < '0' || p[j+1] > '2') {
				return nil, errors.New("~ must be followed by 0 (for ~), 1 (for /) or 2 (for #)")
			}
		}
		parts[i] = unescaper.Replace(p)
	}
	if len(parts) > MaxDepth {
		return nil, fmt.Errorf("more than %d parts", MaxDepth)
	}
	return parts, nil
}

package ensemble

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"unicode/utf8"
)

// MaxBody bounds a text that is no word of a command line, in bytes: a line of the
// audit trail holds it.
const MaxBody = 4 << 20

// body returns the text of a message: the words from the n-th on, the file that
// --file names, or stdin where the only word is -. A shell changes words with
// backquotes or $; it does not change a file.
func (c *call) body(n int) (string, error) {
	name, fromFile := c.value["file"]
	stdin := len(c.words) == n+1 && c.words[n] == "-" && !c.literal
	switch {
	case fromFile && len(c.words) > n:
		return "", errors.New("--file takes the place of the text; give one of them")
	case fromFile && name != "-":
		if !filepath.IsAbs(name) {
			name = filepath.Join(c.Dir, name)
		}
		f, err := os.Open(name)
		if err != nil {
			return "", fmt.Errorf("read the text: %w", err)
		}
		defer f.Close()
		return readBody(f, name)
	case fromFile || stdin:
		if c.In == nil {
			return "", errors.New("stdin is closed; give the text as words or with --file")
		}
		return readBody(c.In, "stdin")
	}
	return c.text(n), nil
}

func readBody(r io.Reader, name string) (string, error) {
	text, err := io.ReadAll(io.LimitReader(r, MaxBody+1))
	switch {
	case err != nil:
		return "", fmt.Errorf("read the text: %w", err)
	case len(text) > MaxBody:
		return "", fmt.Errorf("%s has more than %d MiB; put it into a file of the project and send its name", name, MaxBody>>20)
	case !utf8.Valid(text):
		return "", fmt.Errorf("%s is no UTF-8 text; put it into a file of the project and send its name", name)
	}
	return string(text), nil
}

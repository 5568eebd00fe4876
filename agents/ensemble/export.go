package ensemble

import (
	"errors"
	"fmt"
	"os"
)

// export writes the ledger as one self-contained page.
func (c *call) export() (int, error) {
	file := c.value["html"]
	if file == "" {
		return exitError, errors.New("export requires --html FILE (- is the standard output)")
	}
	story, err := c.ledger.Story()
	if err != nil {
		return exitError, err
	}
	out := c.Out
	if file != "-" {
		// Only this user may read the messages, as with the ledger's files.
		f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, os.ErrExist) {
			return exitError, fmt.Errorf("%s already exists; name another file or remove it", file)
		}
		if err != nil {
			return exitError, err
		}
		defer f.Close()
		out = f
	}
	if err := c.Page(out, story); err != nil {
		return exitError, fmt.Errorf("write %s: %w", file, err)
	}
	if file != "-" {
		fmt.Fprintf(c.Out, "wrote %s\n", file)
	}
	return exitDone, nil
}

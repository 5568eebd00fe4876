package ensemble

import (
	"errors"
	"fmt"
	"os"
)

// export writes the ledger as one page that needs nothing else.
func (c *call) export() (int, error) {
	file := c.value["html"]
	if file == "" {
		return exitError, errors.New("export wants --html FILE (or - for the output)")
	}
	story, err := c.ledger.Story()
	if err != nil {
		return exitError, err
	}
	out := c.Out
	if file != "-" {
		// Messages are for this user's eyes, as the ledger's files are.
		f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, os.ErrExist) {
			return exitError, fmt.Errorf("%s is there already; name another file or remove it", file)
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

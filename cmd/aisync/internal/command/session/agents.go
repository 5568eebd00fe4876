package session

import (
	"fmt"
	"io"

	"aisync.dev/aisync/agents/session"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
)

// editTexts reads the text that is given as - from the input.
func editTexts(a *cli.App, e *session.Edit) error {
	for _, text := range []*string{&e.Append, e.Body, &e.New} {
		if text == nil || *text != "-" {
			continue
		}
		input, err := io.ReadAll(io.LimitReader(a.Input(), cli.MaxInput+1))
		if err != nil {
			return fmt.Errorf("read the text from the input: %w", err)
		}
		if len(input) > cli.MaxInput {
			return fmt.Errorf("the text on the input is longer than %d MB", cli.MaxInput>>20)
		}
		*text = string(input)
		return nil
	}
	return nil
}

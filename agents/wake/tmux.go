package wake

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"time"

	"aisync.dev/aisync/internal/termtext"
)

// server is a tmux server: the default one, or one by name or by socket.
type server struct{ name, socket string }

// tmux runs tmux and returns its output.
func (s server) tmux(words ...string) (string, error) {
	switch {
	case s.socket != "":
		words = append([]string{"-S", s.socket}, words...)
	case s.name != "":
		words = append([]string{"-L", s.name}, words...)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, "tmux", append([]string{"-u"}, words...)...) // UTF-8 whatever the locale
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		if errors.Is(err, exec.ErrNotFound) {
			return "", errors.New("tmux is not installed")
		}
		return "", fmt.Errorf("tmux: %s", termtext.OneLine(errs.String()+" "+err.Error()))
	}
	return out.String(), nil
}

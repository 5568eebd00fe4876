package services

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/internal/atomicfile"
	"aisync.dev/aisync/providers/service/slots"
)

// slotsCommand builds the hidden command that a service's definition runs beside
// a llama-server. It speaks to the service's log.
func slotsCommand(a *cli.App) *cobra.Command {
	detach, keyFile, models := false, "", []string(nil)
	cmd := &cobra.Command{
		Use:         "slots prepare|restore|save FOLDER PORT COUNT",
		Short:       "keep what a llama-server has read over a restart",
		Hidden:      true,
		Annotations: map[string]string{"effect": "writes"},
		Args:        cli.ExactArgs(4, "the action, the folder, the port and the number of slots"),
		RunE: func(cmd *cobra.Command, args []string) error {
			port, err := strconv.Atoi(args[2])
			if err != nil {
				return cli.Usagef("invalid port %q", args[2])
			}
			count, err := strconv.Atoi(args[3])
			if err != nil {
				return cli.Usagef("invalid number of slots %q", args[3])
			}
			s := slots.Slots{Dir: args[1], Port: port, Count: count, Key: a.Env.Get("LLAMA_API_KEY"), Models: models}
			if key, err := os.ReadFile(keyFile); err == nil { // else the server could not start
				s.Key = strings.TrimSpace(string(key))
			}
			switch args[0] {
			case "prepare":
				return errors.Join(ensureKey(keyFile), s.Prepare())
			case "save":
				kept, err := s.Save(cmd.Context())
				if kept > 0 {
					a.Say("aisync: saved %d MB of conversations", kept/1e6)
				}
				return err
			case "restore":
				if detach {
					for _, m := range models {
						args = append(args, "--model", m)
					}
					return detached(append(args, "--key-file", keyFile))
				}
				tokens, err := s.Restore(cmd.Context())
				if tokens > 0 {
					a.Say("aisync: restored %d tokens", tokens)
				}
				return err
			}
			return cli.Usagef("unknown action %q", args[0])
		},
	}
	cmd.Flags().BoolVar(&detach, "detach", false, "return at once, and go on in the background")
	cmd.Flags().StringVar(&keyFile, "key-file", "", "file with the server's key")
	cmd.Flags().StringArrayVar(&models, "model", nil, "a model of a server of several")
	return cmd
}

// ensureKey makes the file of a server's key where there is none: of a service that a
// rollback has put back, the key went with it.
func ensureKey(file string) error {
	if _, err := os.Lstat(file); file == "" || !errors.Is(err, fs.ErrNotExist) {
		return nil // the server says what is wrong with it
	}
	random := make([]byte, 32)
	_, _ = rand.Read(random) // never fails
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	return atomicfile.Create(file, []byte("aisync-0-"+hex.EncodeToString(random)+"\n"), atomicfile.Options{Mode: 0o600})
}

// detached runs the command again, and does not wait for it.
func detached(args []string) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	cmd := exec.Command(self, append([]string{"services", "slots"}, args...)...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	return cmd.Process.Release()
}

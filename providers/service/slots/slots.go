// Package slots keeps what llama-server has read of its conversations over a
// restart: a server that is about to stop saves its slots, one that has started
// restores them. It starts and stops no server. Call Prepare, then Restore after
// the start and Save before the stop. See
// https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md.
package slots

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"
)

// Slots are those of one server. The name of Dir, the server's --slot-save-path,
// stands for its model and settings: slots of others are of no use to it.
type Slots struct {
	Dir   string
	Port  int
	Count int
	Key   string // the server's API key; "": none

	// Models are those of a server of several, which has Count slots for each that it
	// has loaded; nil: the server has one model.
	Models []string
}

// slot is one of them.
type slot struct {
	model string // "": the server's only one
	index int
}

func (s Slots) all() (out []slot) {
	models := s.Models
	if models == nil {
		models = []string{""}
	}
	for _, m := range models {
		for i := range s.Count {
			out = append(out, slot{m, i})
		}
	}
	return out
}

// file is its name in Dir.
func (s slot) file() string {
	name := "slot-" + strconv.Itoa(s.index)
	if s.model != "" {
		name = s.model + "." + name
	}
	return name
}

// Limit is the most bytes that the slots of a service may take on disk.
const Limit = int64(8) << 30

// loading is how long Restore waits for a server to load its model.
const loading = 15 * time.Minute

// every is how often it looks.
const every = 200 * time.Millisecond

// saveTime bounds Save. It is shorter than a service manager waits for a server to stop.
const saveTime = 15 * time.Second

// Prepare makes the folder, for the owner alone.
func (s Slots) Prepare() error {
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return err
	}
	return os.Chmod(s.Dir, 0o700)
}

// Save has the server write its slots, replaces what was saved before, and
// removes what was saved with another model or other settings, and of models that the
// server has not loaded: a restart is to load no other. It returns the bytes that it
// keeps, at most Limit. A server that does not run is no error.
func (s Slots) Save(ctx context.Context) (kept int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, saveTime)
	defer cancel()
	loaded, err := s.loaded(ctx)
	if errors.As(err, new(*net.OpError)) {
		return 0, nil
	}
	for _, x := range s.all() {
		if x.model != "" && !loaded[x.model] {
			err = errors.Join(err, removed(filepath.Join(s.Dir, x.file())))
			continue
		}
		temp := x.file() + ".new"
		n, serr := s.act(ctx, x, "save", temp)
		if errors.As(serr, new(*net.OpError)) {
			return kept, nil
		}
		at := filepath.Join(s.Dir, temp)
		size := int64(0)
		if info, lerr := os.Lstat(at); lerr == nil && info.Mode().IsRegular() {
			size = info.Size()
		}
		if serr != nil || n == 0 || kept+size > Limit {
			err = errors.Join(err, serr, removed(at))
			continue
		}
		if merr := errors.Join(os.Chmod(at, 0o600), os.Rename(at, filepath.Join(s.Dir, x.file()))); merr != nil {
			err = errors.Join(err, merr)
			continue
		}
		kept += size
	}
	return kept, errors.Join(err, s.dropOthers())
}

// loaded are the models that a server of several has in memory.
func (s Slots) loaded(ctx context.Context) (map[string]bool, error) {
	if s.Models == nil {
		return nil, nil
	}
	resp, err := s.request(ctx, http.MethodGet, "/models", nil)
	if err != nil {
		return nil, fmt.Errorf("list the server's models: %w", err)
	}
	defer resp.Body.Close()
	var list struct {
		Data []struct {
			ID     string
			Status struct{ Value string }
		}
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, 1<<24)).Decode(&list); err != nil || resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("list the server's models: %s: %w", resp.Status, err)
	}
	out := map[string]bool{}
	for _, m := range list.Data {
		out[m.ID] = m.Status.Value == "loaded"
	}
	return out, nil
}

// dropOthers removes what the service saved under other settings.
func (s Slots) dropOthers() error {
	all, err := os.ReadDir(filepath.Dir(s.Dir))
	for _, e := range all {
		if e.IsDir() && e.Name() != filepath.Base(s.Dir) {
			err = errors.Join(err, os.RemoveAll(filepath.Join(filepath.Dir(s.Dir), e.Name())))
		}
	}
	return err
}

// Forget removes what a service saved with all its models and settings: the text of
// conversations does not outlive the service. folder holds one Dir for each.
func Forget(folder string) error { return os.RemoveAll(folder) }

// Restore waits until the server has loaded its model, has it read its slots, and
// returns their tokens. A server of several models loads those that had slots when it
// stopped. It removes a slot that the server refuses.
func (s Slots) Restore(ctx context.Context) (tokens int, err error) {
	saved := slices.DeleteFunc(s.all(), func(x slot) bool {
		_, err := os.Lstat(filepath.Join(s.Dir, x.file()))
		return err != nil
	})
	if len(saved) == 0 {
		return 0, nil
	}
	ctx, cancel := context.WithTimeout(ctx, loading)
	defer cancel()
	for !s.ready(ctx) {
		select {
		case <-ctx.Done():
			return 0, fmt.Errorf("restore slots: the server is not ready: %w", ctx.Err())
		case <-time.After(every):
		}
	}
	for _, x := range saved {
		n, rerr := s.act(ctx, x, "restore", x.file())
		if errors.Is(rerr, errRefused) {
			rerr = errors.Join(rerr, removed(filepath.Join(s.Dir, x.file())))
		}
		tokens += n
		err = errors.Join(err, rerr)
	}
	return tokens, err
}

func removed(path string) error {
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// errRefused means that the server answered with an error.
var errRefused = errors.New("refused")

func (s Slots) request(ctx context.Context, method, path string, body []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, "http://"+net.JoinHostPort("127.0.0.1", strconv.Itoa(s.Port))+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if s.Key != "" {
		req.Header.Set("Authorization", "Bearer "+s.Key)
	}
	return direct.Do(req)
}

// direct asks no proxy: the server is on this machine.
var direct = &http.Client{Transport: &http.Transport{}}

// ready reports whether the server has loaded its model.
func (s Slots) ready(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	resp, err := s.request(ctx, http.MethodGet, "/health", nil)
	if err != nil {
		return false
	}
	resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}

// act saves or restores one slot, and returns how many tokens it has.
func (s Slots) act(ctx context.Context, x slot, action, name string) (tokens int, err error) {
	ask := map[string]string{"filename": name}
	if x.model != "" {
		ask["model"] = x.model
	}
	body, err := json.Marshal(ask)
	if err != nil {
		return 0, err
	}
	resp, err := s.request(ctx, http.MethodPost, "/slots/"+strconv.Itoa(x.index)+"?action="+action, body)
	if err != nil {
		return 0, fmt.Errorf("%s %s: %w", action, x.file(), err)
	}
	defer resp.Body.Close()
	said, err := io.ReadAll(io.LimitReader(resp.Body, 1<<16))
	if err != nil {
		return 0, fmt.Errorf("%s %s: %w", action, x.file(), err)
	}
	var answer struct {
		Saved    int `json:"n_saved"`
		Restored int `json:"n_restored"`
	}
	if resp.StatusCode != http.StatusOK || json.Unmarshal(said, &answer) != nil {
		return 0, fmt.Errorf("%s %s: %w: %s: %.200s", action, x.file(), errRefused, resp.Status, said)
	}
	return answer.Saved + answer.Restored, nil
}

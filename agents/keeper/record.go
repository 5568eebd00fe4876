package keeper

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"aisync.dev/aisync/agents/identity"
	"aisync.dev/aisync/agents/project"
)

// Dir is the folder of the records, below a project. Beside the record NAME.json
// lies NAME.lock, which the keeper locks. The time of the last change of a
// record is that of its agent's last sign of life.
const Dir = project.Contexts + "/.live"

const (
	ending     = ".json"
	lockEnding = ".lock"
	version    = 1
	maxRecord  = 64 << 10 // bytes
)

// record is the content of a record's file.
type record struct {
	Version int `json:"version"`
	Agent
	Place
	Since time.Time `json:"since"`
}

// name returns the name of an agent's record: it never names another process,
// nor another session where the process is not known.
func (r record) name() (string, error) {
	switch {
	case r.PID > 0 && r.Boot != "":
		ns := strings.Map(func(c rune) rune {
			if c >= '0' && c <= '9' {
				return c
			}
			return -1
		}, r.Namespace)
		return strings.Join([]string{r.Boot, "n" + ns, strconv.Itoa(r.PID), strconv.FormatUint(r.Start, 10)}, "-"), nil
	case r.Session != "":
		return "session-" + identity.FileName(r.Runtime+"-"+r.Session), nil
	case r.ID != "":
		return "id-" + identity.FileName(r.ID), nil
	}
	return "", errors.New("the agent has neither a process, a session nor an id by which to know it again")
}

// write writes a record in one step.
func (r record) write(root, name string) error {
	dir := path.Join(root, Dir)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	temp := path.Join(dir, "."+name+"."+strconv.Itoa(os.Getpid())+"."+strconv.FormatInt(time.Now().UnixNano(), 36))
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL|unix.O_NOFOLLOW, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(append(text, '\n'))
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(temp, path.Join(dir, name+ending))
	}
	if err != nil {
		_ = os.Remove(temp)
	}
	return err
}

// read reads a record and the time of its last change. fs.ErrNotExist: there is
// none.
func read(root, name string) (r record, changed time.Time, err error) {
	file := path.Join(root, Dir, name+ending)
	f, err := os.OpenFile(file, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if errors.Is(err, unix.ELOOP) {
		return r, changed, fmt.Errorf("%s is a link, not the record of an agent; remove it", file)
	}
	if err != nil {
		return r, changed, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return r, changed, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxRecord {
		return r, changed, fmt.Errorf("%s is not the record of an agent; remove it", file)
	}
	text, err := io.ReadAll(io.LimitReader(f, maxRecord))
	if err != nil {
		return r, changed, err
	}
	if err := json.Unmarshal(text, &r); err != nil || r.Version != version {
		return r, changed, fmt.Errorf("%s is not a record that this version of aisync reads; remove it if its agent has ended", file)
	}
	return r, info.ModTime(), nil
}

// names lists the records of a project, in order.
func names(root string) ([]string, error) {
	entries, err := os.ReadDir(path.Join(root, Dir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the records of agents: %w", err)
	}
	var out []string
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), ending); ok && name != "" && name[0] != '.' {
			out = append(out, name)
		}
	}
	return out, nil
}

// remove removes a record, and the lock that belongs to it.
func remove(root, name string) error {
	err := os.Remove(path.Join(root, Dir, name+ending))
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if lock := os.Remove(path.Join(root, Dir, name+lockEnding)); lock != nil && !errors.Is(lock, fs.ErrNotExist) {
		err = errors.Join(err, lock)
	}
	return err
}

// renew dates a record now.
func renew(root, name string) error {
	now := time.Now()
	return os.Chtimes(path.Join(root, Dir, name+ending), now, now)
}

package worker

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"aisync.dev/aisync/internal/atomicfile"
)

// maxFile bounds what is read of one file; a prompt is the largest part.
const maxFile = 4 << 20

// createOnce creates a file with its content in one step, durably. It reports false,
// having changed nothing, if the file exists.
func createOnce(folder, name string, content any) (bool, error) {
	text, err := json.MarshalIndent(content, "", "  ")
	if err != nil {
		return false, err
	}
	err = atomicfile.Create(filepath.Join(folder, name), append(text, '\n'), atomicfile.Options{Temp: "." + name + ".*"})
	if errors.Is(err, fs.ErrExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("make %s: %w", name, err)
	}
	return true, nil
}

// read decodes a file of the folder. It reports false if it is missing, and an
// error if this version does not write such a file.
func read(folder, name string, into any) (bool, error) {
	path := filepath.Join(folder, name)
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return false, err
	}
	if len(text) > maxFile {
		return false, fmt.Errorf("%s: larger than %d bytes", path, maxFile)
	}
	if err := decode(text, into); err != nil {
		return false, fmt.Errorf("%s: %w", path, err)
	}
	return true, nil
}

func decode(text []byte, into any) error {
	var version struct {
		Schema int `json:"schemaVersion"`
	}
	if err := json.Unmarshal(text, &version); err != nil {
		return err
	}
	if version.Schema != schema {
		return fmt.Errorf("schemaVersion is %d: this aisync supports %d", version.Schema, schema)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	return d.Decode(into)
}

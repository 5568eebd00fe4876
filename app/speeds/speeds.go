// Package speeds keeps what aisync models bench measured: one line of JSON for
// each measurement, in a file that only grows. It measures nothing. Call Add after
// a measurement, Load and Of to read.
package speeds

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"aisync.dev/aisync/hosts"
)

// Record is one measurement. It stands for a host, a model, a quantization and
// settings: with others it says nothing.
type Record struct {
	Host     string    `json:"host"`
	Service  string    `json:"service"`
	Model    string    `json:"model"`
	Quant    string    `json:"quant"`
	Settings string    `json:"settings"` // see Settings
	At       time.Time `json:"at"`

	PromptTokens int     `json:"prompt_tokens"`
	Prompt       float64 `json:"prompt_tokens_per_second"`
	AnswerTokens int     `json:"answer_tokens"`
	Answer       float64 `json:"answer_tokens_per_second"`
	ByServer     bool    `json:"timed_by_server"` // else by aisync, around the requests
}

// Settings is the text form of what of n decides its speed.
func Settings(n hosts.Need) string {
	return fmt.Sprintf("%s, %d layers, %d of experts on the processor, %d x %d tokens, cache %s", n.Backend, n.GPULayers, n.CPUExperts, n.Sequences, n.Context, n.Cache)
}

// Add appends r to file, and makes the folder of file if it is missing.
func Add(file string, r Record) error {
	line, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(append([]byte("\n"), append(line, '\n')...)) // a line that a kill cut off ends here
	return errors.Join(err, f.Close())
}

// mostBytes bounds what is read of a file: ten thousand measurements.
const mostBytes = 4 << 20

// Load reads the records of file, the oldest first; none if it does not exist. It
// passes by lines that it cannot read.
func Load(file string) ([]Record, error) {
	b, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []Record
	lines := bufio.NewScanner(bytes.NewReader(b[max(0, len(b)-mostBytes):]))
	for lines.Scan() {
		var r Record
		if json.Unmarshal(lines.Bytes(), &r) == nil && r.Model != "" && r.Answer > 0 {
			out = append(out, r)
		}
	}
	return out, lines.Err()
}

// Of returns the newest of records for n on host.
func Of(records []Record, host string, n hosts.Need) (Record, bool) {
	for i := len(records) - 1; i >= 0; i-- {
		if r := records[i]; r.Host == host && r.Model == n.Model && r.Quant == n.Quant && r.Settings == Settings(n) {
			return r, true
		}
	}
	return Record{}, false
}

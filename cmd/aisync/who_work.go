package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// piece is one piece of work that somebody has in hand.
type piece struct {
	Kind string `json:"kind"` // task
	Name string `json:"name"` // of a task: its file's, without .yaml
	Path string `json:"path"` // its file, below the project
}

// inHand are the places where work that goes on is written down. Each looks at
// its own in a project's root and changes nothing; with an error it returns what
// could be read.
var inHand = []func(root string) ([]piece, error){runningTasks}

// runningTasks are the files that were moved to tasks/queue/QUEUE/running.
func runningTasks(root string) ([]piece, error) {
	queues, err := os.ReadDir(filepath.Join(root, "tasks", "queue"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var out []piece
	errs := []error{err}
	for _, q := range queues {
		folder := filepath.Join("tasks", "queue", q.Name(), "running")
		files, err := os.ReadDir(filepath.Join(root, folder))
		if !q.IsDir() || errors.Is(err, fs.ErrNotExist) {
			continue
		}
		errs = append(errs, err)
		for _, f := range files {
			ext := filepath.Ext(f.Name())
			if f.Type().IsRegular() && slices.Contains([]string{".yaml", ".yml"}, ext) {
				out = append(out, piece{Kind: "task", Name: strings.TrimSuffix(f.Name(), ext), Path: filepath.Join(folder, f.Name())})
			}
		}
	}
	return out, errors.Join(errs...)
}

package task

import (
	"os"
	"path/filepath"
	"strings"
)

// TreeOf returns the id of the task that worked on a branch, "" if it is none of
// a task.
func TreeOf(branch string) string {
	parts := strings.Split(branch, "/")
	if len(parts) != 3 || branchName(parts[1], parts[2]) != branch {
		return ""
	}
	return parts[1]
}

// Holder returns why the task id of a repository still needs the work tree at dir,
// "" if it does not.
func Holder(repo, id, dir string) (string, error) {
	j, err := readJournal(Queue{Dir: repo}.Runs(id))
	if err != nil {
		return "", err
	}
	if j.Report == nil && j.Tree != "" && filepath.Clean(j.Tree) == dir {
		return "task " + id + " is being worked on in it, or waits to be tried again; see: aisync task list", nil
	}
	if _, err := os.Lstat(dir + scratch); err == nil {
		return "task " + id + " is being worked on in it, or its executor died, which aisync task run-once settles", nil
	}
	return "", nil
}

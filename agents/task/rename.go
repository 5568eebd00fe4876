package task

import "os"

// linkNew renames in two steps: the new name is made only if it is not there.
func linkNew(from, to string) error {
	if err := os.Link(from, to); err != nil {
		return err
	}
	return os.Remove(from)
}

package project

import (
	"errors"
	"syscall"
)

// isNotFolder reports that a parent in the path is a file.
func isNotFolder(err error) bool { return errors.Is(err, syscall.ENOTDIR) }

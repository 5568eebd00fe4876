package project

import (
	"errors"
	"syscall"
)

// isNotFolder says that a name on the way is a file.
func isNotFolder(err error) bool { return errors.Is(err, syscall.ENOTDIR) }

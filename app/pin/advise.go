package pin

import (
	"errors"
	"fmt"

	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/internal/shellquote"
)

// Advise adds to an error of this package what to type next. Other errors stay
// as they are.
func Advise(err error) error {
	var e *Error
	switch {
	case errors.Is(err, ErrNotFetched):
		return advice.Command(err, "aisync lock")
	case !errors.As(err, &e):
		return err
	}
	switch e.Reason {
	case NotPinned:
		return advice.Command(err, "aisync lock")
	case Unfit:
		return advice.Command(err, "aisync lock --update "+e.ID)
	case Gone:
		return advice.Command(err, "aisync lock --update "+shellquote.Terminal(e.ID)+", and look at what moved")
	case Changed:
		return advice.Command(err, "aisync lock --update "+e.ID+", if the change is right")
	case HubDown:
		return advice.Command(err, "aisync lock again, when the hub can be reached")
	case ManagerFailed:
		return advice.Command(err, "aisync lock again, when that is mended")
	case NotWritable:
		return fmt.Errorf("%w: run aisync lock in a copy that is, and bring aisync.lock along", err)
	}
	return err
}

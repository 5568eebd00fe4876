package task

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"aisync.dev/aisync/agents/process"
	"aisync.dev/aisync/internal/quantity"
	"aisync.dev/aisync/internal/shellquote"
)

// Digest identifies the content of a task file: all its bytes, and neither its
// name nor its folder. An approval is of a digest, so that it lasts while the
// file moves through the queue, and ends with any change.
func Digest(text []byte) string {
	sum := sha256.Sum256(slices.Concat([]byte("task 1\x00"), text))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// Approvals reads what the person of this machine has approved for a project, as
// of now, and returns a test for a digest. nil approves nothing.
type Approvals func() (approved func(digest string) bool, err error)

// approved returns the test for approved digests.
func (q Queue) approved() (func(digest string) bool, error) {
	if q.Approvals == nil {
		return func(string) bool { return false }, nil
	}
	approved, err := q.Approvals()
	if err != nil {
		return nil, fmt.Errorf("read which tasks are approved: %w", err)
	}
	return approved, nil
}

// Unapproved returns the tasks of a queue that would be carried out if they were
// approved: those queued, and those whose executor died. "" means all queues.
func (q Queue) Unapproved(project string) ([]Item, error) {
	all, err := q.List()
	if err != nil {
		return nil, err
	}
	approved, err := q.approved()
	if err != nil {
		return nil, err
	}
	t := process.System()
	return slices.DeleteFunc(all, func(i Item) bool {
		waits := i.State == Queued || i.State == Running && i.By.Life(q.Self.Host, t) == Gone
		return !waits || i.Err != nil || project != "" && i.Project != project || approved(i.Digest)
	}), nil
}

// unapproved returns *NotApproved for the tasks of Unapproved, nil for none.
func (q Queue) unapproved(project string) error {
	items, err := q.Unapproved(project)
	if err != nil || len(items) == 0 {
		return err
	}
	return &NotApproved{q.Dir, project, items}
}

// NotApproved reports tasks of a queue that the person of this machine has not
// approved. They are not carried out.
type NotApproved struct {
	Dir, Project string
	Items        []Item
}

// Error names the first tasks.
func (n *NotApproved) Error() string {
	const shown = 5
	var ids []string
	for _, i := range n.Items {
		ids = append(ids, i.Task.ID)
	}
	more := ""
	if rest := len(ids) - shown; rest > 0 {
		ids, more = ids[:shown], fmt.Sprintf(", and %d more", rest)
	}
	are := "are"
	if len(n.Items) == 1 {
		are = "is"
	}
	return fmt.Sprintf("%s of queue %s %s not approved on this machine: %s%s", quantity.Count(len(n.Items), "task"), n.Project, are, strings.Join(ids, ", "), more)
}

// Command returns the command that shows and approves the tasks. repo is the
// project to name, "" for the caller's.
func (n *NotApproved) Command(repo string) string {
	words := []string{"aisync task approve"}
	if repo != "" {
		words = append(words, "--repo "+shellquote.Terminal(repo))
	}
	if len(n.Items) > 5 {
		return strings.Join(append(words, "--all --project "+n.Project), " ")
	}
	for _, i := range n.Items {
		words = append(words, i.Task.ID)
	}
	return strings.Join(words, " ")
}

// Hint returns what to type next.
func (n *NotApproved) Hint() string { return "read them, then run: " + n.Command("") }

// nightLines returns the lines of err for the report of a night, which is read in
// other folders.
func nightLines(err error) string {
	text := err.Error()
	if n := (*NotApproved)(nil); errors.As(err, &n) {
		text += "\nread them, then run: " + n.Command(n.Dir)
	}
	return text
}

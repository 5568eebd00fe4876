package task

import "context"

// moveOver moves the file of a task that is over. The approval of a done task has
// been used: its file, put back into the queue, needs another. A failed task keeps
// its approval, for a retry.
func (r Runner) moveOver(i Item, s State) error {
	if _, err := r.Queue.Finish(i, s); err != nil || s != Done || r.Queue.EndApproval == nil {
		return err
	}
	if err := r.Queue.EndApproval(context.Background(), i.Digest); err != nil {
		r.say("%s: its approval lasts, so that its file, put back into the queue, would be carried out without a question: %v", i.Task.ID, err)
	}
	return nil
}

package spec

import "time"

// Task is one bounded piece of work that an executor carries out by itself.
// Both forms of a task file come to this.
type Task struct {
	File string // as it was named

	ID        string
	Source    string // "gitea:<project>:<issue>"; "" none
	CreatedBy string
	CreatedAt time.Time
	Priority  int // 1 critical to 4 low

	Tier         string // "trivial", "simple", "moderate", "complex"; "" not said
	Capabilities []string
	Tokens       int // as estimated; 0 not said
	Duration     time.Duration

	Requires []string // tasks that must be done before
	Blocks   []string // tasks that wait for this one

	Goal        string
	Write, Read []string // globs below the repository; none means nowhere
	MaxFiles    int      // 0: not bounded by the task
	MaxDiff     int64    // bytes; 0: not bounded by the task
	Timeout     time.Duration
	Denied      []string // regular expressions
	Network     bool     // run and executor steps may use it
	Retries     int      // after a timeout or an endpoint's error

	Steps       []TaskStep
	Verify      []string // shell commands
	Assumptions []string
	Issue       int    // of the host that reports go back to; 0 none
	Form        string // "1", or "flat"
}

// TaskStep is one action of a task.
type TaskStep struct {
	ID           string
	Action       string // "create", "write", "append", "edit", "run"
	File         string // slash-separated, below the repository
	Text         string // of create, write and append
	Instructions string // of edit
	Command      string // of run
	Description  string
	Pos          Position
}

package spec

import "time"

// Task is one bounded piece of work for an executor. Both forms of a task file
// are decoded to it, with default limits filled in.
type Task struct {
	File string // as named by the caller

	ID        string
	Source    string // "gitea:<project>:<issue>"; "" none
	CreatedBy string
	CreatedAt time.Time // zero: unset
	Priority  int       // 1 critical to 4 low

	Tier         string // "trivial", "simple", "moderate", "complex"; "": unset
	Capabilities []string
	Tokens       int // estimated; 0: unknown
	Duration     time.Duration

	Requires []string // tasks that must be done first
	Blocks   []string // tasks that wait for this one

	Goal        string
	Write, Read []string      // globs below the repository; none means nowhere
	MaxFiles    int           // how many may change; 0 is none
	MaxDiff     int64         // bytes of all changes together; 0 is none
	Timeout     time.Duration // of one step or one command of verify
	Denied      []string      // regular expressions (RE2)
	Network     bool          // run and executor steps may use it
	Retries     int           // after a timeout or an endpoint's error

	Steps       []TaskStep
	Verify      []string // shell commands
	Assumptions []string
	Issue       int    // of the host that gets the reports; 0: none
	Form        string // "1", or "flat"

	// Lack is why the file says too little to begin the task; nil: it says
	// enough. A file without it is valid: the task may be finished.
	Lack *TaskLack
}

// TaskLack is what a task file lacks, and what to add.
type TaskLack struct {
	Pos  Position
	Text string
}

// ReadOnly reports whether the limits of t allow no change: it only checks.
func (t Task) ReadOnly() bool { return len(t.Write) == 0 || t.MaxFiles == 0 || t.MaxDiff == 0 }

// Default limits of a task. The first three are the figures of the example in
// the design of the file format.
const (
	TaskMaxFiles = 10
	TaskMaxDiff  = 50_000
	TaskTimeout  = 300 * time.Second
	TaskRetries  = 1
	TaskPriority = 3
)

// TaskStep is one action of a task.
type TaskStep struct {
	ID           string
	Action       string // "create", "edit", "run"; "write", "append" from the flat form
	File         string // slash-separated, below the repository; clean
	Text         string // of create, write and append
	Instructions string // of edit
	Command      string // of run
	Description  string
	Pos          Position
}

package spec

import "time"

// RunVersion is the schemaVersion of every file below .ilchul.
const RunVersion = 1

// RunConfig is .ilchul/config.json as written: missing fields come from the
// user's config, then from the defaults.
type RunConfig struct {
	SchemaVersion int                   `json:"schemaVersion"`
	Storage       *RunStorage           `json:"storage,omitempty"`
	Adapters      map[string]RunAdapter `json:"adapters,omitempty"`
	Runtime       *RunRuntime           `json:"runtime,omitempty"`
	Retention     *RunRetention         `json:"retention,omitempty"`
	Verification  *RunVerification      `json:"verification,omitempty"`
}

// RunStorage is the place of runs. Each field accepts only one value.
type RunStorage struct {
	Root             string `json:"root,omitempty"`
	LegacyRootPolicy string `json:"legacyRootPolicy,omitempty"`
}

// RunAdapter says how workers of one runtime start.
type RunAdapter struct {
	Enabled          *bool  `json:"enabled,omitempty"`
	DefaultSubstrate string `json:"defaultSubstrate,omitempty"` // "tmux", "process"
}

// RunRuntime bounds a supervisor. Zero is unset; no field accepts it.
type RunRuntime struct {
	WorktreeRoot            string `json:"worktreeRoot,omitempty"`
	MaxWorkers              int    `json:"maxWorkers,omitempty"`
	ReadinessTimeoutSeconds int    `json:"readinessTimeoutSeconds,omitempty"`
	LeaseDurationSeconds    int    `json:"leaseDurationSeconds,omitempty"`
	HeartbeatTimeoutSeconds int    `json:"heartbeatTimeoutSeconds,omitempty"`
	Sandbox                 bool   `json:"sandbox,omitempty"` // every worker runs in a sandbox; another config cannot take it back
}

// RunRetention says what happens to a worker whose work is done.
type RunRetention struct {
	CompletedDefault           string `json:"completedDefault,omitempty"` // "completed-retained", "safe-to-close"
	SafeCleanupRequiresCommand *bool  `json:"safeCleanupRequiresCommand,omitempty"`
	RetainLogsDays             *int   `json:"retainLogsDays,omitempty"`
}

// RunVerification is how deep results are checked.
type RunVerification struct {
	DefaultDepth                     string `json:"defaultDepth,omitempty"` // "quick", "standard", "deep"
	RequireEvidenceForTaskCompletion *bool  `json:"requireEvidenceForTaskCompletion,omitempty"`
}

// RunContract is run-contract.json: the purpose of a run, and its proof.
type RunContract struct {
	SchemaVersion    int      `json:"schemaVersion"`
	RunID            string   `json:"runId"`
	Goal             string   `json:"goal"`
	CreatedAt        string   `json:"createdAt"`
	CreatedBy        string   `json:"createdBy,omitempty"`
	Acceptance       []string `json:"acceptance,omitempty"`
	EvidenceRequired []string `json:"evidenceRequired,omitempty"` // required for completion; as in RunTask
	Adapter          string   `json:"adapter,omitempty"`          // for tasks that name none
	Status           string   `json:"status"`                     // "active", "completed", "failed", "cancelled"
}

// RunObjective is objective.json. It only advises.
type RunObjective struct {
	SchemaVersion int      `json:"schemaVersion"`
	RunID         string   `json:"runId"`
	Objective     string   `json:"objective"`
	Evaluators    []string `json:"evaluators,omitempty"`
	Authority     string   `json:"authority"` // "advisory"
}

// RunSettings are the settings with which a run started. A later change of a
// config does not affect it.
type RunSettings struct {
	Adapter          string `json:"adapter,omitempty"`
	Substrate        string `json:"substrate,omitempty"`
	Strategy         string `json:"strategy"` // "graph"
	Depth            string `json:"depth"`
	MaxWorkers       int    `json:"maxWorkers"`
	MaxAttempts      int    `json:"maxAttempts"` // failures after which a task has failed permanently
	ReadinessMS      int64  `json:"readinessTimeoutMs"`
	LeaseMS          int64  `json:"leaseDurationMs"`
	HeartbeatMS      int64  `json:"heartbeatTimeoutMs"`
	RequireEvidence  bool   `json:"requireEvidenceForTaskCompletion"`
	CompletedDefault string `json:"completedDefault"`
	RetainLogsDays   int    `json:"retainLogsDays"`
	WorktreeRoot     string `json:"worktreeRoot"`        // absolute
	Worktrees        bool   `json:"worktrees,omitempty"` // a git work tree for each worker, below WorktreeRoot
	Sandbox          bool   `json:"sandbox,omitempty"`   // every worker runs in a sandbox
}

// RunPolicy is policy-selection.json: the settings and their reasons.
type RunPolicy struct {
	SchemaVersion int         `json:"schemaVersion"`
	RunID         string      `json:"runId"`
	SelectedAt    string      `json:"selectedAt"`
	Settings      RunSettings `json:"settings"`
	Reasons       []RunReason `json:"reasons"`
	Advice        []string    `json:"advice,omitempty"` // of learning/, recorded but not followed
}

// RunReason is the source of one setting.
type RunReason struct {
	Setting string `json:"setting"`
	Value   string `json:"value"`
	From    string `json:"from"` // "flag", "graph", "default", or the config file
}

// RunTask is one task of a graph as requested.
type RunTask struct {
	ID        string            `json:"id"`
	Title     string            `json:"title,omitempty"`
	Goal      string            `json:"goal,omitempty"` // the worker's instruction
	DependsOn []string          `json:"dependsOn,omitempty"`
	Adapter   string            `json:"adapter,omitempty"`
	Substrate string            `json:"substrate,omitempty"`
	Command   []string          `json:"command,omitempty"` // with the adapter "command"
	Env       map[string]string `json:"env,omitempty"`
	Evidence  []string          `json:"evidence,omitempty"` // required KIND or KIND:NAME
	Worktree  *bool             `json:"worktree,omitempty"` // its workers have separate work trees; nil: the run's setting
	Sandbox   bool              `json:"sandbox,omitempty"`  // its workers run in a sandbox, whatever the run's setting
	Network   bool              `json:"network,omitempty"`  // they have a network there, where the host allows it
	// Write holds what the task writes, as in Task: no task that meets it is claimed
	// meanwhile, and a supervisor claims it in the ledger.
	Write []string `json:"allowedWriteGlobs,omitempty"`
	// TimeoutSeconds is the time for one attempt, from its claim; 0: as long as it
	// takes.
	TimeoutSeconds int `json:"timeoutSeconds,omitempty"`
}

// Timeout returns the time for one attempt, 0 for no limit.
func (t RunTask) Timeout() time.Duration { return time.Duration(t.TimeoutSeconds) * time.Second }

// RunGraph is the input of run start --graph.
type RunGraph struct {
	SchemaVersion int       `json:"schemaVersion"`
	Worktrees     bool      `json:"worktrees,omitempty"` // as RunSettings.Worktrees
	Tasks         []RunTask `json:"tasks"`
}

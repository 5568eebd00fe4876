package spec

// RunVersion is the schemaVersion of every file below .ilchul.
const RunVersion = 1

// RunConfig is .ilchul/config.json as it was written: what it leaves out is
// taken from the user's own, and then from the defaults.
type RunConfig struct {
	SchemaVersion int                   `json:"schemaVersion"`
	Storage       *RunStorage           `json:"storage,omitempty"`
	Adapters      map[string]RunAdapter `json:"adapters,omitempty"`
	Runtime       *RunRuntime           `json:"runtime,omitempty"`
	Retention     *RunRetention         `json:"retention,omitempty"`
	Verification  *RunVerification      `json:"verification,omitempty"`
}

// RunStorage says where runs lie. Both fields take one value only.
type RunStorage struct {
	Root             string `json:"root,omitempty"`
	LegacyRootPolicy string `json:"legacyRootPolicy,omitempty"`
}

// RunAdapter is how workers of one runtime are started.
type RunAdapter struct {
	Enabled          *bool  `json:"enabled,omitempty"`
	DefaultSubstrate string `json:"defaultSubstrate,omitempty"` // "tmux", "process"
}

// RunRuntime bounds what a supervisor does. Zero is "not said"; no field takes it.
type RunRuntime struct {
	WorktreeRoot            string `json:"worktreeRoot,omitempty"`
	MaxWorkers              int    `json:"maxWorkers,omitempty"`
	ReadinessTimeoutSeconds int    `json:"readinessTimeoutSeconds,omitempty"`
	LeaseDurationSeconds    int    `json:"leaseDurationSeconds,omitempty"`
	HeartbeatTimeoutSeconds int    `json:"heartbeatTimeoutSeconds,omitempty"`
}

// RunRetention is what happens to a worker whose work is done.
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

// RunContract is run-contract.json: what the run is for, and what proves it.
type RunContract struct {
	SchemaVersion    int      `json:"schemaVersion"`
	RunID            string   `json:"runId"`
	Goal             string   `json:"goal"`
	CreatedAt        string   `json:"createdAt"`
	CreatedBy        string   `json:"createdBy,omitempty"`
	Acceptance       []string `json:"acceptance,omitempty"`
	EvidenceRequired []string `json:"evidenceRequired,omitempty"` // before the run may complete; as in RunTask
	Adapter          string   `json:"adapter,omitempty"`          // of tasks that name none
	Status           string   `json:"status"`                     // "active", "completed", "failed", "cancelled"
}

// RunObjective is objective.json. It advises; nothing is decided by it.
type RunObjective struct {
	SchemaVersion int      `json:"schemaVersion"`
	RunID         string   `json:"runId"`
	Objective     string   `json:"objective"`
	Evaluators    []string `json:"evaluators,omitempty"`
	Authority     string   `json:"authority"` // "advisory"
}

// RunSettings are what a run was started with. A later change of a config does
// not reach it.
type RunSettings struct {
	Adapter          string `json:"adapter,omitempty"`
	Substrate        string `json:"substrate,omitempty"`
	Strategy         string `json:"strategy"` // "graph"
	Depth            string `json:"depth"`
	MaxWorkers       int    `json:"maxWorkers"`
	MaxAttempts      int    `json:"maxAttempts"` // failures of a task before it is failed for good
	ReadinessMS      int64  `json:"readinessTimeoutMs"`
	LeaseMS          int64  `json:"leaseDurationMs"`
	HeartbeatMS      int64  `json:"heartbeatTimeoutMs"`
	RequireEvidence  bool   `json:"requireEvidenceForTaskCompletion"`
	CompletedDefault string `json:"completedDefault"`
	RetainLogsDays   int    `json:"retainLogsDays"`
	WorktreeRoot     string `json:"worktreeRoot"`        // absolute
	Worktrees        bool   `json:"worktrees,omitempty"` // a git work tree for each worker, below WorktreeRoot
}

// RunPolicy is policy-selection.json: what was chosen, and why.
type RunPolicy struct {
	SchemaVersion int         `json:"schemaVersion"`
	RunID         string      `json:"runId"`
	SelectedAt    string      `json:"selectedAt"`
	Settings      RunSettings `json:"settings"`
	Reasons       []RunReason `json:"reasons"`
	Advice        []string    `json:"advice,omitempty"` // of learning/, named and not followed
}

// RunReason says where one setting comes from.
type RunReason struct {
	Setting string `json:"setting"`
	Value   string `json:"value"`
	From    string `json:"from"` // "flag", "graph", "default", or the config file
}

// RunTask is one task of a graph as it was asked for.
type RunTask struct {
	ID        string            `json:"id"`
	Title     string            `json:"title,omitempty"`
	Goal      string            `json:"goal,omitempty"` // what the worker is told
	DependsOn []string          `json:"dependsOn,omitempty"`
	Adapter   string            `json:"adapter,omitempty"`
	Substrate string            `json:"substrate,omitempty"`
	Command   []string          `json:"command,omitempty"` // with the adapter "command"
	Env       map[string]string `json:"env,omitempty"`
	Evidence  []string          `json:"evidence,omitempty"` // KIND or KIND:NAME that it must leave
	Worktree  *bool             `json:"worktree,omitempty"` // its workers have work trees of their own; nil: as the run says
}

// RunGraph is what run start --graph reads.
type RunGraph struct {
	SchemaVersion int       `json:"schemaVersion"`
	Worktrees     bool      `json:"worktrees,omitempty"` // as RunSettings.Worktrees
	Tasks         []RunTask `json:"tasks"`
}

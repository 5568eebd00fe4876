package start

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"aisync.dev/aisync/agents/run"
	"aisync.dev/aisync/schema/spec"
)

// RunDigest identifies what the supervisors of a run execute: its id, contract,
// settings and tasks with their commands, adapters and variables. It stays the
// same while the run is worked on, and differs where any of that does.
func RunDigest(st *run.State) (string, error) {
	tasks := make([]spec.RunTask, len(st.Tasks))
	for i, t := range st.Tasks {
		tasks[i] = t.RunTask
	}
	contract := st.Contract
	contract.Status = ""
	text, err := json.Marshal([]any{st.ID, contract, st.Objective, st.Policy, tasks})
	if err != nil {
		return "", fmt.Errorf("digest of run %s: %w", st.ID, err)
	}
	sum := sha256.Sum256(append([]byte("run 1\x00"), text...))
	return "sha256:" + hex.EncodeToString(sum[:]), nil
}

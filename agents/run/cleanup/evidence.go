package cleanup

import (
	"encoding/json"
	"fmt"

	"aisync.dev/aisync/agents/run"
)

// cite collects the files that an event names as evidence.
func cite(cited map[string]bool, e run.Event) error {
	if e.Type != run.EvidenceAdded {
		return nil
	}
	var ev run.Evidence
	if err := json.Unmarshal(e.Data, &ev); err != nil {
		return fmt.Errorf("event %d: %w", e.Seq, err)
	}
	if ev.Ref != "" {
		cited[ev.Ref] = true
	}
	return nil
}

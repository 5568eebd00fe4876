package ensemble

import (
	"fmt"

	"aisync.dev/aisync/internal/secret"
)

// checkSecrets warns of a text that seems to hold a secret, before it is written;
// with --strict it returns an error. A text in a ledger stays in three places, and
// every agent can read it.
func (c *call) checkSecrets(text string) error {
	for _, m := range secret.Find(text) {
		if c.on["strict"] {
			return fmt.Errorf("the text seems to hold %s, which every agent could read in the ledger; nothing was written", m.Kind)
		}
		c.warn("the text seems to hold %s, which every agent can now read in the ledger: revoke that secret", m.Kind)
	}
	return nil
}

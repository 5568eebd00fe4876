package realcli

// With VersionsVariable, as "claude=2.1.332 pi=1.6.0", the tests run these versions
// of programs instead of the pins. With SeenVariable they write what they saw, a
// Seen as JSON, into that file, and compare nothing with the committed evidence.
const (
	VersionsVariable = "AISYNC_TEST_VERSIONS"
	SeenVariable     = "AISYNC_TEST_SEEN"
)

// Seen is what was seen of programs: by id, scope ("user" or "project") and part.
type Seen map[string]map[string]map[string]SeenPart

// SeenPart is Right if every test had the part right. Test is the first that had it
// wrong, else the last that had it right.
type SeenPart struct {
	Right bool   `json:"right"`
	Test  string `json:"test"`
}

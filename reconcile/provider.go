package reconcile

import (
	"context"
	"encoding/json"
	"errors"
	"sort"
	"strings"
	"time"

	"aisync.dev/aisync/reconcile/fsys"
)

// Provider knows one kind of resource. A new one gets every guarantee by
// passing package providertest.
//
// These four methods are all that a provider needs. What a kind has beyond
// them it says by implementing one of these as well; the engine asks for each
// by a type assertion, and no other list knows of it:
//
//	interface      the kind that needs it
//	[Relater]      right is more than equal: "any version", "at least"
//	[Confirmer]    looks closer before it takes over what is there already
//	[Foreteller]   knows before it writes what its Outcome will say
//	[Merger]       brings together edits of the user and of the spec
//	[Preflighter]  finds out before the first write what would fail
//	[Verifier]     re-reads every byte, for doctor --deep
//	[Attester]     git keeps it: reads its fingerprints out of the text at HEAD
//	[Locator]      knows the line of a difference, for drift
//	[Historian]    shows what became of what aisync made, for drift
//	[Permanent]    a rollback leaves it alone
//	[Placed]       its names are no paths, and it makes files in a folder
//	[Recallable]   its names are no paths, and an address is enough to look
//	[Sole]         only aisync makes such targets
//	[Tidier]       removes, once a target is gone, what it needed
//
// A [Body] may be [Sourced] as well.
type Provider interface {
	Kind() string
	// Observe examines many targets at once and returns one Observation for
	// each, in order. It never writes and never dials.
	Observe(ctx context.Context, r ReadEnv, batch []Target) []Observation
	// Explain shows a person what c does to owned leaves: a unified diff for
	// whole texts, one line for each leaf elsewhere. It may read again; it
	// shows no secret and nothing that aisync does not own. Several goroutines
	// call it.
	Explain(ctx context.Context, r ReadEnv, c Change) []Line
	// Apply makes c true. It may be killed anywhere and called again. It
	// returns ErrStale, without a change, if the target is no longer as
	// c.Before. The result holds only what the provider alone can know: see
	// Outcome. If c.Exact is not nil, Apply restores the target as a whole: to
	// the token *c.Exact (bytes from Backup), or to absence if that is "".
	Apply(ctx context.Context, c Change, w WriteEnv) (Outcome, error)
}

// Relater is a Provider for which being right is not equality of fingerprints
// ("any version", "at least").
type Relater interface {
	Satisfied(leaf Leaf, live Fingerprint) bool
}

// Confirmer is a Provider that must look closer before it adopts what is there,
// such as a file whose digest is not known yet. An error leaves it unrecorded.
type Confirmer interface {
	Confirm(ctx context.Context, r ReadEnv, c Change) (Outcome, error)
}

// Foreteller is a Provider that knows before it writes what its Outcome will
// say of private notes and merged values. That goes into the journal first, so
// that a kill right after the write loses nothing. A zero Outcome says nothing;
// what cannot be foretold fails in Apply.
type Foreteller interface {
	Foretell(ctx context.Context, r ReadEnv, c Change) Outcome
}

// Permanent is a Provider whose changes a rollback leaves alone.
type Permanent interface {
	NotUndone() string // why, for a person
}

// Merger is a Provider that can merge a leaf that both the user and the spec
// changed. clean is false if they changed the same lines; marked means that
// such lines can be left to the user, between conflict markers. Both are false
// if the common base is no longer known.
type Merger interface {
	CanMerge(ctx context.Context, r ReadEnv, c Change, leaf LeafChange) (clean, marked bool)
}

// Preflighter checks before the first write: disk space, writable folders. It
// collects all problems of all changes.
type Preflighter interface {
	Preflight(ctx context.Context, r ReadEnv, batch []Change) []Problem
}

// Verifier re-reads every byte, for doctor --deep.
type Verifier interface {
	Verify(ctx context.Context, r ReadEnv, t Target) error
}

// Placed is a Provider whose names are not paths, or whose files are too large
// to be read back after a kill, and which still makes files in a folder.
// Folders made for a target, this one and the missing ones above it, are
// removed with the target if they are empty then.
type Placed interface {
	Folder(t Target, home fsys.LogicalPath) fsys.LogicalPath // "" for none
}

// Tidier is a Provider that removes, once a target is gone, what others made
// for it and nothing else needs. It is called again after a kill, which may
// have come before.
type Tidier interface {
	Tidy(ctx context.Context, w WriteEnv, gone Address)
}

// Recallable is a Provider whose names are not paths, and whose targets can be
// observed by their address and their record. What a kill left of them is then
// known, and is ours.
type Recallable interface{ Recall() }

// Sole is a Provider of targets that only aisync makes: an existing one was
// made by aisync even without a record. It is removed when it is dropped, and
// nothing is restored in its place.
type Sole interface{ Sole() }

// Attester is a Provider that can tell the fingerprints in the text of a target
// at git's HEAD. Without it, nothing that only a lock claims is removed.
type Attester interface {
	// Attest returns the fingerprints of t's keys in text; a key that is not
	// in it is left out.
	Attest(t Target, text []byte) map[LeafKey]Fingerprint
}

// Locator is a Provider that knows where in a target a difference stands.
type Locator interface {
	// Where returns a place for each leaf of c that differs from its record, or
	// that stands in the way.
	Where(ctx context.Context, r ReadEnv, c Change) []Place
}

// Historian is a Provider that can show how a target changed since aisync made
// it: from the record (-) to what is there now (+). For any other, drift shows
// Explain's lines.
type Historian interface {
	Since(ctx context.Context, r ReadEnv, c Change) []Line
}

// Place is where an owned leaf stands in the target that is there now.
type Place struct {
	Key  LeafKey
	Line int    // from 1; 0 where the target is gone
	Text string // what is wrong there, for a person; no secret
}

// Problem is something wrong with one resource, for a person.
type Problem struct {
	Address Address
	Err     error
	Hint    string
}

// Target is a resource with its records. Resource.Leaves is empty if it is no
// longer wanted.
type Target struct {
	Resource Resource
	Aliases  []Address    // other addresses of the same place
	Last     []LeafRecord // of the plan's owners, and of others if wanted here too; one for each key, sorted by key
	Others   []LeafRecord // leaves of other owners only; the plan leaves them alone
	Inputs   Fingerprint  // as recorded
	Private  json.RawMessage
	Stray    bool // neither wanted nor recorded, in a folder of aisync's: examined as a whole

	asked map[Owner]Address // of a place with Aliases: the address by which each owner asks for it
}

// sortLeaves puts both lists of t in the order that Keys needs.
func sortLeaves(t Target) {
	sort.Slice(t.Resource.Leaves, func(i, j int) bool { return compareKeys(t.Resource.Leaves[i].Key, t.Resource.Leaves[j].Key) < 0 })
	sort.Slice(t.Last, func(i, j int) bool { return compareKeys(t.Last[i].Key, t.Last[j].Key) < 0 })
}

func compareKeys(a, b LeafKey) int { return strings.Compare(string(a), string(b)) }

// Keys returns every wanted or recorded key.
func (t Target) Keys() []LeafKey {
	if t.Stray {
		return []LeafKey{""}
	}
	keys := make([]LeafKey, 0, len(t.Resource.Leaves)+len(t.Last))
	i, j := 0, 0
	for i < len(t.Resource.Leaves) || j < len(t.Last) {
		switch {
		case j == len(t.Last) || i < len(t.Resource.Leaves) && t.Resource.Leaves[i].Key < t.Last[j].Key:
			keys = append(keys, t.Resource.Leaves[i].Key)
			i++
		case i == len(t.Resource.Leaves) || t.Last[j].Key < t.Resource.Leaves[i].Key:
			keys = append(keys, t.Last[j].Key)
			j++
		default:
			keys = append(keys, t.Last[j].Key)
			i, j = i+1, j+1
		}
	}
	return keys
}

// Presence is what Observe found in the place of a target.
type Presence int

const (
	Absent  Presence = iota
	Present          // of the right type
	Blocked          // something of another type is in the way
	Unknown          // cannot be observed
)

// Observation is the present state of a target.
type Observation struct {
	Presence Presence
	Reason   string                  // of Blocked, Unknown and ReadOnly: what is wrong and what to do, for a person; of Absent: why it is gone, if known
	ReadOnly bool                    // Present, but its owner removed the write permission
	Live     map[LeafKey]Fingerprint // of the requested keys; a missing key is absent
	Former   map[LeafKey]bool        // of unrecorded keys: an earlier version of what is wanted is there
	Copies   map[LeafKey]bool        // of wanted keys: made from a source elsewhere, which has or had that text
	Marked   map[LeafKey]bool        // of keys recorded with conflict markers: they are still there
	Token    Fingerprint             // of the whole target; Apply acts only while it holds. "" when absent
	Inputs   Fingerprint             // of its dependencies, if the provider knows any
	Fetch    int64                   // bytes to download
	Space    int64                   // bytes of the disk that the download still takes
}

// ReadEnv is everything that a command which only reads gets.
type ReadEnv struct {
	FS       fsys.Reader
	Home     fsys.LogicalPath
	Run      Runner                           // runs programs that only read; nil: none may run
	Contents func(Fingerprint) ([]byte, bool) // text that aisync last wrote, if still known
	Backup   func(BackupID) ([]byte, error)
	// Committed is the text of a project's file when its lock was last
	// committed; CRLF reports whether git writes the file here with \r\n. nil,
	// and false: unknown.
	Committed func(p fsys.LogicalPath) (text []byte, ok bool)
	CRLF      func(p fsys.LogicalPath) bool
	// Head is the text of a project's file, or the target of a link, at git's
	// HEAD. nil, and false: unknown.
	Head  func(p fsys.LogicalPath) (text []byte, ok bool)
	Clock func() time.Time
	Reach Reacher // of an apply that may dial: checks whether something could be fetched; nil: no check is allowed
}

// Reacher returns nil if one of the sources could serve an artifact now,
// otherwise the reason for each. It moves no content and writes nothing.
type Reacher func(ctx context.Context, name string, sources []string, size int64, sha256 string) error

// WriteEnv is everything that an apply gets.
type WriteEnv struct {
	ReadEnv
	FS       fsys.FS // shadows the reader: the same file system, writable
	Fetch    Fetcher
	Keep     func(old fsys.LogicalPath, token Fingerprint) error // takes a displaced entry into the backups
	Progress func(a Address, done, total int64)                  // bytes; safe for concurrent use
}

// Runner runs a program in dir and returns its standard output. A program that
// is missing gives an error that wraps exec.ErrNotFound.
type Runner interface {
	Run(ctx context.Context, dir string, argv ...string) ([]byte, error)
}

// Fetcher brings one artifact into the file part, resumably. When it returns
// nil, part holds exactly size bytes with that sha256; from is where the last of them
// came from, "" if all were there.
type Fetcher interface {
	Fetch(ctx context.Context, fs fsys.FS, name string, sources []string, size int64, sha256 string, part fsys.LogicalPath, progress func(done, total int64)) (from string, err error)
}

// Outcome is what only the provider knows after Apply.
type Outcome struct {
	Private     json.RawMessage             // for Record.Private
	LeafPrivate map[LeafKey]json.RawMessage // for LeafRecord.Private
	LeafLive    map[LeafKey]Fingerprint     // if it differs from the want (a merge)
	LeafMarked  map[LeafKey]bool            // a merge that left conflict markers
	Dirs        []fsys.LogicalPath          // folders that Apply made, top first
	Token       Fingerprint                 // of the target afterwards; "" if it is gone
	Content     []byte                      // whole text that was written, to be kept as a base for diffs; nil: none
}

// Line is one line of an explanation. Op is ' ', '+', '-', '@' or '~'.
type Line struct {
	Op   byte
	Text string
}

var (
	// ErrStale means that a target changed since the plan was made.
	ErrStale = errors.New("changed since the plan was made")
	// ErrOffline means that the network is required but must not be used.
	ErrOffline = errors.New("network required (offline)")
)

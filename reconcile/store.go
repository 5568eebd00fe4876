package reconcile

import (
	"fmt"
	"slices"
	"sort"
	"strings"
	"sync"

	"aisync.dev/aisync/reconcile/fsys"
	"aisync.dev/aisync/reconcile/journal"
	"aisync.dev/aisync/reconcile/state"
)

// RecordsVersion is the format of the record files that this version writes.
const RecordsVersion = 1

// Store is what aisync remembers on this machine: records by owner, the journal
// of an unfinished apply, backups. With UseLock the project's lock takes part.
// Reading it writes nothing.
type Store struct {
	r   fsys.Reader
	dir *state.Dir

	mu     sync.Mutex           // guards what reading adds: the next four, and err
	owners map[Owner]*ownerFile // owners whose records were read
	others *state.Index         // of the rest: what they share with others
	index  map[Address][]Record // nil: to be made again
	joined map[Address]bool     // in index together with others
	err    error                // why records could not be read after all

	lock      *Lock
	lockOwner Owner
	lockPath  fsys.LogicalPath
	inherited bool

	journal   *journal.Journal // of an unfinished apply; nil otherwise
	recovered bool             // by this command
	touched   map[Owner]bool   // owners whose files must be written
}

// UseLock makes l authoritative for what was last made true of owner's targets
// that git carries. What only this machine knows of them (a prior, private
// notes) is kept if it is about the same state; what only l says is Claimed. l
// is nil if no lock was found: then this machine's records count, and the next
// apply writes the lock at path.
func (s *Store) UseLock(owner Owner, path fsys.LogicalPath, l *Lock) {
	s.lock, s.lockOwner, s.lockPath, s.index = l, owner, path, nil
	if l == nil {
		s.lock = &Lock{}
		return
	}
	locked := l.Records(owner)
	s.inherited = s.file(owner) == nil && len(locked) > 0
	f := s.owner(owner)
	local := make(map[Address]*Record, len(f.Records))
	merged := make([]Record, 0, len(locked)+len(f.Records))
	for i := range f.Records {
		rec := &f.Records[i]
		local[rec.Address] = rec
		if rec.Local || !rec.Address.InProject() {
			merged = append(merged, *rec)
		}
	}
	for _, rec := range locked {
		for i := range rec.Leaves {
			rec.Leaves[i].Prior, rec.Leaves[i].Claimed = "", true
		}
		if mine := local[rec.Address]; mine != nil {
			if mine.Local {
				continue
			}
			rec.Inputs, rec.DependsOn, rec.Private = mine.Inputs, mine.DependsOn, mine.Private
			for i, leaf := range rec.Leaves {
				if m := mine.Leaf(leaf.Key); m != nil && m.Live == leaf.Live && m.Provenance == leaf.Provenance {
					rec.Leaves[i].Prior, rec.Leaves[i].Claimed = m.Prior, m.Claimed
				}
			}
		} else if rec.Leaves[0].Provenance == Created {
			// git made the folders here, as it made the file: they go when empty.
			f.Dirs = addNew(f.Dirs, parents(rec.Address.Path(""))...)
		}
		merged = append(merged, rec)
	}
	sort.Slice(merged, func(i, j int) bool { return merged[i].Address < merged[j].Address })
	f.Records = merged
}

// Inherited reports whether the project was applied before and this machine has
// no record of it: then what git does not carry has no record at all.
func (s *Store) Inherited() bool { return s.inherited }

// parents returns the folders above p within its project, top first.
func parents(p fsys.LogicalPath) []fsys.LogicalPath {
	var out []fsys.LogicalPath
	for d := p.Dir(); d.Project() && d != "."; d = d.Dir() {
		out = append(out, d)
	}
	slices.Reverse(out)
	return out
}

func addNew(list []fsys.LogicalPath, more ...fsys.LogicalPath) []fsys.LogicalPath {
	for _, d := range more {
		if !slices.Contains(list, d) {
			list = append(list, d)
		}
	}
	return list
}

// Made returns the folders that were made for o, here or on the machine of the
// lock.
func (s *Store) Made(o Owner) []fsys.LogicalPath {
	if f := s.file(o); f != nil {
		return f.Dirs
	}
	return nil
}

// Lock returns the lock in use, nil where there is none.
func (s *Store) Lock() *Lock { return s.lock }

// set replaces o's record of a; nil leaves none.
func (s *Store) set(o Owner, a Address, rec *Record) {
	f := s.owner(o)
	i, found := slices.BinarySearchFunc(f.Records, a, func(r Record, a Address) int { return strings.Compare(string(r.Address), string(a)) })
	switch {
	case found && rec == nil:
		f.Records = slices.Delete(f.Records, i, i+1)
	case found:
		f.Records[i] = *rec
	case rec != nil:
		f.Records = slices.Insert(f.Records, i, *rec)
	}
	s.index, s.touched[o] = nil, true
}

// contentDigest is the part of a fingerprint that is about bytes.
func contentDigest(f Fingerprint) string {
	digest, _, _ := strings.Cut(string(f), "+")
	return digest
}

// Backup returns kept bytes.
func (s *Store) Backup(id BackupID) ([]byte, error) {
	return s.dir.GetBackup(contentDigest(Fingerprint(id)))
}

// Agree records that a person agreed, on behalf of o, to digests. Earlier
// agreements stay: each is about bytes, and lasts while they do.
func (s *Store) Agree(w fsys.FS, o Owner, digests []string) error {
	f := s.owner(o)
	f.Agreed = slices.Compact(slices.Sorted(slices.Values(slices.Concat(f.Agreed, digests))))
	s.touched[o] = true
	return s.save(w)
}

// Withdraw ends the agreements of o to digests.
func (s *Store) Withdraw(w fsys.FS, o Owner, digests []string) error {
	f := s.owner(o)
	f.Agreed = slices.DeleteFunc(f.Agreed, func(d string) bool { return slices.Contains(digests, d) })
	s.touched[o] = true
	return s.save(w)
}

// Agreed reports whether a person agreed, on behalf of o, to digest.
func (s *Store) Agreed(o Owner, digest string) bool {
	f := s.file(o)
	if f == nil {
		return false
	}
	_, found := slices.BinarySearch(f.Agreed, digest)
	return found
}

// AgreedAny reports whether a person agreed to anything on behalf of o.
func (s *Store) AgreedAny(o Owner) bool {
	f := s.file(o)
	return f != nil && len(f.Agreed) > 0
}

// Unfinished reports whether an apply did not come to its end.
func (s *Store) Unfinished() bool { return s.journal != nil }

// TakingBack is the id of the apply that an unfinished rollback undoes; "" if
// none is unfinished.
func (s *Store) TakingBack() string {
	if s.journal == nil {
		return ""
	}
	return s.journal.Entry().RollbackOf
}

// lineage identifies a state folder.
type lineage struct {
	FormatVersion int    `json:"format_version"`
	ID            string `json:"id"`
}

// Lineage is the random id of this state folder, "" before the first apply.
func (s *Store) Lineage() string {
	var id lineage
	if _, err := state.ReadVersioned(s.r, s.dir.ID(), RecordsVersion, nil, &id); err != nil {
		return ""
	}
	return id.ID
}

func (s *Store) lockFile() string { return string(s.lockPath) }

// digests returns the digests of all recorded texts of o.
func (s *Store) digests(o Owner) map[string]bool {
	out := map[string]bool{}
	for _, rec := range s.Records(o) {
		for _, l := range rec.Leaves {
			out[contentDigest(l.Live)] = true
			out[contentDigest(l.Wanted())] = true // of a merge, the base of the next one
		}
	}
	return out
}

func (s *Store) addDirs(o Owner, dirs []fsys.LogicalPath) {
	f := s.owner(o)
	for _, d := range dirs {
		if !slices.Contains(f.Dirs, d) {
			f.Dirs = append(f.Dirs, d)
			s.touched[o] = true
		}
	}
}

// writeID gives the state folder its id, once.
func (s *Store) writeID(w fsys.FS, id string) error {
	if s.Lineage() != "" {
		return nil
	}
	err := state.WriteVersioned(w, s.dir.ID(), RecordsVersion, lineage{RecordsVersion, id})
	if err != nil {
		return fmt.Errorf("write state id: %w", err)
	}
	return nil
}

// Dir is the folder in which s lives.
func (s *Store) Dir() *state.Dir { return s.dir }

package reconcile

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"runtime"
	"slices"
	"sort"
	"strings"

	"golang.org/x/sync/errgroup"

	"aisync.dev/aisync/reconcile/fsys"
	"aisync.dev/aisync/reconcile/journal"
	"aisync.dev/aisync/reconcile/record"
	"aisync.dev/aisync/reconcile/state"
)

// ownerFile is all records of one owner.
type ownerFile struct {
	FormatVersion int                `json:"format_version"`
	Owner         Owner              `json:"owner"`
	Dirs          []fsys.LogicalPath `json:"dirs,omitempty"`   // folders that were made for it
	Agreed        []string           `json:"agreed,omitempty"` // digests of what a person agreed to, sorted
	Records       []Record           `json:"records"`

	stamp string // of the file before it was read, or after it was written; "" if there is none
}

// OpenStore opens the state in dir. A missing folder is an empty store. Record
// files that the index knows are read only on demand; the error is about the
// others.
func OpenStore(r fsys.Reader, dir fsys.LogicalPath) (*Store, error) {
	s := &Store{r: r, dir: state.Open(r, dir), owners: map[Owner]*ownerFile{}, touched: map[Owner]bool{}}
	entries, err := r.ReadDir(s.dir.Records())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read records: %w", err)
	}
	s.others = s.dir.ReadIndex()
	there := make(map[string]bool, len(entries))
	var stale []string
	for _, e := range entries {
		name := e.Name()
		if !strings.HasSuffix(name, ".json") || strings.HasPrefix(name, ".") {
			continue
		}
		there[name] = true
		if info, err := r.Lstat(s.dir.Records().Join(name)); err != nil || fsys.Stamp(info) != s.others.Stamp(name) {
			stale = append(stale, name)
		}
	}
	for _, name := range s.others.Names() {
		if !there[name] {
			s.others.Drop(name)
		}
	}
	if err := s.readFiles(stale); err != nil {
		return nil, err
	}
	if s.copied(stale) {
		if err := s.readFiles(s.others.Names()); err != nil {
			return nil, err
		}
	}
	s.journal, err = journal.Read(r, s.dir.Journal())
	return s, err
}

// copied reports whether a record file has another name than its owner's: a
// person copied it, and it counts only if there is no other.
func (s *Store) copied(names []string) bool {
	named := make(map[string]bool, len(s.owners))
	for o := range s.owners {
		named[s.recordsFile(o).Base()] = true
	}
	return slices.ContainsFunc(names, func(name string) bool { return !named[name] })
}

// readFiles reads record files in parallel.
func (s *Store) readFiles(names []string) error {
	files := make([]*ownerFile, len(names))
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i, name := range names {
		g.Go(func() (err error) {
			defer fsys.Caught(&err)
			at, f := s.dir.Records().Join(name), &ownerFile{}
			if info, err := s.r.Lstat(at); err == nil {
				f.stamp = fsys.Stamp(info)
			}
			if _, err := state.ReadVersioned(s.r, at, RecordsVersion, nil, f); err != nil {
				return fmt.Errorf("read records: %w", err)
			}
			for i := range f.Records {
				f.Records[i].Owner = f.Owner
			}
			files[i] = f
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	for i, f := range files {
		if old := s.owners[f.Owner]; old == nil || names[i] == s.recordsFile(f.Owner).Base() {
			s.owners[f.Owner] = f
		}
		s.others.Drop(names[i])
	}
	s.index = nil
	return nil
}

// file returns the records of o, nil if there are none. It reads the file now
// if the index stood in for it so far.
func (s *Store) file(o Owner) *ownerFile {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.read(o)
}

// read is file under the lock.
func (s *Store) read(o Owner) *ownerFile {
	if f := s.owners[o]; f != nil {
		return f
	}
	if name := s.recordsFile(o).Base(); s.others.Stamp(name) != "" {
		s.fail(s.readFiles([]string{name}))
	}
	return s.owners[o]
}

// owner is file, with a new one where nothing is recorded.
func (s *Store) owner(o Owner) *ownerFile {
	f := s.file(o)
	if f == nil {
		f = &ownerFile{Owner: o}
		s.owners[o] = f
	}
	return f
}

// everything reads what was not read yet.
func (s *Store) everything() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if names := s.others.Names(); len(names) > 0 {
		s.fail(s.readFiles(names))
	}
	return s.err
}

// fail remembers that records could not be read: without them nothing is
// planned or written.
func (s *Store) fail(err error) {
	if s.err == nil {
		s.err = err
	}
}

// failed returns why records could not be read.
func (s *Store) failed() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// Owners reads everything and returns who has a record, sorted.
func (s *Store) Owners() ([]Owner, error) {
	err := s.everything()
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Owner
	for o, f := range s.owners {
		if len(f.Records) > 0 {
			out = append(out, o)
		}
	}
	slices.Sort(out)
	return out, err
}

// Records returns the records of o, sorted by address.
func (s *Store) Records(o Owner) []Record {
	if f := s.file(o); f != nil {
		return f.Records
	}
	return nil
}

// OfKinds returns all owners' records of kinds whose targets lie outside
// projects, sorted by owner and address.
func (s *Store) OfKinds(kinds ...string) ([]Record, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	addresses := map[Address]bool{}
	for _, f := range s.owners {
		for _, rec := range f.Records {
			addresses[rec.Address] = slices.Contains(kinds, rec.Address.Kind())
		}
	}
	for _, kind := range kinds {
		for _, key := range s.others.Keys(kind + ":") {
			addresses[Address(key)] = true
		}
	}
	var out []Record
	for a, of := range addresses {
		if of {
			out = append(out, s.on(a)...)
		}
	}
	sort.Slice(out, func(i, j int) bool {
		if out[i].Owner != out[j].Owner {
			return out[i].Owner < out[j].Owner
		}
		return out[i].Address < out[j].Address
	})
	return out, s.err
}

// On returns every owner's record of a. A path of a project belongs to that
// project only: two projects may use the same path.
func (s *Store) On(a Address) []Record {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.on(a)
}

func (s *Store) on(a Address) []Record {
	inProject := ofProject(a)
	if inProject && s.lockOwner != "" {
		s.read(s.lockOwner)
	}
	if s.index == nil {
		n := 0
		for _, f := range s.owners {
			n += len(f.Records)
		}
		s.index, s.joined = make(map[Address][]Record, n), map[Address]bool{}
		for o, f := range s.owners {
			for _, rec := range f.Records {
				if !ofProject(rec.Address) || o == s.lockOwner {
					s.index[rec.Address] = append(s.index[rec.Address], rec)
				}
			}
		}
		for _, recs := range s.index {
			sortByOwner(recs)
		}
	}
	if !s.joined[a] && !inProject {
		for _, value := range s.others.Values(string(a)) {
			var r record.Owned
			if json.Unmarshal(value, &r) != nil { // another version made it: the files count
				if s.fail(s.readFiles(s.others.Names())); s.err != nil {
					return nil
				}
				return s.on(a)
			}
			r.Record.Owner = r.Owner
			s.index[a] = append(s.index[a], r.Record)
		}
		sortByOwner(s.index[a])
		s.joined[a] = true
	}
	return s.index[a]
}

func sortByOwner(records []Record) {
	sort.Slice(records, func(i, j int) bool { return records[i].Owner < records[j].Owner })
}

// save writes the records of changed owners. A new file appears at once or not
// at all.
func (s *Store) save(w fsys.FS) error {
	if s.err != nil {
		return s.err
	}
	for _, o := range slices.Sorted(maps.Keys(s.touched)) {
		f := s.owner(o)
		f.FormatVersion = RecordsVersion
		if err := state.WriteVersioned(w, s.recordsFile(o), RecordsVersion, f); err != nil {
			return fmt.Errorf("write records of %s: %w", o, err)
		}
		info, err := w.Lstat(s.recordsFile(o))
		if err != nil {
			return fmt.Errorf("write records of %s: %w", o, err)
		}
		f.stamp = fsys.Stamp(info)
		delete(s.touched, o)
	}
	return s.saveIndex(w)
}

// saveIndex writes the part of the records that other owners read.
func (s *Store) saveIndex(w fsys.FS) error {
	fresh := map[string]state.Indexed{}
	for o, f := range s.owners {
		if f.stamp == "" {
			continue // not on disk
		}
		x := state.Indexed{Stamp: f.stamp}
		for _, rec := range f.Records {
			if ofProject(rec.Address) {
				continue
			}
			if err := x.Add(string(rec.Address), record.Owned{Owner: o, Record: rec}); err != nil {
				return fmt.Errorf("index records: %w", err)
			}
		}
		fresh[s.recordsFile(o).Base()] = x
	}
	return s.dir.WriteIndex(w, s.others, fresh)
}

// ofProject reports whether a names something in its owner's project, which no
// other owner shares.
func ofProject(a Address) bool { return a.InProject() || ofProjectItself(a) }

// ofProjectItself reports whether a is about its project though its name is no
// path.
func ofProjectItself(a Address) bool { return a.Kind() == "gitconfig" }

func (s *Store) recordsFile(o Owner) fsys.LogicalPath {
	return s.dir.Records().Join(fileName(o) + ".json")
}

// fileName is a file name for o that is valid everywhere.
func fileName(o Owner) string {
	if o == HostOwner {
		return "host"
	}
	sum := sha256.Sum256([]byte(o))
	return "project-" + hex.EncodeToString(sum[:8])
}

// Contents returns the text that aisync last wrote with that fingerprint, if it
// is still known. Owners whose records were read are asked first.
func (s *Store) Contents(f Fingerprint) ([]byte, bool) {
	s.mu.Lock()
	names := make([]string, 0, len(s.owners))
	for o := range s.owners {
		names = append(names, fileName(o))
	}
	for _, name := range s.others.Names() {
		names = append(names, strings.TrimSuffix(name, ".json"))
	}
	s.mu.Unlock()
	for _, name := range names {
		if b, ok := s.dir.ReadContent(name, contentDigest(f)); ok {
			return b, true
		}
	}
	return nil, false
}

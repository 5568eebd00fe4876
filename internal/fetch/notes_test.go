package fetch

import (
	"os"
	"testing"
)

// A loss of power may take any of the unsynced writes, and none of the synced
// ones: the bytes of a note that is wrong now are fetched again, and no others.
func TestANoteCountsAsFarAsThePartHoldsIt(t *testing.T) {
	const length = 8 << 20
	data := noise(2*length + 1000)
	for name, c := range map[string]struct {
		lose func(t *testing.T, part, notes *os.File)
		want []int64 // bytes of the three chunks
	}{
		"a kill":                      {func(*testing.T, *os.File, *os.File) {}, []int64{6 << 20, 4 << 20, 1000}},
		"the last write of a chunk":   {func(t *testing.T, part, _ *os.File) { zero(t, part, 5<<20) }, []int64{3 << 20, 4 << 20, 1000}},
		"a write before others":       {func(t *testing.T, part, _ *os.File) { zero(t, part, 2<<20) }, []int64{1 << 20, 4 << 20, 1000}},
		"all of a chunk":              {func(t *testing.T, part, _ *os.File) { zero(t, part, length+1<<20) }, []int64{6 << 20, 0, 1000}},
		"the end of the part":         {func(t *testing.T, part, _ *os.File) { must(t, part.Truncate(2*length+10)) }, []int64{6 << 20, 4 << 20, 0}},
		"the end of the last note":    {func(t *testing.T, _, notes *os.File) { must(t, notes.Truncate(noteSize*4-1)) }, []int64{3 << 20, 4 << 20, 1000}},
		"the second note, and others": {func(t *testing.T, _, notes *os.File) { zero(t, notes, noteSize+3) }, []int64{3 << 20, 0, 0}},
		"all notes":                   {func(t *testing.T, _, notes *os.File) { must(t, notes.Truncate(0)) }, []int64{1 << 20, 0, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store, physical := disk(t, nil)
			file, err := store.OpenPart(part)
			must(t, err)
			defer file.Close()
			was := newChunks(file, int64(len(data)), length)
			log := notes{store: store, path: notesPath(part)}
			land := func(k int, n int64) {
				from := was.start(k) + was.have[k].n
				must(t, was.land(k, data[from:from+n]))
			}
			land(0, 1<<20)
			var r record
			was.snapshot(&r) // what is synced
			for _, step := range []struct {
				k int
				n int64
			}{{0, 2 << 20}, {1, 4 << 20}, {2, 1000}, {0, 1 << 20}, {0, 2 << 20}} {
				land(step.k, step.n)
				if o, due := was.noted(step.k); due {
					must(t, log.add(o))
				}
			}
			c.lose(t, file, log.file)
			log.close()

			text, err := os.ReadFile(physical + ".journal.notes")
			must(t, err)
			now := newChunks(file, int64(len(data)), length)
			if !now.restore(r) {
				t.Fatal("the record is not believed")
			}
			_, err = now.recheck(t.Context(), 0, 3)
			must(t, err)
			now.extend(decodeNotes(text))
			present := int64(0)
			for k, want := range c.want {
				if got := now.have[k].n; got != want {
					t.Errorf("chunk %d has %d bytes, want %d", k, got, want)
				}
				present += want
			}
			if now.present != present {
				t.Errorf("%d bytes in all, want %d", now.present, present)
			}
			if !now.holds(0, make([]byte, bufferSize)) {
				t.Error("chunk 0 is not what it says")
			}
			if name == "a kill" && r.present()+r.more(decodeNotes(text)) != present {
				t.Errorf("the notes name %d bytes beyond the record's %d", r.more(decodeNotes(text)), r.present())
			}
		})
	}
}

// zero overwrites one byte, as if its write had been lost.
func zero(t *testing.T, f *os.File, at int64) {
	t.Helper()
	b := make([]byte, 1)
	_, err := f.ReadAt(b, at)
	must(t, err)
	_, err = f.WriteAt([]byte{^b[0]}, at)
	must(t, err)
}

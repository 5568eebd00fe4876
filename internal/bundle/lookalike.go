package bundle

import "path"

// Lookalikes returns what the source has, and in earlier versions had, under the
// name of a file that was perhaps made from it: at is "rules/NAME.md" for a rule,
// else the file's path. now may hold several files, such as rules of two
// languages; past is newest first, and includes what is committed now. A file
// that cannot be read is left out.
func (t *Tree) Lookalikes(at string) (now []File, past [][]byte) {
	files, _ := t.Files() // declaring the bundles reports the error
	for _, f := range files {
		if path.Base(f.Src) == path.Base(at) && alike(f.Src, at) {
			now = append(now, f)
		}
	}
	return now, t.versions.past(at)
}

// Read returns the present bytes of one of t's files.
func (t *Tree) Read(f File) ([]byte, error) {
	if f.Text != nil {
		return f.Text, nil
	}
	text, _, err := t.readInto(f.Src, nil)
	return text, err
}

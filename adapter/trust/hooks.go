package trust

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"unicode"

	"aisync.dev/aisync/providers/file"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/schema/spec"
)

// CodexHooks is the form of a spec.Trust whose records hold the digest of each hook
// of a file: by the file's path, the event and the hook's place in it. Seen with
// Codex 0.169.0, whose app-server gives key and digest in its answer to hooks/list.
const CodexHooks = "codex-hooks"

// Hooks returns row for the hooks that a program runs from the file at address, whose
// absolute path is abs, with those that the records of t do not allow; none: no row.
func Hooks(r reconcile.ReadEnv, p *reconcile.Plan, t spec.Trust, address reconcile.Address, abs string, row Row) []Row {
	doc, err := after(r, p, address)
	if err != nil {
		row.State, row.Reason = Unknown, err.Error()
		return []Row{row}
	}
	digests, err := hookDigests(doc, abs)
	if err != nil {
		row.State, row.Reason = Unknown, fmt.Sprintf("%s: %v", address.Name(), err)
		return []Row{row}
	}
	row.Names = nil
	for _, key := range slices.Sorted(maps.Keys(digests)) {
		one := Row{State: NotTrusted}
		if out := one.unless(r, p, t, words{"{name}": key, "{sha256}": digests[key]}); len(out) > 0 {
			event, _, _ := strings.Cut(strings.TrimPrefix(key, abs+":"), ":")
			row.Names = append(row.Names, event)
			row.State, row.Reason = out[0].State, out[0].Reason
		}
	}
	if len(row.Names) == 0 {
		return nil
	}
	row.Names = slices.Compact(row.Names)
	return []Row{row}
}

// after is what a file holds after p; nothing where there is none.
func after(r reconcile.ReadEnv, p *reconcile.Plan, a reconcile.Address) ([]byte, error) {
	for _, c := range p.Changes {
		if c.Target.Resource.Address == a {
			doc, _, _, err := file.After(r, c)
			return doc, err
		}
	}
	doc, err := r.FS.ReadFile(a.Path(r.Home))
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return doc, err
}

// hookDigests returns the digest of each hook of a file of hooks, by the program's
// key for it.
func hookDigests(doc []byte, abs string) (map[string]string, error) {
	var list struct {
		Hooks map[string][]struct {
			Matcher *string
			Hooks   []json.RawMessage
		}
	}
	if len(doc) == 0 {
		return nil, nil
	}
	if err := json.Unmarshal(doc, &list); err != nil {
		return nil, err
	}
	out := map[string]string{}
	for event, groups := range list.Hooks {
		name := snake(event)
		for i, g := range groups {
			for j, raw := range g.Hooks {
				hook := map[string]any{"async": false, "timeout": 600}
				if err := json.Unmarshal(raw, &hook); err != nil {
					return nil, err
				}
				one := map[string]any{"event_name": name, "hooks": []any{hook}}
				if g.Matcher != nil {
					one["matcher"] = *g.Matcher
				}
				var b bytes.Buffer
				enc := json.NewEncoder(&b)
				enc.SetEscapeHTML(false)
				if err := enc.Encode(one); err != nil {
					return nil, err
				}
				sum := sha256.Sum256(bytes.TrimSuffix(b.Bytes(), []byte("\n")))
				out[fmt.Sprintf("%s:%s:%d:%d", abs, name, i, j)] = "sha256:" + hex.EncodeToString(sum[:])
			}
		}
	}
	return out, nil
}

// snake is PreToolUse as pre_tool_use.
func snake(event string) string {
	var b strings.Builder
	for i, c := range event {
		if unicode.IsUpper(c) && i > 0 {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(c))
	}
	return b.String()
}

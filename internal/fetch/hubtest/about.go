package hubtest

import (
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// about describes a repository, as /api/models/{repo}/revision/{rev} and each
// element of a search do.
func (h *Hub) about(name, commit string, files []File) map[string]any {
	h.mu.Lock()
	defer h.mu.Unlock()
	r := h.repos[name]
	gated := any(false)
	if r.token != "" || r.terms {
		gated = "auto"
	}
	siblings := []any{}
	for _, f := range files {
		siblings = append(siblings, map[string]any{"rfilename": f.Path})
	}
	return map[string]any{
		"id": name, "sha": commit, "gated": gated, "downloads": len(files) * 1000,
		"tags": []string{"gguf", "license:apache-2.0", "region:us"}, "siblings": siblings,
	}
}

// search serves /api/models: repositories whose names hold all words, those with
// the most files first.
func (h *Hub) search(w http.ResponseWriter, r *http.Request) {
	if f := h.strike(func(f Fault) bool { return f.APIStatus != 0 }); f.APIStatus != 0 {
		http.Error(w, "no", f.APIStatus)
		return
	}
	query := r.URL.Query()
	limit, err := strconv.Atoi(query.Get("limit"))
	if err != nil {
		limit = 1000
	}
	h.mu.Lock()
	all := slices.Sorted(maps.Keys(h.repos))
	heads := map[string][]File{}
	for _, name := range all {
		heads[name] = h.repos[name].commits[h.repos[name].head]
	}
	h.mu.Unlock()
	slices.SortStableFunc(all, func(a, b string) int { return len(heads[b]) - len(heads[a]) })
	found := []any{}
	for _, name := range all {
		holds := true
		for word := range strings.FieldsSeq(strings.ToLower(query.Get("search"))) {
			holds = holds && strings.Contains(strings.ToLower(name), word)
		}
		if holds && len(found) < limit {
			found = append(found, h.about(name, "", heads[name]))
		}
	}
	answer(w, found)
}

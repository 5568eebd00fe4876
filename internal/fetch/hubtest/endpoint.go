package hubtest

import (
	"crypto/sha1"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// endpoint serves /{repo}/resolve/{rev}/{path} and /api/models/{repo}/….
func (h *Hub) endpoint(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/api/models" && !h.NoAPI {
		h.search(w, r)
		return
	}
	rest := strings.TrimPrefix(r.URL.EscapedPath(), "/")
	rest, api := strings.CutPrefix(rest, "api/models/")
	parts := strings.SplitN(rest, "/", 5)
	if len(parts) < 4 || api && h.NoAPI {
		http.NotFound(w, r)
		return
	}
	name, verb := parts[0]+"/"+parts[1], parts[2]
	rev, err := url.PathUnescape(parts[3])
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	h.mu.Lock()
	to, moved := h.renamed[name]
	h.mu.Unlock()
	if moved {
		at := strings.Replace(r.URL.RequestURI(), name, to, 1)
		w.Header().Set("Location", at)
		w.WriteHeader(http.StatusTemporaryRedirect)
		return
	}
	commit, files, ok := h.open(w, r, name, rev)
	if !ok {
		return
	}
	w.Header().Set("X-Repo-Commit", commit)
	switch {
	case api && verb == "revision":
		answer(w, h.about(name, commit, files))
	case api && verb == "tree":
		h.list(w, r, files)
	case !api && verb == "resolve" && len(parts) == 5:
		path, _ := url.PathUnescape(parts[4])
		h.resolve(w, r, path, files)
	default:
		http.NotFound(w, r)
	}
}

// open finds a revision, or answers with an error. Listings of a repository
// with terms are public, as on the real hub; those of a private one are not.
func (h *Hub) open(w http.ResponseWriter, r *http.Request, name, rev string) (string, []File, bool) {
	commit, files, code, why := h.find(r, name, rev)
	if why == "" {
		return commit, files, true
	}
	w.Header().Set("X-Error-Code", why)
	http.Error(w, why, code)
	return "", nil, false
}

// find finds a revision, or returns the reason.
func (h *Hub) find(r *http.Request, name, rev string) (commit string, files []File, code int, why string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	repo := h.repos[name]
	switch {
	case repo == nil:
		return "", nil, http.StatusUnauthorized, "RepoNotFound" // so as not to reveal whether it is private
	case repo.token != "" && r.Header.Get("Authorization") != "Bearer "+repo.token:
		return "", nil, http.StatusUnauthorized, "GatedRepo"
	case repo.terms && !strings.HasPrefix(r.URL.Path, "/api/"):
		return "", nil, http.StatusForbidden, "GatedRepo"
	}
	if rev == "main" {
		rev = repo.head
	} else if commit, ok := repo.refs[rev]; ok {
		rev = commit
	}
	files, ok := repo.commits[rev]
	if !ok {
		return "", nil, http.StatusNotFound, "RevisionNotFound"
	}
	return rev, files, 0, ""
}

// resolve answers as https://huggingface.co does: content is on another host.
func (h *Hub) resolve(w http.ResponseWriter, r *http.Request, path string, files []File) {
	i := slices.IndexFunc(files, func(f File) bool { return f.Path == path })
	if i < 0 {
		w.Header().Set("X-Error-Code", "EntryNotFound")
		http.Error(w, "EntryNotFound", http.StatusNotFound)
		return
	}
	f := files[i]
	fault := h.strike(func(f Fault) bool { return f.ResolveStatus != 0 || f.ChangedEtag })
	if fault.ResolveStatus != 0 {
		http.Error(w, "no", fault.ResolveStatus)
		return
	}
	if f.Plain {
		w.Header().Set("ETag", strconv.Quote(blobID(f)))
		h.serve(w, r, f)
		return
	}
	sum, size := f.SHA256, f.Size
	if fault.ChangedEtag {
		sum, size = strings.Repeat("c", 64), size+1
	}
	w.Header().Set("X-Linked-Etag", strconv.Quote(sum))
	w.Header().Set("X-Linked-Size", strconv.FormatInt(size, 10))
	if h.Direct {
		w.Header().Set("ETag", strconv.Quote(sum))
		h.serve(w, r, f)
		return
	}
	w.Header().Set("X-Xet-Hash", sum)
	w.Header().Set("ETag", `"`+sum[:32]+`"`) // of the redirect, not of the content
	w.Header().Set("Location", h.CDN+"/blob/"+f.SHA256+"?X-Amz-Expires=3600&X-Amz-Signature="+h.sign())
	w.WriteHeader(http.StatusFound)
	fmt.Fprintln(w, "Found. Redirecting")
}

// sign issues one more address.
func (h *Hub) sign() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	sum := sha1.Sum(fmt.Append(nil, len(h.requests), len(h.signed)))
	s := hex.EncodeToString(sum[:])
	h.signed[s] = 0
	h.secrets = append(h.secrets, s)
	return s
}

// list answers one page, with the next one in Link.
func (h *Hub) list(w http.ResponseWriter, r *http.Request, files []File) {
	if f := h.strike(func(f Fault) bool { return f.APIStatus != 0 }); f.APIStatus != 0 {
		http.Error(w, "no", f.APIStatus)
		return
	}
	rows := []map[string]any{}
	folders := map[string]bool{}
	for _, f := range files {
		if dir, _, ok := strings.Cut(f.Path, "/"); ok {
			folders[dir] = true
		}
		row := map[string]any{"type": "file", "path": f.Path, "size": f.Size, "oid": blobID(f)}
		if !f.Plain {
			oid := f.SHA256
			if h.PrefixOID {
				oid = "sha256:" + oid
			}
			row["lfs"] = map[string]any{"oid": oid, "size": f.Size, "pointerSize": 135}
			row["xetHash"] = f.SHA256
		}
		rows = append(rows, row)
	}
	for _, dir := range slices.Sorted(maps.Keys(folders)) {
		rows = append(rows, map[string]any{"type": "directory", "path": dir, "size": 0, "oid": blobID(File{Path: dir})})
	}
	size := h.PageSize
	if size == 0 {
		size = 1000
	}
	from, _ := strconv.Atoi(r.URL.Query().Get("cursor"))
	from = min(max(from, 0), len(rows))
	to := min(from+size, len(rows))
	if to < len(rows) {
		// The link names the real hub, as mirrors leave it.
		w.Header().Set("Link", fmt.Sprintf(`<https://huggingface.co%s?recursive=true&cursor=%d>; rel="next"`, r.URL.Path, to))
	}
	answer(w, rows[from:to])
}

func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	json.NewEncoder(w).Encode(v)
}

// blobID stands for git's id of a file: 40 hex digits.
func blobID(f File) string {
	sum := sha1.Sum([]byte(f.Path + f.SHA256))
	return hex.EncodeToString(sum[:])
}

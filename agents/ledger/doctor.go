package ledger

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"aisync.dev/aisync/agents/overlap"
	"aisync.dev/aisync/internal/unixpath"
)

// Check is one finding of Doctor. Names and order are the original's.
type Check struct {
	Name    string `json:"name"`
	Status  string `json:"status"` // pass, info, warn, fail
	Message string `json:"message"`
	Details any    `json:"details,omitempty"`
}

// Health is the result of Doctor. It is OK where no check failed.
type Health struct {
	Root    string  `json:"root"`
	OK      bool    `json:"ok"`
	Summary Counts  `json:"summary"`
	Checks  []Check `json:"checks"`
}

// Counts is the number of checks by status.
type Counts struct {
	Pass int `json:"pass"`
	Info int `json:"info"`
	Warn int `json:"warn"`
	Fail int `json:"fail"`
}

// badLine is a line of the audit trail that is not a record.
type badLine struct {
	Line  int    `json:"line"`
	Error string `json:"error"`
}

// Doctor checks the whole ledger and changes nothing.
func (l *Ledger) Doctor() (Health, error) {
	h := Health{Root: l.Root}
	h.add("root", true, "fail", "ledger at "+l.path(), "")
	for _, f := range []string{configFile, boardFile, claimsFile, auditFile} {
		info, err := os.Lstat(l.path(f))
		switch {
		case err != nil:
			h.add("file:"+f, false, "fail", "", f+" is missing; run: ensemble init")
		case !info.Mode().IsRegular():
			h.add("file:"+f, false, "fail", "", f+" is not a regular file")
		default:
			h.add("file:"+f, true, "fail", f+" is there", "")
		}
	}
	config, err := l.Config()
	h.add("protocol-version", err == nil && config["version"] == strconv.Itoa(Version), "warn", "version 1", fmt.Sprintf("version %s; this program supports version %d", cmp.Or(config["version"], "missing"), Version))
	future, err := l.auditCheck(&h)
	if err != nil {
		h.add("audit-jsonl", false, "fail", "", err.Error())
	}
	l.agentCheck(&h)
	l.claimCheck(&h)
	nested := l.nested()
	h.add("nested-ledgers", len(nested) == 0, "warn", "no ledger below this one", fmt.Sprintf("%d below this one: each command uses the nearest", len(nested)))
	h.detail(nested)
	if future != "" {
		h.add("clock", false, "warn", "", "an event is in the future: "+future+"; a writer's clock is wrong")
	}
	if unread := l.agreement(&h); unread != nil {
		h.add("audit-agrees", false, "fail", "", unread.Error())
	}
	h.OK = h.Summary.Fail == 0
	if err != nil {
		return h, nil // an audit trail that is no file takes no record of this
	}
	return h, l.audit("doctor", pair{"ok", h.OK})
}

func (h *Health) add(name string, ok bool, otherwise, good, badly string) {
	c := Check{Name: name, Status: "pass", Message: good}
	if !ok {
		c.Status, c.Message = otherwise, badly
	}
	switch c.Status {
	case "pass":
		h.Summary.Pass++
	case "info":
		h.Summary.Info++
	case "warn":
		h.Summary.Warn++
	case "fail":
		h.Summary.Fail++
	}
	h.Checks = append(h.Checks, c)
}

// detail adds details to the last check.
func (h *Health) detail(list []string) {
	if len(list) > 0 {
		h.Checks[len(h.Checks)-1].Details = list
	}
}

// auditCheck looks for lines that are not records, and for times in the future.
func (l *Ledger) auditCheck(h *Health) (future string, err error) {
	var bad []badLine
	n := 0
	horizon := stampOf(l.now().Add(skew))
	for e, err := range l.Events() {
		switch {
		case err != nil:
			return "", err
		case e.Malformed == nil:
			if later(e.TS, horizon) {
				future = e.TS
			}
			continue
		}
		if n++; len(bad) < 5 {
			bad = append(bad, badLine{e.Line, e.Malformed.Error()})
		}
	}
	h.add("audit-jsonl", n == 0, "warn", "every line is a record", fmt.Sprintf("%d lines are not records and are skipped", n))
	if n > 0 {
		h.Checks[len(h.Checks)-1].Details = bad
	}
	return future, nil
}

func (l *Ledger) agentCheck(h *Health) {
	agents, odd, err := l.Agents()
	message := fmt.Sprintf("invalid names: %s", strings.Join(odd, ", "))
	if err != nil {
		message = err.Error()
	}
	var broken, unread, retained []string
	for _, a := range agents {
		s, err := l.statusOf(a, readings{}.known)
		if err == nil && s.Problem != "" {
			err = errors.New(s.Problem)
		}
		if err != nil {
			broken = append(broken, err.Error())
			continue
		}
		if s.Unread > 0 {
			unread = append(unread, fmt.Sprintf("%s: %d", a, s.Unread))
		}
		if s.Stale > 0 {
			retained = append(retained, fmt.Sprintf("%s: %d", a, s.Stale))
		}
	}
	if len(broken) > 0 {
		message = strings.Join(append(odd, broken...), "; ")
	}
	h.add("agents", err == nil && len(odd) == 0 && len(broken) == 0, "fail", fmt.Sprintf("%d agents", len(agents)), message)
	h.add("inbox-unread", len(unread) == 0, "info", "nothing unread", "unread: "+strings.Join(unread, ", "))
	h.add("inbox-retained", len(retained) == 0, "info", "nothing read and kept", "read and kept: "+strings.Join(retained, ", "))
}

func (l *Ledger) claimCheck(h *Health) {
	claims, err := l.Claims()
	if err != nil {
		h.add("claims", false, "fail", "", err.Error())
		return
	}
	var odd []string
	at := pathCache{}
	for i, c := range claims {
		if checkAgent(c.Agent) != nil {
			odd = append(odd, fmt.Sprintf("%s: invalid agent %q", c.Path, c.Agent))
		}
		if c.State == Stale || c.State == Ended {
			odd = append(odd, fmt.Sprintf("%s (%s) is %s: %s", c.Path, c.Agent, c.State, c.Why))
		}
		if _, err := os.Lstat(c.Path); errors.Is(err, fs.ErrNotExist) && !overlap.IsPattern(c.Path) {
			odd = append(odd, c.Path+": does not exist")
		}
		for _, o := range at.overlaps(claims[:i], c.Agent, c.Path) {
			odd = append(odd, fmt.Sprintf("%s (%s) overlaps %s (%s)", c.Path, c.Agent, o.Path, o.Agent))
		}
	}
	h.add("claims", len(odd) == 0, "warn", fmt.Sprintf("%d claims", len(claims)), fmt.Sprintf("%d of %d claims need attention", len(odd), len(claims)))
	h.detail(odd)
}

// agreement compares the files with the audit trail, except for lines that are
// not records, which have their own check.
func (l *Ledger) agreement(h *Health) error {
	found, err := l.Verify()
	if err != nil {
		return err
	}
	var list []string
	for _, d := range found {
		if d.Kind != "audit" {
			list = append(list, d.Kind+" "+d.Subject+": "+d.Problem)
		}
	}
	h.add("audit-agrees", len(list) == 0, "warn", "the files agree with the audit trail", fmt.Sprintf("%d differences between the files and the audit trail; run: ensemble verify", len(list)))
	h.detail(list)
	return nil
}

// nested lists the ledgers up to four folders below the root.
func (l *Ledger) nested() []string {
	var out []string
	root := unixpath.Clean(l.Root)
	_ = unixpath.WalkDir(root, func(path string, d fs.DirEntry, err error) error { // an unreadable folder holds no ledger of ours
		if err != nil {
			return fs.SkipDir
		}
		if !d.IsDir() || path == root {
			return nil
		}
		if d.Name() == Dir {
			if unixpath.Dir(path) != root {
				out = append(out, path)
			}
			return fs.SkipDir
		}
		if slices.Contains([]string{".git", "node_modules", ".cache", "dist", "build"}, d.Name()) ||
			strings.Count(strings.TrimPrefix(path, root), "/") >= 4 {
			return fs.SkipDir
		}
		return nil
	})
	return out
}

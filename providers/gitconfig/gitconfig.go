// Package gitconfig is the provider of single values in a project's git
// configuration, such as core.hooksPath. It reads and writes through git, never
// touches what a person set for all repositories, and replaces another writer's
// value only with --force. Start reading at read.
package gitconfig

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"

	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/provide"
)

// Value is the single value of a key.
func Value(v string) reconcile.Body { return body(v) }

type body string

func (b body) Fingerprint() reconcile.Fingerprint { return token(string(b)) }
func (b body) Redacted() json.RawMessage {
	v, _ := json.Marshal(string(b)) // a string: cannot fail
	return v
}

// prefix starts a token. The rest of the token is the value, so that the record
// alone tells a prior value.
const prefix = "value:"

func token(value string) reconcile.Fingerprint { return reconcile.Fingerprint(prefix + value) }

func valueOf(t string) (string, bool) { return strings.CutPrefix(t, prefix) }

// Provider keeps values in the project's git configuration. It has no state.
type Provider struct{}

var _ reconcile.Historian = Provider{}

// Kind implements reconcile.Provider.
func (Provider) Kind() string { return "gitconfig" }

// Observe implements reconcile.Provider with one run of git. Without git or a
// repository the value is Unknown: gitconfig is declared only for a project
// that has one.
func (Provider) Observe(ctx context.Context, r reconcile.ReadEnv, batch []reconcile.Target) []reconcile.Observation {
	out := make([]reconcile.Observation, len(batch))
	config, err := read(ctx, r)
	for i, t := range batch {
		if err != nil {
			out[i] = reconcile.Observation{Presence: reconcile.Unknown, Reason: err.Error()}
			continue
		}
		out[i] = config.observe(t.Resource.Address.Name())
	}
	return out
}

func (c config) observe(key string) reconcile.Observation {
	for _, scope := range []string{worktree, local} {
		if values := c.values(scope, key); len(values) > 1 {
			return reconcile.Observation{Presence: reconcile.Blocked, Reason: fmt.Sprintf("git has %d values of %s (%s); keep one: git config --%s --unset %s VALUE", len(values), key, strings.Join(values, ", "), scope, key)}
		}
	}
	value, _, ok := c.ours(key)
	if !ok {
		return reconcile.Observation{}
	}
	return reconcile.Observation{Presence: reconcile.Present, Token: token(value), Live: map[reconcile.LeafKey]reconcile.Fingerprint{"": token(value)}}
}

// Explain implements reconcile.Provider. It also names a value for all
// repositories that no longer counts here.
func (Provider) Explain(ctx context.Context, r reconcile.ReadEnv, c reconcile.Change) []reconcile.Line {
	config, err := read(ctx, r)
	if err != nil {
		return nil
	}
	key := c.Target.Resource.Address.Name()
	is, _, there := config.ours(key)
	want, wanted, err := target(c)
	if err != nil {
		return nil
	}
	var lines []reconcile.Line
	if there && !(wanted && is == want) {
		lines = append(lines, reconcile.Line{Op: '-', Text: key + " = " + is})
	}
	if wanted && !(there && is == want) {
		lines = append(lines, reconcile.Line{Op: '+', Text: key + " = " + want})
	}
	if general, scope, ok := config.outside(key); ok && wanted && !there && !filepath.IsAbs(want) { // an absolute core.hooksPath is a chain that ends there too
		lines = append(lines, reconcile.Line{Op: ' ', Text: fmt.Sprintf("the %s value %s no longer counts in this project", scope, general)})
	}
	return lines
}

// Since implements reconcile.Historian.
func (Provider) Since(ctx context.Context, r reconcile.ReadEnv, c reconcile.Change) []reconcile.Line {
	config, err := read(ctx, r)
	if err != nil || len(c.Leaves) == 0 || c.Leaves[0].Last == nil {
		return nil
	}
	key := c.Target.Resource.Address.Name()
	var lines []reconcile.Line
	if was, ok := valueOf(string(c.Leaves[0].Last.Live)); ok {
		lines = append(lines, reconcile.Line{Op: '-', Text: key + " = " + was})
	}
	if is, _, ok := config.ours(key); ok {
		lines = append(lines, reconcile.Line{Op: '+', Text: key + " = " + is})
	}
	return lines
}

// target is the value after c; ok is false if there must be none.
func target(c reconcile.Change) (value string, ok bool, err error) {
	want, prior, err := provide.Wanted(c)
	if want == nil {
		value, ok = valueOf(string(prior))
		return value, ok, err
	}
	if value, ok = valueOf(string(want.Fingerprint())); !ok {
		return "", false, fmt.Errorf("%s wants a %T, not a value", c.Target.Resource.Address, want)
	}
	return value, true, nil
}

// Apply implements reconcile.Provider. git writes its file as a whole or not at
// all.
func (Provider) Apply(ctx context.Context, c reconcile.Change, w reconcile.WriteEnv) (reconcile.Outcome, error) {
	key := c.Target.Resource.Address.Name()
	config, err := read(ctx, w.ReadEnv)
	if err != nil {
		return reconcile.Outcome{}, err
	}
	want, wanted, err := target(c)
	if err != nil {
		return reconcile.Outcome{}, err
	}
	out := reconcile.Outcome{}
	if wanted {
		out.Token = token(want)
	}
	now := config.observe(key)
	switch {
	case now.Presence == reconcile.Blocked:
		return reconcile.Outcome{}, fmt.Errorf("%w; %s", reconcile.ErrStale, now.Reason)
	case now.Token == out.Token:
		return out, nil
	case now.Token != c.Before.Token:
		return reconcile.Outcome{}, fmt.Errorf("git config %s %w; run the command again", key, reconcile.ErrStale)
	}
	is, scope, there := config.ours(key)
	switch {
	case wanted:
		scope = config.scope()
		args := []string{key, want}
		if len(config.values(scope, key)) > 0 {
			args = []string{"--replace-all", key, want, exactly(is)}
		}
		err = config.write(ctx, scope, args...)
	case there:
		err = config.write(ctx, scope, "--unset", key, exactly(is))
	}
	if err != nil {
		return reconcile.Outcome{}, err
	}
	return out, nil
}

// exactly is git's pattern for one value: a value that another program set in
// the meantime does not match and stays.
func exactly(value string) string {
	var b strings.Builder
	b.WriteByte('^')
	for _, r := range value {
		if strings.ContainsRune(`\.+*?()|[]{}^$`, r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	b.WriteByte('$')
	return b.String()
}

// message is git's error message, or err's own if git printed none.
func message(err error) string {
	var exit *exec.ExitError
	if errors.As(err, &exit) && len(exit.Stderr) > 0 {
		return strings.TrimPrefix(strings.TrimSpace(string(exit.Stderr)), "fatal: ")
	}
	return err.Error()
}

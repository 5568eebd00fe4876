// Package environ holds an explicit environment, so that only commands read the
// process's environment. Call New.
package environ

import "strings"

// Env is an environment by variable.
type Env map[string]string

// New parses pairs as in os.Environ. The last value of a name counts.
func New(pairs []string) Env {
	e := make(Env, len(pairs))
	for _, kv := range pairs {
		k, v, _ := strings.Cut(kv, "=")
		e[k] = v
	}
	return e
}

// Get returns the value of name, "" if it is unset.
func (e Env) Get(name string) string { return e[name] }

// List returns the pairs in the form of os.Environ, in no order.
func (e Env) List() []string {
	out := make([]string, 0, len(e))
	for k, v := range e {
		out = append(out, k+"="+v)
	}
	return out
}

// On reports whether a switch is set to anything but 0, false or no.
func (e Env) On(name string) bool {
	switch strings.ToLower(e[name]) {
	case "", "0", "false", "no":
		return false
	}
	return true
}

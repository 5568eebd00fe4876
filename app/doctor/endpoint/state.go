package endpoint

import (
	"context"
	"errors"
	"net"
	"net/url"
	"time"
)

// State says whether a server can be asked.
type State int

const (
	Answering State = iota
	Reading         // it loads its model
	Silent          // nothing answers, or no server of models does
)

// LookLimit bounds a look at a server or a host.
const LookLimit = 2 * time.Second

// State asks for the models of e, for LookLimit at most. A server that refuses the
// question answers: it may want a key.
func (e Endpoint) State(ctx context.Context) State {
	ctx, cancel := context.WithTimeout(ctx, LookLimit)
	defer cancel()
	_, err := e.Models(ctx)
	var refused Status
	switch {
	case Loading(err):
		return Reading
	case err == nil, errors.As(err, &refused) && refused.Code < 500:
		return Answering
	}
	return Silent
}

// Reachable reports whether one of hosts, NAME or NAME:PORT (443), takes a
// connection within LookLimit. proxy is the URL of the proxy through which a program
// goes there, which then stands for all of them; "": none.
func Reachable(ctx context.Context, hosts []string, proxy string) bool {
	if u, err := url.Parse(proxy); err == nil && u.Host != "" {
		hosts = []string{u.Host}
		if u.Port() == "" {
			hosts = []string{net.JoinHostPort(u.Hostname(), map[string]string{"http": "80", "https": "443"}[u.Scheme])}
		}
	}
	ctx, cancel := context.WithTimeout(ctx, LookLimit)
	defer cancel()
	taken := make(chan bool, len(hosts))
	for _, host := range hosts {
		if _, _, err := net.SplitHostPort(host); err != nil {
			host = net.JoinHostPort(host, "443")
		}
		go func() {
			c, err := new(net.Dialer).DialContext(ctx, "tcp", host)
			if err == nil {
				c.Close()
			}
			taken <- err == nil
		}()
	}
	for range hosts {
		if <-taken {
			return true
		}
	}
	return false
}

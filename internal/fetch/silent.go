package fetch

import (
	"net/url"
	"slices"
	"sync"
	"time"
)

// silentFor is how long a mirror that did not answer is tried last.
const silentFor = 5 * time.Minute

// silent remembers mirrors that did not answer, so that one wait serves many files.
// The zero value is empty. It is safe for concurrent use.
type silent struct {
	now   func() time.Time
	hosts sync.Map // when, by host
}

func (s *silent) add(source string) { s.hosts.Store(hostOf(source), s.now()) }

// last returns the sources of a, those of silent mirrors behind all others.
func (s *silent) last(a Artifact) []string {
	var answering, others []string
	for _, source := range a.Sources {
		since, ok := s.hosts.Load(hostOf(source))
		if ok && slices.Contains(a.Mirrors, source) && s.now().Sub(since.(time.Time)) < silentFor {
			others = append(others, source)
		} else {
			answering = append(answering, source)
		}
	}
	return append(answering, others...)
}

func hostOf(source string) string {
	u, err := url.Parse(source)
	if err != nil {
		return source
	}
	return u.Host
}

package fetch

import (
	"sync"
	"time"
)

// meter passes progress on, not too often, and one call at a time.
type meter struct {
	now   func() time.Time
	show  func(done, total int64)
	total int64

	mu   sync.Mutex
	last time.Time
}

func (m *meter) at(done int64) {
	if m.show == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if now := m.now(); now.Sub(m.last) >= 100*time.Millisecond {
		m.last = now
		m.show(done, m.total)
	}
}

func (m *meter) end(done int64) {
	if m.show != nil {
		m.show(done, m.total)
	}
}

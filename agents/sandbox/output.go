package sandbox

import (
	"fmt"
	"io"
	"strings"
	"sync"
)

// kept keeps the beginning and the end of a stream, half of limit each, and
// counts the bytes between.
type kept struct {
	head, tail []byte
	limit      int
	left       int64
}

func (k *kept) Write(b []byte) (int, error) {
	n := len(b)
	if room := k.limit/2 - len(k.head); room > 0 {
		take := min(room, len(b))
		k.head = append(k.head, b[:take]...)
		b = b[take:]
	}
	half := k.limit - k.limit/2
	if len(b) > half {
		k.left += int64(len(k.tail) + len(b) - half)
		k.tail = append(k.tail[:0], b[len(b)-half:]...)
		return n, nil
	}
	if over := len(k.tail) + len(b) - half; over > 0 {
		k.left += int64(over)
		k.tail = append(k.tail[:0], k.tail[over:]...)
	}
	k.tail = append(k.tail, b...)
	return n, nil
}

func (k *kept) String() string {
	middle := ""
	if k.left > 0 {
		middle = fmt.Sprintf("\n… %d bytes left out …\n", k.left)
	}
	return strings.ToValidUTF8(string(k.head)+middle+string(k.tail), "\uFFFD")
}

// log writes to a log up to a limit. It never fails: a broken log does not end
// its command.
type log struct {
	mu   sync.Mutex
	to   io.Writer
	room int64
	left int64
}

func (l *log) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	take := min(int64(len(b)), l.room)
	if take > 0 && l.to != nil {
		_, _ = l.to.Write(b[:take])
	}
	l.room -= take
	l.left += int64(len(b)) - take
	return len(b), nil
}

func (l *log) close() {
	if l.left > 0 && l.to != nil {
		_, _ = fmt.Fprintf(l.to, "\n… %d bytes left out …\n", l.left)
	}
}

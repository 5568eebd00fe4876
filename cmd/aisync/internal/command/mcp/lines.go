package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxMessage bounds one message, in bytes: the text of one message of the ledger may
// have 4 MiB, and JSON may write it twice as long.
const maxMessage = 16 << 20

// lines is the connection with the program: one JSON-RPC message a line. The SDK's
// own ends at the first line that is no message.
type lines struct {
	in  io.Reader
	out io.Writer
	say func(error)

	writing  sync.Mutex
	closing  sync.Once
	closed   chan struct{}
	received chan jsonrpc.Message
	over     error          // once received is closed
	open     sync.WaitGroup // requests without an answer
}

// Connect implements mcp.Transport.
func (l *lines) Connect(context.Context) (mcp.Connection, error) {
	l.closed, l.received = make(chan struct{}), make(chan jsonrpc.Message)
	go l.receive()
	return l, nil
}

// receive hands on what the program sends until its end. It does not end with Close
// where a read of stdin cannot be ended; the process does.
func (l *lines) receive() {
	defer close(l.received)
	r := bufio.NewReaderSize(l.in, 64<<10)
	for {
		line, err := l.line(r)
		if m := l.message(line); m != nil {
			if r, ok := m.(*jsonrpc.Request); ok && r.IsCall() {
				l.open.Add(1)
			}
			select {
			case l.received <- m:
			case <-l.closed:
				l.over = io.EOF
				return
			}
		}
		if err != nil {
			l.over = err
			l.finish()
			return
		}
	}
}

// farewell bounds the wait for answers at the end of stdin.
const farewell = 5 * time.Second

// finish waits until what was asked before the end of stdin is answered: the SDK
// drops it once it hears of the end.
func (l *lines) finish() {
	answered := make(chan struct{})
	go func() {
		l.open.Wait()
		close(answered)
	}()
	select {
	case <-answered:
	case <-l.closed:
	case <-time.After(farewell):
	}
}

// line reads a line. It refuses one that is too long, and returns none then.
func (l *lines) line(r *bufio.Reader) (line []byte, err error) {
	size, head := 0, []byte(nil)
	for {
		part, err := r.ReadSlice('\n')
		if size += len(part); size <= maxMessage {
			line = append(line, part...)
		} else if head == nil {
			head, line = bytes.Clone(line[:min(len(line), 256)]), bytes.Clone(part)
		} else {
			line = append(line[:0], line[max(0, len(line)-256):]...)
			line = append(line, part...)
		}
		if err == bufio.ErrBufferFull {
			continue
		}
		if head != nil {
			l.refuse(longID(head, line), jsonrpc.CodeInvalidRequest, fmt.Errorf("a message has %d bytes, and %d at most are read; put the text into a file of the project and send its name", size, maxMessage))
			line = nil
		}
		return line, err
	}
}

// The id of a message whose middle was not kept: programs write it first, behind the
// version, or last.
const (
	idFirst = `^\s*\{\s*"jsonrpc"\s*:\s*"2\.0"\s*,\s*"id"\s*:\s*("[^"\\]+"|[0-9]+)\s*,`
	idLast  = `,\s*"id"\s*:\s*("[^"\\]+"|[0-9]+)\s*\}\s*$`
)

func longID(head, tail []byte) json.RawMessage {
	if m := regexp.MustCompile(idFirst).FindSubmatch(head); m != nil {
		return m[1]
	}
	if m := regexp.MustCompile(idLast).FindSubmatch(tail); m != nil {
		return m[1]
	}
	return nil
}

// message returns the message of a line; nil if it has none. What is no message is
// refused, and the next one counts.
func (l *lines) message(line []byte) jsonrpc.Message {
	line = bytes.TrimSpace(line)
	if len(line) == 0 {
		return nil
	}
	m, err := jsonrpc.DecodeMessage(line)
	if err == nil {
		return m
	}
	var asked struct {
		ID     json.RawMessage
		Method string
	}
	if json.Unmarshal(line, &asked) != nil || asked.Method == "" {
		asked.ID = nil
	}
	l.refuse(asked.ID, jsonrpc.CodeInvalidRequest, fmt.Errorf("a line on stdin is no JSON-RPC 2.0 message: %w", err))
	return nil
}

// refuse answers a request that is not read, where its id is known: without an
// answer its program would wait.
func (l *lines) refuse(id json.RawMessage, code int, why error) {
	l.say(why)
	var v any
	if json.Unmarshal(id, &v) != nil || v == nil {
		return
	}
	to, err := jsonrpc.MakeID(v)
	if err != nil {
		return
	}
	l.open.Add(1)
	if err := l.Write(context.Background(), &jsonrpc.Response{ID: to, Error: &jsonrpc.Error{Code: int64(code), Message: why.Error()}}); err != nil {
		l.say(err)
	}
}

// Read implements mcp.Connection.
func (l *lines) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case m, ok := <-l.received:
		if !ok {
			return nil, l.over
		}
		return m, nil
	case <-l.closed:
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Write implements mcp.Connection.
func (l *lines) Write(_ context.Context, m jsonrpc.Message) error {
	text, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return err
	}
	if bytes.ContainsRune(text, '\n') {
		return errors.New("a message has a line end")
	}
	l.writing.Lock()
	defer l.writing.Unlock()
	_, err = l.out.Write(append(text, '\n'))
	if _, ok := m.(*jsonrpc.Response); ok {
		l.open.Done()
	}
	return err
}

// Close implements mcp.Connection.
func (l *lines) Close() error {
	l.closing.Do(func() { close(l.closed) })
	return nil
}

// SessionID implements mcp.Connection.
func (l *lines) SessionID() string { return "" }

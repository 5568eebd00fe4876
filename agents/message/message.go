// Package message carries messages between agents as org files in
// inbox/from-agents of the receiving project. It starts only the ssh that a
// mailbox is configured for, and writes to the people's inbox only what it is told to.
// Call Deliver, Copy and Inbox.
package message

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"aisync.dev/aisync/agents/identity"
	"aisync.dev/aisync/agents/project"
	"aisync.dev/aisync/agents/session"
	"aisync.dev/aisync/internal/atomicfile"
	"aisync.dev/aisync/internal/termtext"
)

// Address is the sender or receiver of a message: machine.project[.agent-id].
type Address struct{ Machine, Project, Agent string }

// generated matches the part of a generated agent id that follows machine and
// project.
var generated = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[a-z0-9_-]+\.([0-9a-f]{4}|[0-9a-f]{8})$`)
})

// Parse reads an address. Agent ids contain dots, so only the first two separate
// its parts: pearl.org-drill.claude.a83f is the agent of that whole name,
// because generated ids begin with machine and project. After machine.project
// there may also be another id: a helper's, or one that a person chose.
func Parse(text string) (Address, error) {
	text = strings.TrimSpace(text)
	parts := strings.SplitN(text, ".", 3)
	if len(parts) < 2 || slices.Contains(parts, "") {
		return Address{}, fmt.Errorf("invalid address %q: want machine.project or machine.project.agent-id", text)
	}
	a := Address{Machine: parts[0], Project: parts[1]}
	for _, part := range parts[:2] {
		if !identity.Valid(part) {
			return Address{}, fmt.Errorf("invalid address %q: %q is not a valid machine or project name", text, part)
		}
	}
	if len(parts) == 3 {
		a.Agent = parts[2]
		if generated().MatchString(a.Agent) {
			a.Agent = text
		}
		if err := identity.Check(a.Agent); err != nil {
			return Address{}, fmt.Errorf("address %q: %w", text, err)
		}
	}
	return a, nil
}

// String returns the form that Parse reads.
func (a Address) String() string {
	base := a.Machine + "." + a.Project
	rest, whole := strings.CutPrefix(a.Agent, base+".")
	switch {
	case a.Agent == "":
		return base
	case whole && identity.Check(rest) == nil && !strings.HasPrefix(rest, base+"."): // otherwise Parse would read a different address
		return a.Agent
	}
	return base + "." + a.Agent
}

// For reports whether a message to a is for the agent with this id; "" is the
// primary, who gets the messages addressed to no agent.
func (a Address) For(id string) bool {
	return a.Agent == "" || id != "" && (a.Agent == id || a.Agent == identity.FileName(id) || a.Machine+"."+a.Project+"."+a.Agent == id)
}

// Message is one message. Its file omits empty fields.
type Message struct {
	From, To                     Address
	SenderRuntime, TargetRuntime string
	Model                        string
	Subject, Body                string
	Sent                         time.Time
}

// Received is a message in an inbox.
type Received struct {
	Message
	File string // the file's name in inbox/from-agents
	Mine bool   // addressed to all, or to the reading agent
}

// text returns the content of the message's file.
func (m Message) text() string {
	var b strings.Builder
	for _, line := range [][2]string{
		{"TITLE", cmp.Or(m.Subject, "Message from "+m.From.String())}, {"FROM", m.From.String()}, {"TO", m.To.String()},
		{"DATE", m.Sent.Format("2006-01-02T15:04:05-07:00")},
		{"SENDER_AGENT_ID", m.From.Agent}, {"SENDER_RUNTIME", m.SenderRuntime},
		{"TARGET_AGENT_ID", m.To.Agent}, {"TARGET_RUNTIME", m.TargetRuntime}, {"MODEL", m.Model},
	} {
		if line[1] != "" {
			fmt.Fprintf(&b, "#+%s: %s\n", line[0], termtext.OneLine(line[1]))
		}
	}
	fmt.Fprintf(&b, "\n%s\n", strings.Trim(m.Body, "\r\n"))
	return b.String()
}

// Name returns the message's file name without .org: the time to the minute, the
// sender, and a few words of the subject.
func (m Message) Name() string {
	from := cmp.Or(m.From.Agent, m.From.Machine+"."+m.From.Project)
	name := m.Sent.Format("2006-01-02-1504") + "-from-" + identity.FileName(from)
	if slug := session.Slug(cmp.Or(m.Subject, m.Body)); slug != "" {
		name += "-" + slug
	}
	return name
}

// Check returns what is wrong with a message, or nil.
func (m Message) Check() error {
	if strings.TrimSpace(m.Body) == "" {
		return errors.New("message text required")
	}
	return nil
}

// Deliver writes m to the inbox of the project at root and returns the file. It
// replaces nothing: a taken name gets a number. A reader sees the whole message
// or none. It refuses an inbox that links out of the project.
func Deliver(root string, m Message) (string, error) { return DeliverTo(root, project.FromAgents, m) }

// DeliverTo is Deliver to another folder of the project: project.Inbox is where
// people look.
func DeliverTo(root, box string, m Message) (string, error) {
	if err := m.Check(); err != nil {
		return "", err
	}
	dir, err := folder(root, box)
	if err != nil {
		return "", err
	}
	return createFile(dir, m.Name(), ".org", m.text())
}

// Copy writes the bytes of a file to such a folder as they are, under a message's
// name with the file's extension, and returns the copy. The words of the name are
// those of the subject, else of the file's name.
func Copy(root, box string, m Message, file string, text []byte) (string, error) {
	base, ext := filepath.Base(file), filepath.Ext(file)
	if ext == base || ext != "" && "."+identity.Sanitize(ext[1:], "") != strings.ToLower(ext) {
		ext = "" // .bashrc has none
	}
	m.Subject = cmp.Or(m.Subject, strings.TrimSuffix(base, ext))
	m.Body = ""
	dir, err := folder(root, box)
	if err != nil {
		return "", err
	}
	return createFile(dir, m.Name(), ext, string(text))
}

// folder creates a folder for messages of a project where it is missing.
func folder(root, box string) (string, error) {
	dir := filepath.Join(root, box)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("make the inbox: %w", err)
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", fmt.Errorf("inbox: %w", err)
	}
	if !project.Holds(root, real) {
		return "", fmt.Errorf("%s links out of the project, to %s: nothing was delivered", dir, real)
	}
	return dir, nil
}

// createFile writes text to a new file in dir, called name and ext, or with a
// number between them.
func createFile(dir, name, ext, text string) (string, error) {
	temp, err := atomicfile.New(dir, atomicfile.Options{Mode: 0o644, Temp: ".message-*"})
	if err != nil {
		return "", fmt.Errorf("write a message: %w", err)
	}
	defer temp.Discard()
	if _, err := io.WriteString(temp, text); err != nil {
		return "", fmt.Errorf("write a message: %w", err)
	}
	for n := 1; ; n++ {
		file := name + ext
		if n > 1 {
			file = fmt.Sprintf("%s-%d%s", name, n, ext)
		}
		switch err := temp.Create(file); {
		case err == nil:
			return filepath.Join(dir, file), nil
		case !errors.Is(err, fs.ErrExist):
			return "", fmt.Errorf("deliver to %s: %w", dir, err)
		}
	}
}

// Inbox lists the messages of the project at root by name, without those for
// other agents unless all is set. agent is the reader; "" is the primary, who
// sees messages to the project and to no agent. A file that Copy wrote has no
// header, and is for all.
func Inbox(root, agent string, all bool) ([]Received, error) {
	dir := filepath.Join(root, project.FromAgents)
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the inbox: %w", err)
	}
	var out []Received
	for _, e := range entries {
		if !e.Type().IsRegular() || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		r, err := read(filepath.Join(dir, e.Name()), false)
		if errors.Is(err, fs.ErrNotExist) {
			continue // another process took it meanwhile
		}
		if err != nil {
			return nil, err
		}
		r.Mine = r.To.For(agent)
		if r.Mine || all {
			out = append(out, r)
		}
	}
	return out, nil
}

// ErrNotMine reports a message for another agent.
var ErrNotMine = errors.New("addressed to another agent")

// Read returns one message of the project at root by its file name. For another
// agent's message it returns ErrNotMine unless takeOver is set.
func Read(root, agent, name string, takeOver bool) (Received, error) {
	if name == "" || name != filepath.Base(name) || strings.HasPrefix(name, ".") {
		return Received{}, fmt.Errorf("invalid message name %q; see: aisync message inbox", name)
	}
	r, err := read(filepath.Join(root, project.FromAgents, name), true)
	if errors.Is(err, fs.ErrNotExist) && !strings.HasSuffix(name, ".org") {
		name += ".org"
		r, err = read(filepath.Join(root, project.FromAgents, name), true)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return r, fmt.Errorf("unknown message %s; see: aisync message inbox", name)
	}
	if err != nil {
		return r, err
	}
	if r.Mine = r.To.For(agent); !r.Mine && !takeOver {
		return Received{}, fmt.Errorf("%s: %w: %s; to read it anyway, add --take-over", name, ErrNotMine, r.To.Agent)
	}
	return r, nil
}

// maxMessage bounds how much of a message is read.
const maxMessage = 4 << 20

func read(path string, body bool) (Received, error) {
	info, err := os.Lstat(path)
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a file", path)
	}
	if err != nil {
		return Received{}, err
	}
	f, err := os.Open(path)
	if err != nil {
		return Received{}, err
	}
	defer f.Close()
	r := Received{File: filepath.Base(path)}
	in := bufio.NewReader(io.LimitReader(f, maxMessage))
	for strings.HasSuffix(r.File, ".org") {
		line, err := in.ReadString('\n')
		key, value, ok := strings.Cut(strings.TrimPrefix(line, "#+"), ":")
		if !ok || !strings.HasPrefix(line, "#+") {
			r.Body = line
			break
		}
		r.set(strings.ToUpper(key), strings.TrimSpace(value))
		if err != nil {
			break
		}
	}
	if body {
		rest, err := io.ReadAll(in)
		if err != nil {
			return r, fmt.Errorf("read %s: %w", path, err)
		}
		r.Body = strings.Trim(r.Body+string(rest), "\r\n")
	}
	return r, nil
}

// set stores one line of the header. It ignores an invalid address: older
// senders wrote none.
func (r *Received) set(key, value string) {
	switch key {
	case "TITLE":
		r.Subject = value
	case "FROM":
		r.From, _ = Parse(value)
	case "TO":
		if a, err := Parse(value); err == nil {
			r.To.Machine, r.To.Project = a.Machine, a.Project
			r.To.Agent = cmp.Or(r.To.Agent, a.Agent)
		}
	case "DATE":
		r.Sent, _ = time.Parse("2006-01-02T15:04:05-07:00", value)
	case "SENDER_AGENT_ID":
		r.From.Agent = value
	case "TARGET_AGENT_ID":
		r.To.Agent = value
	case "SENDER_RUNTIME":
		r.SenderRuntime = value
	case "TARGET_RUNTIME":
		r.TargetRuntime = value
	case "MODEL":
		r.Model = value
	}
}

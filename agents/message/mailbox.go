package message

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"aisync.dev/aisync/agents/identity"
	"aisync.dev/aisync/agents/project"
	"aisync.dev/aisync/internal/filelock"
	"aisync.dev/aisync/internal/shellquote"
	"aisync.dev/aisync/internal/termtext"
)

// Mailbox is a folder that carries messages to and from other machines:
// BOX/machine/project/NAME.org. It is a folder that another program syncs, or a
// folder of another machine, reached over ssh.
type Mailbox struct {
	Dir              string // absolute; on Host where that is set, else on this machine
	Host, User, Port string // with Host: over ssh
}

// ParseMailbox parses an absolute path, ~/PATH below home, or
// ssh://[user@]host[:port]/path, whose /~/path is below that machine's home.
func ParseMailbox(place, home string) (Mailbox, error) {
	if rest, ok := strings.CutPrefix(place, "~/"); ok {
		return Mailbox{Dir: filepath.Join(home, rest)}, nil
	}
	if filepath.IsAbs(place) {
		return Mailbox{Dir: filepath.Clean(place)}, nil
	}
	u, err := url.Parse(place)
	if err != nil || u.Scheme != "ssh" || u.Hostname() == "" || strings.HasPrefix(u.Hostname(), "-") || strings.HasPrefix(u.User.Username(), "-") || len(u.Path) < 2 || u.RawQuery != "" || u.Fragment != "" {
		return Mailbox{}, fmt.Errorf("mailbox %q: want ~/PATH, /PATH or ssh://[user@]host[:port]/PATH", place)
	}
	dir := u.Path
	if rest, ok := strings.CutPrefix(dir, "/~/"); ok {
		dir = rest // ssh starts in the home
	}
	return Mailbox{Dir: dir, Host: u.Hostname(), User: u.User.Username(), Port: u.Port()}, nil
}

// Remote reports whether the mailbox needs a network.
func (b Mailbox) Remote() bool { return b.Host != "" }

// Post puts m into the mailbox and returns where: a path, or host:path. Like
// Deliver it replaces nothing, and a reader never sees half a message.
func (b Mailbox) Post(ctx context.Context, m Message) (string, error) {
	if err := m.Check(); err != nil {
		return "", err
	}
	if b.Remote() {
		return b.postOverSSH(ctx, m)
	}
	if _, err := os.Stat(b.Dir); err != nil {
		return "", fmt.Errorf("mailbox of %s: %w; does the program that syncs it run?", m.To.Machine, err)
	}
	dir := filepath.Join(b.Dir, m.To.Machine, m.To.Project)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("mailbox of %s: %w", m.To.Machine, err)
	}
	return createFile(dir, m.Name(), ".org", m.text())
}

// remote writes its input to "$1" under the name "$2", or "$2" and a number, and
// prints the name. It runs in any POSIX shell.
const remote = `umask 022 && mkdir -p -- "$1" && cd -- "$1" || exit 1
t=.message-$$.$(date +%s); trap 'rm -f "$t"' EXIT
cat >"$t" || exit 1
n=$2.org; i=1
while [ "$i" -lt 1000 ]; do
  ln "$t" "$n" 2>/dev/null && { printf '%s\n' "$n"; exit 0; }
  [ -e "$n" ] || exit 1
  i=$((i+1)); n=$2-$i.org
done
exit 1`

// The time limits for reaching a machine, and for delivering a message.
const (
	sshConnect     = 10 * time.Second
	connectTimeout = time.Minute
)

func (b Mailbox) postOverSSH(ctx context.Context, m Message) (string, error) {
	ctx, stop := context.WithTimeout(ctx, connectTimeout)
	defer stop()
	args := []string{"-o", "BatchMode=yes", "-o", fmt.Sprintf("ConnectTimeout=%d", int(sshConnect.Seconds()))}
	if b.Port != "" {
		args = append(args, "-p", b.Port)
	}
	to := b.Host
	if b.User != "" {
		to = b.User + "@" + to
	}
	dir := b.Dir + "/" + m.To.Machine + "/" + m.To.Project
	args = append(args, "--", to, "sh -c "+shellquote.Quote(remote)+" sh "+shellquote.Quote(dir)+" "+shellquote.Quote(m.Name()))
	cmd := exec.CommandContext(ctx, "ssh", args...)
	cmd.Stdin = strings.NewReader(m.text())
	cmd.WaitDelay = time.Second
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		why := termtext.OneLine(said.String())
		if why != "" {
			why = ": " + why
		}
		return "", fmt.Errorf("mailbox of %s, ssh to %s: %w%s", m.To.Machine, to, err, why)
	}
	return to + ":" + dir + "/" + strings.TrimSpace(out.String()), nil
}

// Collect moves the messages for the project at root, addressed to this machine
// name, from the mailbox into the project's inbox, and returns the files. A
// crash may leave a message in both; none is lost.
func (b Mailbox) Collect(machine, root string) ([]string, error) {
	if b.Remote() {
		return nil, errors.New("this machine's mailbox is on another machine; name a local folder")
	}
	dir := filepath.Join(b.Dir, machine, identity.Sanitize(project.Name(root), "project"))
	box, err := os.Open(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("mailbox of %s: %w", machine, err)
	}
	defer box.Close()
	// One process collects at a time; where the disk has no locks, two may
	// deliver a message twice.
	if err := filelock.Wait(context.Background(), box, filelock.Exclusive); err != nil && !errors.Is(err, unix.ENOTSUP) && !errors.Is(err, unix.ENOSYS) {
		return nil, fmt.Errorf("mailbox of %s: %w", machine, err)
	}
	entries, err := box.ReadDir(-1)
	if err != nil {
		return nil, fmt.Errorf("mailbox of %s: %w", machine, err)
	}
	var got []string
	for _, e := range entries {
		name, isOrg := strings.CutSuffix(e.Name(), ".org")
		if !isOrg || strings.HasPrefix(name, ".") || !e.Type().IsRegular() {
			continue // a file that the sync program is still writing, or keeps for itself
		}
		from := filepath.Join(dir, e.Name())
		text, err := os.ReadFile(from)
		if errors.Is(err, fs.ErrNotExist) {
			continue // another process collects
		}
		if err != nil {
			return got, fmt.Errorf("mailbox of %s: %w", machine, err)
		}
		to, err := folder(root, project.FromAgents)
		if err != nil {
			return got, err
		}
		there, err := os.ReadFile(filepath.Join(to, e.Name()))
		if err != nil || !bytes.Equal(there, text) { // otherwise a crash happened between the two steps
			file, err := createFile(to, name, ".org", string(text))
			if err != nil {
				return got, err
			}
			got = append(got, file)
		}
		if err := os.Remove(from); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return got, fmt.Errorf("mailbox of %s: %w", machine, err)
		}
	}
	return got, nil
}

package lint

import (
	"bytes"
	"fmt"
	"path"
	"slices"
	"strings"
)

// checkExec requires the executable bit on programs, and on nothing else. *.sh
// of hooks and all git hooks are installed with it anyway, but need it here to
// be run from the source.
func checkExec(s *source, say func(Finding)) {
	for _, f := range s.files {
		u := s.use(f.name)
		library := path.Base(f.name)[0] == '_' // beside hooks, which read them
		program := u == gitHook || u == hook && !library && (hasShebang(f) || scriptExt[path.Ext(f.name)])
		switch {
		case f.binary:
		case program && !f.exec:
			say(Finding{File: f.name, Level: Error, Text: fmt.Sprintf("is run but not executable; chmod +x %s, or git update-index --chmod=+x", path.Base(f.name))})
		case f.exec && !hasShebang(f) && textExt[path.Ext(f.name)]:
			say(Finding{File: f.name, Level: Warning, Text: "is executable but not a program; chmod -x " + path.Base(f.name)})
		case hasShebang(f) && !f.exec && !library:
			say(Finding{File: f.name, Line: 1, Level: Warning, Text: "starts with #! but is not executable"})
		}
	}
}

var (
	scriptExt = map[string]bool{".sh": true, ".bash": true, ".py": true, ".rb": true, ".pl": true, ".js": true}
	textExt   = map[string]bool{".md": true, ".json": true, ".txt": true, ".toml": true, ".yaml": true, ".yml": true, ".org": true}
)

func hasShebang(f file) bool { return bytes.HasPrefix(f.text, []byte("#!")) }

// everywhere are interpreters at paths common to POSIX systems and macOS.
var everywhere = []string{"/bin/sh", "/bin/bash", "/usr/bin/env", "/usr/bin/perl", "/usr/bin/awk"}

var shebang = lazily(`^#! *(\S+) *(.*)$`)

// checkShebangs wants programs to start on every machine.
func checkShebangs(s *source, say func(Finding)) {
	for _, f := range s.files {
		u := s.use(f.name)
		if f.binary || !hasShebang(f) && !(f.exec && !textExt[path.Ext(f.name)] || u == gitHook || u == hook && scriptExt[path.Ext(f.name)] && path.Base(f.name)[0] != '_') {
			continue
		}
		wrong := func(level Level, format string, args ...any) {
			say(Finding{File: f.name, Line: 1, Level: level, Text: fmt.Sprintf(format, args...)})
		}
		first := lineAt(f.text, 1)
		m := shebang().FindStringSubmatch(strings.TrimSuffix(first, "\r"))
		switch {
		case m == nil:
			wrong(Error, "is run and does not say by what; start it with a line like #!/bin/sh")
		case strings.HasSuffix(first, "\r"):
			wrong(Error, "its first line ends with \\r\\n: the system looks for an interpreter named %q", path.Base(m[1])+"\\r")
		case !strings.HasPrefix(m[1], "/"):
			wrong(Error, "%s is not an absolute path; write #!/usr/bin/env %s", m[1], path.Base(m[1]))
		case m[1] == "/usr/bin/env" && m[2] == "":
			wrong(Error, "env has nothing to run; write #!/usr/bin/env bash, or the right interpreter")
		case m[1] == "/usr/bin/env" && strings.Contains(m[2], " ") && !strings.HasPrefix(m[2], "-S "):
			wrong(Error, "Linux passes all of %q to env as one name; write #!/usr/bin/env -S %s", m[2], m[2])
		case !slices.Contains(everywhere, m[1]):
			wrong(Warning, "%s is elsewhere on other systems; write #!/usr/bin/env %s", m[1], path.Base(m[1]))
		}
	}
}

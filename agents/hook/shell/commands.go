package shell

import (
	"os"
	"path"
	"slices"
	"strings"

	"aisync.dev/aisync/agents/hook/edit"
)

// find runs the commands behind -exec and its like, without the files that find puts
// in their place.
func (s *shell) find(args []string, depth int) {
	for i := 0; i < len(args); i++ {
		if !slices.Contains([]string{"-exec", "-execdir", "-ok", "-okdir"}, args[i]) {
			continue
		}
		rest := args[i+1:]
		end := slices.IndexFunc(rest, func(a string) bool { return a == ";" || a == "+" })
		if end < 0 {
			end = len(rest)
		}
		inner := slices.Clone(rest[:end])
		for j, word := range inner {
			inner[j] = strings.ReplaceAll(word, "{}", unknown)
		}
		if len(inner) > 0 && depth < nested {
			s.run(inner, "", depth+1)
		}
		i += end
	}
}

// edited handles sed -i and perl -i, whose first argument is a program unless -e
// or -f gives it.
func (s *shell) edited(args []string) {
	var rest []string
	inPlace, script := false, false
	for i := 0; i < len(args); i++ {
		a := args[i]
		switch {
		case a == "--in-place" || strings.HasPrefix(a, "--in-place="):
			inPlace = true
		case a == "-e" || a == "-f" || a == "--expression" || a == "--file":
			script = true
			i++
		case strings.HasPrefix(a, "--expression=") || strings.HasPrefix(a, "--file="):
			script = true
		case strings.HasPrefix(a, "-") && !strings.HasPrefix(a, "--") && a != "-":
			inPlace = inPlace || strings.Contains(a, "i")
			if strings.HasSuffix(a, "e") && !strings.HasPrefix(a, "-i") { // -ne 's/…/'
				script = true
				i++
			}
		default:
			rest = append(rest, a)
		}
	}
	if !inPlace {
		return
	}
	if !script && len(rest) > 0 {
		rest = rest[1:]
	}
	s.files(known(rest))
}

// copied handles commands whose last argument is the destination.
func (s *shell) copied(name string, args []string) {
	folder := ""
	for i, a := range args {
		if (a == "-t" || a == "--target-directory") && i+1 < len(args) {
			folder = args[i+1]
			args = slices.Delete(slices.Clone(args), i, i+2)
			break
		}
		if to, ok := strings.CutPrefix(a, "--target-directory="); ok {
			folder = to
			args = slices.Delete(slices.Clone(args), i, i+1)
			break
		}
	}
	_, rest := options(args)
	if folder == "" && len(rest) >= 2 {
		folder, rest = rest[len(rest)-1], rest[:len(rest)-1]
		if !isFolder(edit.Absolute(s.dir, s.home, folder)) && !strings.HasSuffix(folder, "/") {
			if folder != unknown {
				s.file(folder)
			}
			folder = unknown
		}
	} else if folder == "" {
		return
	}
	for _, from := range known(rest) {
		if name == "mv" {
			s.file(from)
		}
		if !strings.Contains(folder, unknown) {
			s.file(path.Join(folder, path.Base(from)))
		}
	}
}

func isFolder(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}

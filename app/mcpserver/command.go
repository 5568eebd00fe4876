package mcpserver

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/schema/spec"
)

// server is p as a spec has it.
func (st starter) server(p Package, f *filling) spec.MCPServer {
	if len(p.RuntimeArguments) > 0 && p.RuntimeHint != "" && p.RuntimeHint != st.command {
		f.fail("", "its package %s has arguments for %q, and aisync starts it with %s", st.pinned, termtext.Clip(termtext.Safe(p.RuntimeHint), 50), st.command)
	}
	if st.container {
		p = p.withVariables()
	}
	runtime := st.runtime(p, f)
	if st.moves {
		st.pinned = f.withDigest(st.pinned)
	}
	var args []string
	for _, w := range st.before {
		if !slices.ContainsFunc(runtime, func(r string) bool { return r == w || r == w+"=true" }) {
			args = append(args, w)
		}
	}
	args = append(args, runtime...)
	env := f.named(p.EnvironmentVariables, f.ask.Env, "variable", envName)
	if len(f.ask.Headers) > 0 {
		f.fail("--header", "%s is started here, and only remote servers get headers", f.server)
	}
	if st.container {
		for _, v := range env {
			args = append(args, "-e", v.Name)
		}
	}
	args = append(append(args, st.pinned), st.after...)
	words := f.words(p.PackageArguments)
	if st.separator != "" && len(words) > 0 {
		args = append(args, st.separator)
	}
	f.chosen, f.own = &p, words
	return spec.MCPServer{Command: st.command, Args: append(args, words...), Env: env}
}

// withDigest returns an image whose tag moves with the digest that it has now.
func (f *filling) withDigest(image string) string {
	if f.ask.Digest == nil {
		f.fail("", "the tag of the image %s moves, and its digest is not known", image)
		return image
	}
	digest, err := f.ask.Digest(image)
	if err == nil && !imageName.MatchString(image+"@"+digest) {
		err = fmt.Errorf("its registry answers with %q", termtext.Clip(termtext.Safe(digest), 100))
	}
	if err != nil {
		f.fail("", "the tag of the image %s moves, and what it names now cannot be told: %w", image, err)
		return image
	}
	f.note("the tag of the image moves: it is pinned to what it names now")
	return image + "@" + digest
}

// inWord is an option of docker run that sets a variable.
var inWord = regexp.MustCompile(`^([A-Za-z_][A-Za-z0-9_]*)=(.*)$`)

// withVariables returns p with the variables that stand in its arguments for
// docker among its variables: all agent programs can keep a secret there, and a
// command line is read by everyone on the machine.
func (p Package) withVariables() Package {
	var rest []Argument
	p.EnvironmentVariables = slices.Clone(p.EnvironmentVariables)
	for _, a := range p.RuntimeArguments {
		m := inWord.FindStringSubmatch(a.Value)
		if a.Type != "named" || a.Name != "-e" && a.Name != "--env" || a.IsRepeated || m == nil {
			rest = append(rest, a)
			continue
		}
		a.Name, a.Value = m[1], m[2]
		p.EnvironmentVariables = append(p.EnvironmentVariables, a)
	}
	p.RuntimeArguments = rest
	return p
}

// runtime returns the words that the publisher has for the starter itself.
//
// The first word that is no option names what is started. Publishers write the
// package, or an argument for it, there by mistake; to npx that is another
// package. So no such word is passed on, and of the options of npx, uvx and dnx
// only those that name no package and no code.
func (st starter) runtime(p Package, f *filling) (out []string) {
	f.joined = st.container
	defer func() { f.joined = false }()
	previous := ""
	for _, a := range p.RuntimeArguments {
		for i, w := range f.words([]Argument{a}) {
			switch {
			case a.Type == "positional" && (w == "run" && st.container || st.isPackage(p, w)):
				continue
			case strings.HasPrefix(w, "-") && (st.container || slices.Contains(st.options, w)):
			case st.container && slices.Contains(dockerTakes, previous):
			case a.Type == "named" && i%2 == 1 && slices.Contains(st.options, a.Name):
			default:
				f.wrong = append(f.wrong, advice.New(fmt.Errorf("%s gives %s the argument %q, with which it could start something else than %s", f.server, st.command, termtext.Clip(termtext.Safe(w), 100), st.pinned), "if you trust it, name the whole command: aisync add mcp NAME -- "+st.command+" …"))
			}
			out, previous = append(out, w), w
		}
	}
	return out
}

// tagOrVersion is what may follow the name of a package.
var tagOrVersion = regexp.MustCompile(`^([@:]|==)[^/]*$`)

// isPackage reports whether w is the package that st starts, in any version:
// the pinned one takes its place.
func (st starter) isPackage(p Package, w string) bool {
	for _, name := range []string{p.Identifier, strings.TrimSuffix(st.pinned, imageTag.FindString(st.pinned))} {
		if rest, ok := strings.CutPrefix(w, name); ok && (rest == "" || tagOrVersion.MatchString(rest)) {
			return true
		}
	}
	return false
}

// dockerTakes are the options of docker run that take the word after them.
var dockerTakes = []string{
	"-e", "--env", "--env-file", "-v", "--volume", "--mount", "--tmpfs", "-p", "--publish", "--network", "--net", "--name", "-u", "--user", "-w", "--workdir",
	"-m", "--memory", "--cpus", "--add-host", "--platform", "--entrypoint", "-l", "--label", "--pull", "--dns", "--hostname", "-h", "--cap-add", "--cap-drop", "--security-opt",
}

package main

// painter puts colour around text, or none.
type painter bool

// paint returns the painter of stdout: colour on a terminal unless NO_COLOR is
// set; --color on and off win.
func (a *app) paint() painter {
	switch a.g.color {
	case "on":
		return true
	case "off":
		return false
	}
	return painter(a.env.Get("NO_COLOR") == "" && a.env.Get("TERM") != "dumb" && isTerminal(a.out))
}

func (p painter) in(code, s string) string {
	if !p || s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

func (p painter) bold(s string) string   { return p.in("1", s) }
func (p painter) dim(s string) string    { return p.in("2", s) }
func (p painter) red(s string) string    { return p.in("31", s) }
func (p painter) green(s string) string  { return p.in("32", s) }
func (p painter) yellow(s string) string { return p.in("33", s) }
func (p painter) cyan(s string) string   { return p.in("36", s) }

package cli

// Painter colours text; false leaves it as it is.
type Painter bool

// Paint returns the painter of stdout: coloured on a terminal unless NO_COLOR is
// set. --color on and off win.
func (a *App) Paint() Painter {
	switch a.Flags.color {
	case "always", "on":
		return true
	case "never", "off":
		return false
	}
	return Painter(a.Env.Get("NO_COLOR") == "" && a.Env.Get("TERM") != "dumb" && IsTerminal(a.Out))
}

func (p Painter) in(code, s string) string {
	if !p || s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

func (p Painter) Bold(s string) string   { return p.in("1", s) }
func (p Painter) Dim(s string) string    { return p.in("2", s) }
func (p Painter) Red(s string) string    { return p.in("31", s) }
func (p Painter) Green(s string) string  { return p.in("32", s) }
func (p Painter) Yellow(s string) string { return p.in("33", s) }
func (p Painter) Cyan(s string) string   { return p.in("36", s) }

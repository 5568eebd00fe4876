// Package offline has the whole story of a laptop on a plane as one test: what
// was set up with a network works without one, with real programs, and doctor
// names whatever does not. It has no code of its own. Start reading at
// TestAPlane in plane_linux_test.go.
package offline

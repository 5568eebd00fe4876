// Package offline tests a laptop on a plane: what was set up with a network
// works without one, with real programs, and doctor names what does not. It has
// no code. See TestAPlane in plane_linux_test.go.
package offline

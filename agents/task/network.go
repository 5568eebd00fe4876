package task

import "fmt"

// Network is what the host lets tasks have of the network.
type Network struct {
	Allowed bool
	Field   string // the field that allows it, and its file
}

// noNetwork reports a task that asks for a network which the host gives to none.
type noNetwork struct {
	file string
	host Network
}

func (n *noNetwork) Error() string {
	return fmt.Sprintf("%s asks for the network (constraints: network: true), which this host allows to no task", n.file)
}

// Hint returns what would allow it.
func (n *noNetwork) Hint() string {
	return "to allow tasks the network, and with it what listens on this machine, set " + n.host.Field
}

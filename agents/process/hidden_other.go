//go:build !linux

package process

// Namespace implements Table: a folder has none.
func (t Proc) Namespace() string { return "" }

// Partial implements Table: the caller chose the folder.
func (t Proc) Partial() string { return "" }

// hidden reports whether a process that the table does not show exists.
func (t Proc) hidden(int) bool { return false }

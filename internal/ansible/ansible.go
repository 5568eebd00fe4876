// Package ansible tests the collection in packaging/ansible: ansible-core plays it over
// sshd on machines that are namespaces. It has no code. See TestFiveMachines in
// plays_linux_test.go.
package ansible

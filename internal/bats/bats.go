// Package bats holds shell scripts that call the program under the names that
// scripts know it by, agent-roster and session-context-path, and the drill in
// which agents try to trample each other's work. They are written for bats, and
// run by it where it is installed; without it a few lines of bash do what they
// need of it. It has no code of its own. Start reading at testdata.
package bats

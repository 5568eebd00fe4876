// Package bats tests shell scripts that call the program as agent-roster and
// session-context-path, and a drill in which agents try to corrupt each other's
// work. The scripts are written for bats, which runs them where it is installed;
// otherwise a few lines of bash replace it. It has no code. See testdata.
package bats

// Package scale measures what many machines of one house cost their uplink, with network
// namespaces for machines and Debian's docker-registry. It has no code; make test-scale
// runs it, and docs/scale.md has what it found.
package scale

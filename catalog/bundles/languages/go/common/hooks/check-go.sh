#!/bin/sh
# After an edit of a Go file: is it formatted, and does its package pass vet?
# What is wrong goes back to the agent (exit code 2). Without go nothing is said.
file=$(sed -n 's/.*"\(file_path\|path\)"[[:space:]]*:[[:space:]]*"\([^"]*\)".*/\2/p' | head -n 1)
case $file in *.go) ;; *) exit 0 ;; esac
[ -f "$file" ] && command -v gofmt >/dev/null 2>&1 || exit 0

if ! unformatted=$(gofmt -l "$file" 2>&1); then
	printf '%s\n' "$unformatted" >&2 # it does not parse
	exit 2
fi
if [ -n "$unformatted" ]; then
	printf '%s is not formatted; run: gofmt -w %s\n' "$file" "$file" >&2
	exit 2
fi
command -v go >/dev/null 2>&1 || exit 0
cd "$(dirname "$file")" || exit 0
go env GOMOD | grep -q 'go\.mod$' || exit 0 # in no module there is nothing to vet
if ! complaints=$(go vet . 2>&1); then
	printf '%s\n' "$complaints" | head -n 40 >&2
	exit 2
fi

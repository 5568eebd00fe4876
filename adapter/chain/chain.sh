#!/bin/sh
# Made by aisync apply, for this machine: git runs the hook that was active here
# before, and then the project's in githooks/. The first that fails decides; after
# the fact (post-*) both run.
name=${0##*/}
self=$(CDPATH= cd -- "${0%/*}" && pwd -P) || exit 1
failed=0

# hook FILE ARGUMENT... runs a hook, with what git feeds it.
hook() {
	[ -f "$1" ] && [ -x "$1" ] || return 0
	case $name in
	pre-push | post-rewrite | reference-transaction | pre-receive | post-receive | proc-receive)
		printf '%s' "$fed" | "$@"
		;;
	*) "$@" ;;
	esac
	code=$?
	[ "$code" = 0 ] && return 0
	failed=$code
	case $name in post-*) return 0 ;; esac
	exit "$code"
}

case $name in
pre-push | post-rewrite | reference-transaction | pre-receive | post-receive | proc-receive)
	fed=$(cat && printf x)
	fed=${fed%x}
	;;
esac

# What counts for all repositories stands before what lies in this one, as in git.
theirs=$(git config --global --includes --type=path --get core.hooksPath || git config --system --includes --type=path --get core.hooksPath) ||
	theirs=$(git rev-parse --git-common-dir)/hooks
dir=$(CDPATH= cd -- "$theirs" 2>/dev/null && pwd -P)
if [ -n "$dir" ] && [ "$dir" != "$self" ]; then
	hook "$dir/$name" "$@"
fi
hook "githooks/$name" "$@"
exit "$failed"

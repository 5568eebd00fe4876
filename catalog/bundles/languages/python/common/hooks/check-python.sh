#!/bin/sh
# After an edit of a Python file: does it compile, and does ruff, where the
# project has it, find anything? What is wrong goes back to the agent (exit
# code 2). Without python3 nothing is said.
file=$(sed -n 's/.*"\(file_path\|path\)"[[:space:]]*:[[:space:]]*"\([^"]*\)".*/\2/p' | head -n 1)
case $file in *.py | *.pyi) ;; *) exit 0 ;; esac
[ -f "$file" ] && command -v python3 >/dev/null 2>&1 || exit 0

# Compiled in memory: no __pycache__ is left behind.
if ! complaints=$(python3 -c 'import sys, tokenize
with tokenize.open(sys.argv[1]) as f: compile(f.read(), sys.argv[1], "exec")' "$file" 2>&1); then
	printf '%s\n' "$complaints" | tail -n 4 >&2
	exit 2
fi
ruff=$(command -v ruff || echo .venv/bin/ruff)
[ -x "$ruff" ] || exit 0
if ! complaints=$("$ruff" check --quiet --no-cache "$file" 2>&1); then
	printf '%s\n' "$complaints" | head -n 40 >&2
	exit 2
fi

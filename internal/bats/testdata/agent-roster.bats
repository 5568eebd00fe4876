# agent-roster: who else is at work in this project. Agents are sleepers under
# the names of agent programs.

setup() {
  root=$BATS_TEST_TMPDIR/home/app
  mkdir -p "$root/.ai" "$root/src/deep" "$BATS_TEST_TMPDIR/home/app-2/.ai" "$BATS_TEST_TMPDIR/bin"
  : >"$root/.ai/protocols.org"
  : >"$BATS_TEST_TMPDIR/home/app-2/.ai/protocols.org"
  bin=$BATS_TEST_TMPDIR/bin
  for name in claude codex gemini notes; do cp "$(command -v sleep)" "$bin/$name"; done
  started=()
  cd "$root"
}

teardown() {
  for pid in "${started[@]}"; do kill "$pid" 2>/dev/null || true; done
}

# agent DIR COMMAND...: starts it there; its number is in $pid.
agent() {
  local dir=$1; shift
  (cd "$dir" && exec "$@") >/dev/null 2>&1 3>&- &
  pid=$!
  started+=("$pid")
  for _ in $(seq 200); do # until it is no longer the shell that starts it
    case $(cat "/proc/$pid/comm") in bash | setpriv) sleep 0.01 ;; *) return ;; esac
  done
  echo "$* did not start"
  return 1
}

@test "alone: exit 0, and nothing is said" {
  run agent-roster
  [ "$status" -eq 0 ]
  [ -z "$output" ]
}

@test "not alone: exit 1, a line each with process and folder" {
  agent "$root" "$bin/claude" 60; one=$pid
  agent "$root/src/deep" "$bin/codex" 60; two=$pid
  run agent-roster
  [ "$status" -eq 1 ]
  [ "$(sort <<<"$output")" = "$(printf '%s\n' "$one $root" "$two $root/src/deep" | sort)" ]
}

@test "asked from a folder of the project, and with --project" {
  agent "$root" "$bin/claude" 60
  cd src/deep
  run agent-roster
  [ "$status" -eq 1 ]
  cd /
  run agent-roster --project "$root/src"
  [ "$status" -eq 1 ]
}

@test "a folder whose name begins alike is another project" {
  agent "$BATS_TEST_TMPDIR/home/app-2" "$bin/claude" 60
  run agent-roster
  [ "$status" -eq 0 ]
}

@test "an agent above the project is not in it" {
  agent "$BATS_TEST_TMPDIR/home" "$bin/claude" 60
  run agent-roster
  [ "$status" -eq 0 ]
}

@test "links lead to the same project, from both sides" {
  ln -s "$root" "$BATS_TEST_TMPDIR/link"
  agent "$BATS_TEST_TMPDIR/link/src" "$bin/claude" 60
  run agent-roster
  [ "$status" -eq 1 ]
  cd "$BATS_TEST_TMPDIR/link"
  run agent-roster
  [ "$status" -eq 1 ]
  [ "$output" = "$pid $root/src" ]
}

@test "a linked work tree is a separate project" {
  repo=$BATS_TEST_TMPDIR/repo
  git init -q "$repo"
  git -C "$repo" -c user.name=me -c user.email=me@localhost commit -q --allow-empty -m x
  git -C "$repo" worktree add -q "$repo/trees/one" 2>/dev/null
  agent "$repo/trees/one" "$bin/claude" 60
  mkdir "$repo/trees/one/sub"
  cd "$repo/trees/one/sub"
  run agent-roster
  [ "$status" -eq 1 ]
  cd "$BATS_TEST_TMPDIR"; git init -q other; cd other
  run agent-roster
  [ "$status" -eq 0 ]
}

@test "other programs are no agents, whatever they are about" {
  agent "$root" "$bin/notes" 60
  agent "$root" tail -f /dev/null claude
  run agent-roster
  [ "$status" -eq 0 ]
}

@test "a script that node runs is the agent that it is" {
  command -v node >/dev/null || skip "node is not installed"
  mkdir -p "$BATS_TEST_TMPDIR/lib/node_modules/@openai/codex/bin"
  echo 'setTimeout(() => {}, 60000)' >"$BATS_TEST_TMPDIR/lib/node_modules/@openai/codex/bin/codex.js"
  agent "$root" node "$BATS_TEST_TMPDIR/lib/node_modules/@openai/codex/bin/codex.js"
  run agent-roster --verbose
  [ "$status" -eq 1 ]
  [ "$output" = "$pid $root codex -" ]
}

@test "a wrapper and the program below it are one agent" {
  command -v node >/dev/null || skip "node is not installed"
  echo "const p = require('child_process').spawn('$bin/codex', ['60']); process.on('SIGTERM', () => { p.kill(); process.exit() })" >"$bin/codex.js"
  agent "$root" node "$bin/codex.js"
  for _ in $(seq 200); do pgrep -P "$pid" >/dev/null && break; sleep 0.01; done
  started+=("$(pgrep -P "$pid")")
  run agent-roster
  [ "$status" -eq 1 ]
  [ "$output" = "$pid $root" ]
}

@test "an agent that asks does not count itself" {
  cp "$(command -v bash)" "$bin/claude"
  run "$bin/claude" -c 'agent-roster; exit $?'
  [ "$status" -eq 0 ]
  [ -z "$output" ]
}

@test "two agents see each other, by id" {
  cp "$(command -v bash)" "$bin/gemini"
  AI_AGENT_ID=helper-1f3a AI_HELPER=1 agent "$root" "$bin/claude" 60
  run "$bin/gemini" -c 'agent-roster --verbose; exit $?'
  [ "$status" -eq 1 ]
  [ "$output" = "$pid $root claude helper-1f3a" ]
}

@test "one that has ended is gone" {
  agent "$root" "$bin/claude" 60
  kill "$pid"; wait "$pid" 2>/dev/null || true
  run agent-roster
  [ "$status" -eq 0 ]
}

@test "an error is neither alone nor not: exit 2" {
  run agent-roster --project "$BATS_TEST_TMPDIR/missing"
  [ "$status" -eq 2 ]
  run agent-roster --proc "$BATS_TEST_TMPDIR/missing"
  [ "$status" -eq 2 ]
  mkdir empty
  run agent-roster --proc "$PWD/empty" --self 7
  [ "$status" -eq 2 ]
  mkdir gone; cd gone; rmdir ../gone
  run agent-roster
  [ "$status" -eq 2 ]
}

@test "a wrong word is no answer either" {
  for words in --no-such-flag someword "--color sometimes" "--self x" "--proc"; do
    run agent-roster $words
    [ "$status" -eq 2 ]
  done
  run env AISYNC_CLI_ARGS="'" agent-roster
  [ "$status" -eq 2 ]
}

@test "a table of processes in a folder, as tests have it" {
  proc=$BATS_TEST_TMPDIR/proc
  mkdir -p "$proc/7" "$proc/8" "$proc/self" "$proc/9"
  printf '7 (claude) S 1 0 0\n' >"$proc/7/stat"; printf 'claude\0' >"$proc/7/cmdline"; ln -s "$root" "$proc/7/cwd"
  printf '8 (claude) S 1 0 0\n' >"$proc/8/stat"; printf 'claude\0' >"$proc/8/cmdline"; ln -s "$root/src" "$proc/8/cwd"
  run agent-roster --proc "$proc"
  [ "$status" -eq 1 ]
  [ "$output" = "7 $root
8 $root/src" ]
  run agent-roster --proc "$proc" --self 7
  [ "$output" = "8 $root/src" ]
}

@test "another user's agent is seen by root, and said to others" {
  [ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null || skip "needs root and setpriv"
  chmod -R a+rX "$BATS_TEST_TMPDIR"; d=$BATS_TEST_TMPDIR; while [ "$d" != / ]; do chmod a+x "$d"; d=$(dirname "$d"); done
  agent "$root" setpriv --reuid 65534 --regid 65534 --clear-groups "$bin/claude" 60
  run agent-roster
  [ "$status" -eq 1 ]
  kill "$pid"; wait "$pid" 2>/dev/null || true
  agent "$root" "$bin/claude" 60
  p=$(dirname "$(readlink -f "$(command -v aisync)")"); while [ "$p" != / ]; do chmod a+x "$p"; p=$(dirname "$p"); done
  run setpriv --reuid 65534 --regid 65534 --clear-groups agent-roster
  [ "$status" -eq 2 ] # it may work here
  [[ $output == *"process $pid (claude) hides its folder from this user"* ]]
}

@test "as JSON" {
  agent "$root" "$bin/claude" 60
  run agent-roster --json
  [ "$status" -eq 1 ]
  [[ $output == *'"alone": false'* && $output == *'"pid": '"$pid"* && $output == *'"runtime": "claude"'* ]]
}

@test "the project of a folder that it is given" {
  agent "$root" "$bin/claude" 60
  mkdir -p "$BATS_TEST_TMPDIR/alone"
  cd "$BATS_TEST_TMPDIR/alone"
  run agent-roster
  [ "$status" -eq 0 ]
  run agent-roster "$root"
  [ "$status" -eq 1 ]
  [ "$output" = "$pid $root" ]
  run agent-roster "$root" --verbose
  [ "$status" -eq 1 ]
  run agent-roster "$BATS_TEST_TMPDIR/none"
  [ "$status" -eq 2 ]
  [[ $output == *"$BATS_TEST_TMPDIR/none"* ]]
  run agent-roster "$root" "$root"
  [ "$status" -eq 2 ]
  run agent-roster --project "$root" "$root"
  [ "$status" -eq 2 ]
  [[ $output == *"give the folder once"* ]]
}

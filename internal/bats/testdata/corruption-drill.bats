# The drill: a primary and a helper at work on one file, and everything that
# could lose the work of one of them. An agent is a shell under the name of an
# agent program, which runs what it is told.

setup() {
  root=$BATS_TEST_TMPDIR/app
  mkdir -p "$root/.ai" "$BATS_TEST_TMPDIR/bin" "$BATS_TEST_TMPDIR/tmp"
  : >"$root/.ai/protocols.org"
  printf '* TODO Fix the parser :code:\nits body\n* TODO Write the letter\nits body\n' >"$root/todo.org"
  cp "$(command -v bash)" "$BATS_TEST_TMPDIR/bin/claude"
  cd "$root"
  begin primary
}

teardown() {
  for who in primary helper; do end $who; done
}

# begin WHO [VARIABLE=VALUE...]: an agent that takes orders through a pipe.
begin() {
  local who=$1; shift
  mkfifo "$BATS_TEST_TMPDIR/$who.in" "$BATS_TEST_TMPDIR/$who.out"
  env "$@" "$BATS_TEST_TMPDIR/bin/claude" -c '
    while read -r line <"$1.in"; do
      [ "$line" = end ] && exit
      { eval "$line" 2>&1; echo "code $?"; } >"$1.out"
    done' agent "$BATS_TEST_TMPDIR/$who" >/dev/null 2>&1 3>&- &
  eval "pid_$who=$!"
}

# as WHO COMMAND: has the agent run it; sets output and status as run does.
as() {
  echo "$2" >"$BATS_TEST_TMPDIR/$1.in"
  output=$(cat "$BATS_TEST_TMPDIR/$1.out")
  status=${output##*code }
  output=${output%code *}
}

# end WHO: the agent leaves; kill WHO: it dies.
end() {
  local pid=pid_$1
  [ -n "${!pid-}" ] || return 0
  kill -9 "${!pid}" 2>/dev/null || true
  wait "${!pid}" 2>/dev/null || true
  rm -f "$BATS_TEST_TMPDIR/$1.in" "$BATS_TEST_TMPDIR/$1.out"
  eval "$pid="
}

@test "the helper edits, the primary's wrap-up waits, the last one out closes the door" {
  as primary 'aisync session start'
  [ "$status" -eq 0 ]
  as primary 'agent-roster'
  [ "$status" -eq 0 ]
  as primary 'aisync session gate'
  [ "$status" -eq 0 ]

  begin helper AI_AGENT_ID=helper-1f3a AI_HELPER=1
  as helper 'agent-roster'
  [ "$status" -eq 1 ]
  # It has written nothing yet, and the gate is shut already.
  as primary 'aisync session gate'
  [ "$status" -eq 1 ]
  [[ $output == *helper-1f3a* ]]
  as helper 'aisync session edit todo.org --heading "Fix the parser" --append "the helper was here"'
  [ "$status" -eq 0 ]
  # The helper is in the middle of its task.
  as primary 'aisync session gate'
  [ "$status" -eq 1 ]
  [[ $output == *"live"*"helper-1f3a"* && $output == *"commit their work"* && $output == *"wait"* && $output == *"leave the pass out"* ]]
  as primary 'aisync session close'
  [ "$status" -eq 1 ]
  # It chooses to leave closing to the helper.
  as primary 'aisync session archive "parser"'
  [ "$status" -eq 0 ]
  end primary
  as helper 'aisync session close'
  [ "$status" -eq 0 ]
  [[ $output == orphan* ]]
  as helper 'aisync session gate'
  [ "$status" -eq 0 ]
  as helper 'aisync session archive'
  [ "$status" -eq 0 ]
  grep -q "the helper was here" todo.org
  [ -z "$(ls .ai/session-context.d)" ]
  [ ! -e .ai/session-context.org ]
  [ "$(ls .ai/sessions | wc -l)" -eq 2 ]
}

@test "both edit one file at once, and nothing is lost" {
  as primary 'aisync session start'
  begin helper AI_AGENT_ID=helper-1f3a AI_HELPER=1
  echo 'for n in $(seq 15); do aisync session edit todo.org --heading "Fix the parser" --append "primary $n." || exit; done' >"$BATS_TEST_TMPDIR/primary.in"
  echo 'for n in $(seq 15); do aisync session edit todo.org --heading "Write the letter" --append "helper $n." || exit; done' >"$BATS_TEST_TMPDIR/helper.in"
  # Both write their answers when they are done.
  primary=$(cat "$BATS_TEST_TMPDIR/primary.out"); helper=$(cat "$BATS_TEST_TMPDIR/helper.out")
  [ "$primary" = "code 0" ] && [ "$helper" = "code 0" ]
  for n in $(seq 15); do
    grep -qx "primary $n\." todo.org
    grep -qx "helper $n\." todo.org
  done
  [ "$(sed -n '/Write the letter/,$p' todo.org | grep -c '^primary')" -eq 0 ]
  # Logged before it was written.
  [ "$(grep -c 'Fix the parser :: append: primary' .ai/session-context.org)" -eq 15 ]
  [ "$(grep -c 'Write the letter :: append: helper' .ai/session-context.d/helper-1f3a.org)" -eq 15 ]
}

@test "a dead helper is reported and blocks no agent" {
  as primary 'aisync session start'
  begin helper AI_AGENT_ID=helper-1f3a AI_HELPER=1
  as helper 'aisync session edit todo.org --heading "Fix the parser" --append "half of it" --intent "first half"'
  end helper
  as primary 'aisync session list'
  [[ $output == *"crashed"*"helper-1f3a"* ]]
  as primary 'aisync session gate'
  [ "$status" -eq 0 ]
  [[ $output == *"left over"*"helper-1f3a"* ]]
  grep -q ":: first half" .ai/session-context.d/helper-1f3a.org
  as primary 'aisync session archive --agent helper-1f3a "crashed"'
  [ "$status" -eq 0 ]
  grep -q ":: first half" .ai/sessions/*-helper-1f3a-crashed.org
}

@test "a primary that dies is told from one that lives" {
  as primary 'aisync session start'
  begin helper AI_AGENT_ID=helper-1f3a AI_HELPER=1
  as helper 'aisync session list'
  [[ $output == *"live"*"primary"* ]]
  as helper 'aisync session close'
  [[ $output == helper* ]]
  end primary
  as helper 'aisync session list'
  [[ $output == *"crashed"*"primary"* ]]
  # The next primary goes on with the context, and is alive to the helper.
  begin primary
  as primary 'aisync session start'
  [ "$status" -eq 0 ]
  as helper 'aisync session list'
  [[ $output == *"live"*"primary"* ]]
}

@test "a second agent without an id does not take the primary's context" {
  as primary 'aisync session start'
  cp .ai/session-context.org before
  begin helper
  as helper 'aisync session start'
  [ "$status" -eq 1 ]
  [[ $output == *"another live agent"*"aisync session id --helper"* ]]
  as helper 'aisync session edit todo.org --heading "Fix the parser" --append "x"'
  [ "$status" -eq 1 ]
  cmp before .ai/session-context.org
  ! grep -qx x todo.org
  as helper 'export AI_AGENT_ID=$(aisync session id --helper); aisync session start && agent-roster'
  [ "$status" -eq 1 ]
  [[ $output == *"/.ai/session-context.d/helper-"* ]]
}

@test "what an agent starts through its shell does not take its context either" {
  as primary 'aisync session start'
  cp .ai/session-context.org before
  cat >inner <<END
$BATS_TEST_TMPDIR/bin/claude -c 'aisync session start; echo inner \$?'
true
END
  as primary "bash inner"
  [[ $output == *"has started this one"* && $output == *"inner 1"* ]]
  cmp before .ai/session-context.org
}

@test "a file-wide pass is preceded by a copy" {
  export TMPDIR=$BATS_TEST_TMPDIR/tmp
  run aisync session snapshot todo.org
  [ "$status" -eq 0 ]
  : >todo.org
  grep -q "Fix the parser" "$output"
}

@test "ids that are made at once are different" {
  for _ in $(seq 20); do
    (for _ in $(seq 4); do aisync session id --helper; done >>"$BATS_TEST_TMPDIR/ids.$BASHPID") 3>&- &
    pids+=($!)
  done
  wait "${pids[@]}"
  [ "$(cat "$BATS_TEST_TMPDIR"/ids.* | wc -l)" -eq 80 ]
  [ "$(cat "$BATS_TEST_TMPDIR"/ids.* | sort -u | wc -l)" -eq 80 ]
}

@test "messages reach whom they are for" {
  begin helper AI_AGENT_ID=helper-1f3a
  me=$(hostname | cut -d. -f1 | tr A-Z a-z)
  as primary "aisync message send helper-1f3a 'only for you' --subject targeted"
  [ "$status" -eq 0 ]
  as primary "aisync message send $me.app 'for everybody' --subject general"
  [ "$status" -eq 0 ]
  as helper 'aisync message inbox'
  [[ $output == *targeted* && $output == *general* ]]
  as primary 'aisync message inbox'
  [[ $output != *targeted* && $output == *general* ]]
  file=$(ls inbox/from-agents | grep targeted)
  grep -q '^#+TARGET_AGENT_ID: helper-1f3a$' "inbox/from-agents/$file"
  as primary "aisync message read $file"
  [ "$status" -eq 1 ]
  as primary "aisync message read $file --take-over"
  [ "$status" -eq 0 ]
  as helper "aisync message read $file"
  [[ $output == *"only for you"* ]]
}

# session-context-path: where this agent's live context lies.

setup() {
  root=$BATS_TEST_TMPDIR/app
  mkdir -p "$root/.ai" "$root/src"
  : >"$root/.ai/protocols.org"
  unset AI_AGENT_ID AI_SESSION_CONTEXT AI_PROJECT_DIR AI_HELPER
  cd "$root"
}

@test "without an id it is the primary's" {
  run session-context-path
  [ "$status" -eq 0 ]
  [ "$output" = "$root/.ai/session-context.org" ]
}

@test "an id has a separate file" {
  AI_AGENT_ID=pearl.app.claude.a83f run session-context-path
  [ "$status" -eq 0 ]
  [ "$output" = "$root/.ai/session-context.d/pearl.app.claude.a83f.org" ]
}

@test "an empty id is none" {
  AI_AGENT_ID= run session-context-path
  [ "$output" = "$root/.ai/session-context.org" ]
}

@test "helper and primary resolve to different files" {
  primary=$(session-context-path)
  helper=$(AI_AGENT_ID=helper-1f3a session-context-path)
  [ "$primary" != "$helper" ]
  [ "$helper" = "$root/.ai/session-context.d/helper-1f3a.org" ]
}

@test "an id that could be no file's name is made one, inside" {
  for id in ../../evil "a b" "日本" "$(printf 'x%.0s' $(seq 500))" "a/b" .. ; do
    AI_AGENT_ID=$id run session-context-path
    [ "$status" -eq 0 ]
    [ "$(dirname "$output")" = "$root/.ai/session-context.d" ]
    [ "${#output}" -lt 400 ]
  done
  [ "$(AI_AGENT_ID='a b' session-context-path)" != "$(AI_AGENT_ID='a/b' session-context-path)" ]
}

@test "from a folder of the project, and absolute" {
  cd src
  AI_AGENT_ID=helper-1f3a run session-context-path
  [ "$output" = "$root/.ai/session-context.d/helper-1f3a.org" ]
}

@test "as the launcher exports it" {
  export AI_AGENT_ID=helper-1f3a AI_PROJECT_DIR=$root AI_SESSION_CONTEXT=.ai/session-context.d/helper-1f3a.org
  cd /
  run session-context-path
  [ "$status" -eq 0 ]
  [ "$output" = "$root/.ai/session-context.d/helper-1f3a.org" ]
}

@test "it only says where: nothing is made" {
  AI_AGENT_ID=helper-1f3a run session-context-path
  [ ! -e .ai/session-context.d ]
  [ ! -e .ai/session-context.org ]
}

@test "two contexts at once, and no agent with an id uses the singleton" {
  AI_AGENT_ID=helper-1f3a aisync session start
  AI_AGENT_ID=helper-2222 aisync session start
  AI_AGENT_ID=helper-1f3a aisync session journal --file todo.org --heading A "one"
  AI_AGENT_ID=helper-2222 aisync session journal --file todo.org --heading B "two"
  grep -q "one$" "$(AI_AGENT_ID=helper-1f3a session-context-path)"
  ! grep -q "two$" "$(AI_AGENT_ID=helper-1f3a session-context-path)"
  grep -q "two$" "$(AI_AGENT_ID=helper-2222 session-context-path)"
  [ ! -e .ai/session-context.org ]
}

@test "a path that is none of a context's is an error" {
  AI_SESSION_CONTEXT=/etc/passwd run session-context-path
  [ "$status" -ne 0 ]
  [[ $output == *AI_SESSION_CONTEXT* ]]
}

@test "in the project of a folder that it is given" {
  mkdir -p "$BATS_TEST_TMPDIR/other/.ai" "$BATS_TEST_TMPDIR/other/deep"
  : >"$BATS_TEST_TMPDIR/other/.ai/protocols.org"
  run session-context-path "$BATS_TEST_TMPDIR/other/deep"
  [ "$status" -eq 0 ]
  [ "$output" = "$BATS_TEST_TMPDIR/other/.ai/session-context.org" ]
  # The variables of the agent's own project name no file of the other one.
  AI_AGENT_ID=helper-1f3a AI_PROJECT_DIR=$root AI_SESSION_CONTEXT=$root/.ai/session-context.d/helper-1f3a.org run session-context-path ../other
  [ "$output" = "$BATS_TEST_TMPDIR/other/.ai/session-context.d/helper-1f3a.org" ]
  run session-context-path ../none
  [ "$status" -eq 1 ]
}

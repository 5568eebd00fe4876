# Messages to other projects of this machine, and to other machines.

setup() {
  export HOME=$BATS_TEST_TMPDIR/home
  unset AI_AGENT_ID AI_SESSION_CONTEXT AI_PROJECT_DIR AI_HELPER AI_RUNTIME XDG_CONFIG_HOME XDG_STATE_HOME XDG_CACHE_HOME
  me=$(hostname | cut -d. -f1 | tr A-Z a-z | sed 's/[^a-z0-9_][^a-z0-9_]*/-/g; s/^[-_]*//; s/[-_]*$//')
  mkdir -p "$HOME/.config/aisync" "$HOME/Sync" "$HOME/code"
  for p in app org-drill "My Project.v2"; do
    mkdir -p "$HOME/code/$p/.ai" "$HOME/code/$p/inbox"
    : >"$HOME/code/$p/.ai/protocols.org"
    echo "for people" >"$HOME/code/$p/inbox/note.org"
  done
  cat >"$HOME/.config/aisync/host.cue" <<END
package aisync

hosts: here: {
	roots: ["~/code"]
	mailboxes: {
		pluto: "~/Sync"
		saturn: "ssh://me@saturn:2222/~/agents"
		"$me": "~/Sync"
	}
}
END
  cd "$HOME/code/app"
}

@test "to another project of this machine" {
  run aisync message send "$me.org-drill" "The parser is done."
  [ "$status" -eq 0 ]
  [ "$(dirname "$output")" = "$HOME/code/org-drill/inbox/from-agents" ]
  grep -q "^#+FROM: $me.app$" "$output"
  cd ../org-drill
  run aisync message inbox
  [[ $output == *"$me.app"*"" && $status -eq 0 ]]
  [ "$(cat inbox/note.org)" = "for people" ]
  [ "$(ls inbox)" = "from-agents
note.org" ]
}

@test "a name with blanks and dots is written as in ids" {
  run aisync message send "$me.my-project-v2" "hello"
  [ "$status" -eq 0 ]
  [ "$(dirname "$output")" = "$HOME/code/My Project.v2/inbox/from-agents" ]
}

@test "to one agent of another project" {
  AI_AGENT_ID=helper-1f3a run aisync message send "$me.org-drill.claude.a83f" "for you" --subject hello
  [ "$status" -eq 0 ]
  grep -q "^#+SENDER_AGENT_ID: helper-1f3a$" "$output"
  grep -q "^#+TARGET_AGENT_ID: $me.org-drill.claude.a83f$" "$output"
  cd ../org-drill
  run aisync message inbox
  [ "$output" = "no messages" ]
  AI_AGENT_ID=$me.org-drill.claude.a83f run aisync message inbox
  [[ $output == *hello ]]
  AI_AGENT_ID=helper-2222 run aisync message inbox --all
  [[ $output == *"hello  (for $me.org-drill.claude.a83f)" ]]
}

@test "to this project, with a spec that cannot be read" {
  echo "nonsense {" >"$HOME/.config/aisync/host.cue"
  run aisync message send "$me.app" "hello"
  [ "$status" -eq 0 ]
  run aisync message inbox
  [ "$status" -eq 0 ]
  [[ $output == *"host.cue:1"* && $output == *"from-$me.app-hello.org"* ]]
  run aisync message send "$me.org-drill" "hello"
  [ "$status" -eq 1 ]
}

@test "a project that is not there, and one that is there twice" {
  run aisync message send "$me.nowhere" "hello"
  [ "$status" -eq 1 ]
  [[ $output == *'"nowhere"'*"app, my-project-v2, org-drill"* ]]
  mkdir -p "$HOME/code/old/org-drill/.ai"; : >"$HOME/code/old/org-drill/.ai/protocols.org"
  run aisync message send "$me.org-drill" "hello"
  [ "$status" -eq 1 ]
  [[ $output == *"2 projects"*"$HOME/code/old/org-drill"* ]]
  run aisync message send "just-a-word" "hello"
  [ "$status" -eq 64 ]
  run aisync message send "$me.app" " "
  [ "$status" -eq 64 ]
}

@test "to an unknown machine" {
  run aisync message send mars.app "hello"
  [ "$status" -eq 1 ]
  [[ $output == *"no mailbox for the machine mars (this one is $me)"*"mailboxes"* ]]
}

@test "to another machine, through a folder that is synced" {
  run aisync message send pluto.archsetup "Models, please."
  [ "$status" -eq 0 ]
  [ "$(dirname "$output")" = "$HOME/Sync/pluto/archsetup" ]
  rm -r "$HOME/Sync"
  run aisync message send pluto.archsetup "Models, please."
  [ "$status" -eq 1 ]
  [[ $output == *"mailbox of pluto"* ]]
}

@test "from another machine, through that folder" {
  mkdir -p "$HOME/Sync/$me/app"
  printf '#+TITLE: from afar\n#+FROM: pluto.archsetup\n#+TO: %s.app\n\nhello\n' "$me" >"$HOME/Sync/$me/app/2026-05-28-1230-from-pluto.archsetup-afar.org"
  run aisync message inbox
  [ "$status" -eq 0 ]
  [ "$output" = "2026-05-28-1230-from-pluto.archsetup-afar.org  pluto.archsetup  from afar" ]
  [ -z "$(ls "$HOME/Sync/$me/app")" ]
  run aisync message read 2026-05-28-1230-from-pluto.archsetup-afar.org --json
  [[ $output == *'"from": "pluto.archsetup"'*'"body": "hello"'* ]]
}

@test "over ssh; and not when offline" {
  mkdir -p "$BATS_TEST_TMPDIR/bin" "$BATS_TEST_TMPDIR/saturn"
  cat >"$BATS_TEST_TMPDIR/bin/ssh" <<END
#!/bin/sh
cd "$BATS_TEST_TMPDIR/saturn"
for last; do :; done
exec sh -c "\$last"
END
  chmod +x "$BATS_TEST_TMPDIR/bin/ssh"
  PATH=$BATS_TEST_TMPDIR/bin:$PATH run aisync message send saturn.app "hello there" --subject "over ssh"
  [ "$status" -eq 0 ]
  [[ $output == me@saturn:agents/saturn/app/*-over-ssh.org ]]
  grep -q "hello there" "$BATS_TEST_TMPDIR/saturn/agents/saturn/app/"*.org
  PATH=$BATS_TEST_TMPDIR/bin:$PATH run aisync --offline message send saturn.app "hello"
  [ "$status" -eq 7 ]
  [ "$(ls "$BATS_TEST_TMPDIR/saturn/agents/saturn/app" | wc -l)" -eq 1 ]
}

@test "what is sent through the input" {
  run bash -c "printf 'one\ntwo\n' | aisync message send $me.app - --subject lines"
  [ "$status" -eq 0 ]
  [ "$(tail -n 2 "$output")" = "one
two" ]
}

@test "to a project by its name, and the list of them" {
  run aisync message send --list
  [ "$status" -eq 0 ]
  [[ $output == *"org-drill"*"$HOME/code/org-drill"* ]]
  run aisync message send --list --json
  [[ $output == *"\"address\": \"$me.my-project-v2\""* ]]
  run aisync message send org-drill "by name"
  [ "$status" -eq 0 ]
  grep -q "^#+TO: $me.org-drill$" "$output"
  run aisync message send "My Project.v2" --text "a name with a dot"
  [ "$status" -eq 0 ]
  [ "$(dirname "$output")" = "$HOME/code/My Project.v2/inbox/from-agents" ]
  run aisync message send nowhere "hello"
  [ "$status" -eq 64 ]
  [[ $output == *"--list"* ]]
  run bash -c "printf 'from stdin' | aisync message send org-drill --text -"
  [ "$status" -eq 0 ]
  [ "$(tail -n 1 "$output")" = "from stdin" ]
  run aisync message send org-drill "two" --text "texts"
  [ "$status" -eq 64 ]
  run aisync message send --list org-drill
  [ "$status" -eq 64 ]
}

@test "into the inbox where people look" {
  run aisync message send org-drill --text "please look" --inbox
  [ "$status" -eq 0 ]
  [ "$(dirname "$output")" = "$HOME/code/org-drill/inbox" ]
  [[ $(basename "$output") == 20??-??-??-????-from-$me.app-please-look.org ]]
  [ "$(tail -n 1 "$output")" = "please look" ]
  run aisync message send pluto.archsetup --inbox "hello"
  [ "$status" -eq 64 ]
}

@test "a copy of a file, as it is" {
  printf 'a\0b\r\nno end' >"My Notes.MD"
  AI_AGENT_ID=helper-1f3a run aisync message send org-drill --file "My Notes.MD" --inbox
  [ "$status" -eq 0 ]
  [[ $output == "$HOME/code/org-drill/inbox/"*"-from-helper-1f3a-my-notes.MD" ]]
  cmp "$output" "My Notes.MD"
  run aisync message send org-drill --file "My Notes.MD"
  [[ $output == "$HOME/code/org-drill/inbox/from-agents/"*"-from-$me.app-my-notes.MD" ]]
  file=$(basename "$output")
  run aisync message send org-drill --file "My Notes.MD"
  [[ $output == *"-my-notes-2.MD" ]]
  cd ../org-drill
  run aisync message inbox
  [[ $output == *"$file  -"* ]]
  run aisync message read "$file"
  [[ $status -eq 0 && $output == *"no end" ]]
  cd ../app
  mkfifo pipe
  run timeout 5 aisync message send org-drill --file pipe
  [[ $status -eq 1 && $output == *"not a regular file"* ]]
  run aisync message send org-drill --file none
  [ "$status" -eq 1 ]
  run aisync message send pluto.archsetup --file "My Notes.MD"
  [ "$status" -eq 64 ]
  printf 'x' >.bashrc
  run aisync message send org-drill --file .bashrc
  [[ $output == *"-bashrc" ]]
  ln -s / ../org-drill/inbox/out && rm -r ../org-drill/inbox/from-agents && ln -s /tmp ../org-drill/inbox/from-agents
  run aisync message send org-drill --file .bashrc
  [[ $status -eq 1 && $output == *"links out of the project"* ]]
}

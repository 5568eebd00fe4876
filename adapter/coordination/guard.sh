#!/bin/sh
# Refuses an agent's commit of files that another agent claims; a person is told.
# Made by aisync apply (agents: ledger). git commit --no-verify skips it.
command -v aisync >/dev/null || exit 0
git diff --cached --name-only --no-renames -z | aisync hook pre-commit

#!/usr/bin/env bash
# Checks the inputs of an action, and passes them on as outputs. Only checked text gets into names and paths.
set -euo pipefail

refuse() {
  echo "::error::$1"
  exit 2
}

shard="${INPUT_SHARD-1}" folder="${INPUT_FOLDER-.}" days="${INPUT_DAYS-5}" comment="${INPUT_COMMENT-false}"
changes="${INPUT_CHANGES-true}"
[[ $shard =~ ^[A-Za-z0-9._-]{1,64}$ ]] || refuse "shard: letters, digits, dots, hyphens and underscores, at most 64"
[[ $days =~ ^[1-9][0-9]?$ && $days -le 90 ]] || refuse "retention-days: a number from 1 to 90"
[[ $comment == true || $comment == false ]] || refuse "comment: true or false"
[[ $changes == true || $changes == false ]] || refuse "changes: true or false"
[[ $folder =~ ^[^[:cntrl:]]{1,1000}$ && -d "$GITHUB_WORKSPACE/$folder" ]] || refuse "working-directory: a folder of the checkout"
root="$(realpath "$GITHUB_WORKSPACE")"
real="$(realpath "$GITHUB_WORKSPACE/$folder")"
[[ "$real/" == "$root/"* ]] || refuse "working-directory: it leads out of the checkout"
{
  echo "shard=$shard"
  echo "days=$days"
  echo "comment=$comment"
  echo "changes=$changes"
  echo "folder=$real"
  echo "recording=$real/.suspectra/recording"
} >>"$GITHUB_OUTPUT"

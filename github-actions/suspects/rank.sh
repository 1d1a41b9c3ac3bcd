#!/usr/bin/env bash
# Merges the shards and ranks them, for the summary of the job and for the comment.
set -euo pipefail

suspectra="$RUNNER_TEMP/suspectra/bin/suspectra"
shards=("$RUNNER_TEMP"/suspectra-shards/*/)
report="$RUNNER_TEMP/suspectra-report.md"
merged="$RUNNER_TEMP/suspectra-merged"
: >"$report"
if [[ ! -d ${shards[0]} ]]; then
  echo "::error::no job has uploaded a recording"
  exit 2
fi
if ! "$suspectra" merge "$merged" "${shards[@]}"; then
  # a job that was killed may have left half a recording: the suspects of all others are worth having
  whole=()
  for shard in "${shards[@]}"; do
    if "$suspectra" merge "$merged-$(basename "$shard")" "$shard" >/dev/null 2>&1; then
      whole+=("$shard")
    else
      echo "::warning::$(basename "$shard") can't be read and was left out"
    fi
  done
  if [[ ${#whole[@]} -eq 0 ]]; then
    echo "::error::no recording can be read"
    exit 2
  fi
  "$suspectra" merge "$merged" "${whole[@]}"
fi
cd "$FOLDER"
status=0
"$suspectra" rank --recording "$merged" --format markdown --top 5 --output "$report" || status=$?
if [[ $status -eq 1 ]]; then
  echo "Suspectra: no test failed, or nothing was recorded that could be ranked." >>"$GITHUB_STEP_SUMMARY"
elif [[ $status -ne 0 ]]; then
  exit "$status"
else
  head -c 900000 "$report" >>"$GITHUB_STEP_SUMMARY"
fi

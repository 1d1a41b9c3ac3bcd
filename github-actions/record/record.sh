#!/usr/bin/env bash
# Records the tests, and finds which change of a pull request broke them. The step ends as the tests end.
set -euo pipefail

if [[ $INPUT_COMMAND == *[\'\"\\\$\`]* || $INPUT_COMMAND == *$'\n'* || ! $INPUT_COMMAND =~ [^[:space:]] ]]; then
  echo "::error::command: words separated by blanks on one line, without quotes, backslashes and \$"
  exit 2
fi
read -r -a words <<<"$INPUT_COMMAND"
cd "$FOLDER"
status=0
"$RUNNER_TEMP/suspectra/bin/suspectra" record --suspects -- "${words[@]}" || status=$?
if [[ $status -eq 1 && ${INPUT_CHANGES-false} == true && -n ${GITHUB_BASE_REF:-} ]]; then
  # the commit that GitHub makes of a pull request has the branch that it goes to as its first parent
  git rev-parse -q --verify 'HEAD^1' >/dev/null || git fetch -q --deepen=1 || true
  if git rev-parse -q --verify 'HEAD^2' >/dev/null; then
    base="$(git rev-parse 'HEAD^1')"
  else
    base="$(git merge-base HEAD "origin/$GITHUB_BASE_REF" 2>/dev/null || true)"
  fi
  found="$RUNNER_TEMP/suspectra-changes.txt"
  if [[ -z $base ]]; then
    echo "::notice::the commit where the pull request began is not in this checkout: see fetch-depth of actions/checkout"
  elif "$RUNNER_TEMP/suspectra/bin/suspectra" changes --since "$base" --seconds 60 --output "$found"; then
    # indented, it is text for whoever shows the summary
    { echo; sed 's/^/    /' "$found"; } | head -c 100000 >>"$GITHUB_STEP_SUMMARY" || true
  fi
fi
exit "$status"

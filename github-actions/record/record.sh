#!/usr/bin/env bash
# Records the tests. The step ends as the tests end.
set -euo pipefail

if [[ $INPUT_COMMAND == *[\'\"\\\$\`]* || $INPUT_COMMAND == *$'\n'* || ! $INPUT_COMMAND =~ [^[:space:]] ]]; then
  echo "::error::command: words separated by blanks on one line, without quotes, backslashes and \$"
  exit 2
fi
read -r -a words <<<"$INPUT_COMMAND"
cd "$FOLDER"
"$RUNNER_TEMP/suspectra/bin/suspectra" record --suspects -- "${words[@]}"

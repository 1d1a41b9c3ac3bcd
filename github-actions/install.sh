#!/usr/bin/env bash
# Installs the Suspectra of this revision into an environment of its own, so the environment of the tests stays as it is.
set -euo pipefail

source="$(realpath "$GITHUB_ACTION_PATH/../..")"
environment="$RUNNER_TEMP/suspectra"
if [[ ! -x "$environment/bin/suspectra" ]]; then
  python3 -I -m venv "$environment"
  "$environment/bin/python" -I -m pip install --quiet --disable-pip-version-check "$source/analysis" "$source"
fi

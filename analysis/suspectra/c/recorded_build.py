"""Which build the tests of a recording are of, by the command that runs them again."""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from suspectra.base.errors import SuspectraError
from suspectra.c.build_kind import BuildKind
from suspectra.c.recording.ctest_command import ctest_command, runs_ctest


def recorded_build(command: Sequence[str], workspace: Path) -> Path | None:
    """The folder of the build, or the file with the commands of the tests; None where it can't be built once more."""
    if list(command[:2]) == ["record", "--"] and runs_ctest(command[2:]):
        try:
            return Path(ctest_command(command[2:], workspace).suite.build[0])
        except SuspectraError:
            return None
    if not command or command[0] != "record-c":
        return None
    options = {kind.value for kind in BuildKind}
    named = [value for option, value in pairwise(command) if option in options]
    found = Path(os.path.realpath(workspace), named[0]) if len(named) == 1 else None
    return found if found is not None and found.exists() else None

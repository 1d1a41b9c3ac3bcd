"""Asking programs and build tools for their tests."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from suspectra.base.errors import EvidenceError, Problem
from suspectra.processes.events import ProgramEnded, Stopped
from suspectra.processes.runner import CommandToRun, run

LISTING_TIMEOUT_S = 60.0
"""For a program to list its tests: one that takes longer probably runs them."""


def listed(
    command: Sequence[str],
    folder: str,
    cure: str,
    any_code: bool = False,  # whether it may end with any exit code
    environment: Mapping[str, str] | None = None,
) -> str:
    """Run a command that lists tests; what it prints.

    Raises EvidenceError when it can't be run, or lists nothing.
    """
    ended = asked(command, folder, cure, environment)
    text = ended.stdout.decode("utf-8", "replace")
    if (ended.status and not any_code) or not text.strip():
        complaint = ended.stderr.decode("utf-8", "replace").strip().partition("\n")[0]
        cause = f"it lists no tests: {complaint or f'exit code {ended.status}'}"
        raise EvidenceError(Problem(command[0], "", cause, cure))
    return text


def asked(command: Sequence[str], folder: str, cure: str, environment: Mapping[str, str] | None = None) -> ProgramEnded:
    """Run a command that lists tests.

    Raises EvidenceError when it can't be started, or takes too long.
    """
    # listing tests must not write a profile
    variables = {**(os.environ if environment is None else environment), "GCOV_PREFIX": os.devnull}
    ended = run(CommandToRun(tuple(command), folder, variables, timeout=LISTING_TIMEOUT_S, cure=cure))
    if ended.stopped is Stopped.TIMEOUT:
        cause = f"it did not list its tests within {LISTING_TIMEOUT_S:g} s"
        raise EvidenceError(Problem(command[0], "", cause, cure))
    return ended

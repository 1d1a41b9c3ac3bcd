"""How pytest was started, for the head of a log."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from suspectra_recorder.instrumentation import library_references
from suspectra_recorder.instrumentation.library_references import os

__builtins__ = library_references.builtins


def is_by_module(started: Sequence[str]) -> bool:
    """Whether Python was told to run a module, as in ``python -m pytest``: then the current folder is on the path."""
    return bool(started) and os.path.basename(started[0]) == "__main__.py"


def named_files(config: pytest.Config) -> list[str]:
    """What pytest collects since it is named.

    Files, folders and node ids. Empty where doctests are collected, too: then the files are not only tests.
    """
    options = getattr(config, "known_args_namespace", None) or config.option
    named: list[str] = getattr(options, "file_or_dir", None) or config.getini("testpaths")
    return [] if getattr(options, "doctestmodules", False) else named


def invocation(config: pytest.Config, *, by_module: bool) -> dict[str, object]:
    """Say how pytest was started."""
    arguments = [str(argument) for argument in config.invocation_params.args]
    return {"pytest": pytest.__version__, "arguments": arguments, "by_module": by_module}

"""How pytest was started, for the head of a log."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from suspectra_recorder.instrumentation import own
from suspectra_recorder.instrumentation.own import os

__builtins__ = own.builtins


def is_by_module(started: Sequence[str]) -> bool:
    """Whether Python was told to run a module, as in ``python -m pytest``: then the current folder is on the path.

    Parameters
    ----------
    started : sequence of str
        As ``sys.argv`` has it.

    Returns
    -------
    bool
        False in workers of pytest-xdist.

    Examples
    --------
    >>> is_by_module(["/usr/lib/python3/dist-packages/pytest/__main__.py", "-q"]), is_by_module(["pytest", "-q"])
    (True, False)
    """
    return bool(started) and os.path.basename(started[0]) == "__main__.py"


def named_files(config: pytest.Config) -> list[str]:
    """What pytest collects since it is named.

    Parameters
    ----------
    config : pytest.Config
        Of the run.

    Returns
    -------
    list of str
        Files, folders and node ids. Empty where doctests are collected, too: then the files are not only tests.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> config = SimpleNamespace(known_args_namespace=SimpleNamespace(file_or_dir=["checks.py"]))
    >>> named_files(config)
    ['checks.py']
    """
    options = getattr(config, "known_args_namespace", None) or config.option
    named: list[str] = getattr(options, "file_or_dir", None) or config.getini("testpaths")
    return [] if getattr(options, "doctestmodules", False) else named


def invocation(config: pytest.Config, *, by_module: bool) -> dict[str, object]:
    """Say how pytest was started.

    Parameters
    ----------
    config : pytest.Config
        Of the run.
    by_module : bool
        Whether Python was told to run a module.

    Returns
    -------
    dict
        The version of pytest, its ``arguments``, and ``by_module``.

    Examples
    --------
    >>> class Config:
    ...     class invocation_params:
    ...         args = ("-q",)
    >>> told = invocation(Config(), by_module=True)
    >>> told["arguments"], told["by_module"]
    (['-q'], True)
    """
    arguments = [str(argument) for argument in config.invocation_params.args]
    return {"pytest": pytest.__version__, "arguments": arguments, "by_module": by_module}

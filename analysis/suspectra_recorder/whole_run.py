"""Options of other plugins that belong to a whole run, and not to a process that runs some tests on request."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from suspectra_recorder.instrumentation import own

__builtins__ = own.builtins


def leave_out_coverage(config: pytest.Config) -> None:
    """Keep pytest-cov from starting; called before it does.

    Parameters
    ----------
    config : pytest.Config
        The configuration, as far as it is read before the first conftest is imported.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> config = SimpleNamespace(known_args_namespace=SimpleNamespace(cov_source=["shop"]))
    >>> leave_out_coverage(config)
    >>> config.known_args_namespace
    namespace(cov_source=None)
    """
    if getattr(config.known_args_namespace, "cov_source", None):
        config.known_args_namespace.cov_source = None


def switch_off(config: pytest.Config, values: Mapping[str, object]) -> None:
    """Give options other values, as far as there are such options.

    Parameters
    ----------
    config : pytest.Config
        Its options are changed.
    values : mapping of str to object
        By the names of the options.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> config = SimpleNamespace(option=SimpleNamespace(maxfail=1))
    >>> switch_off(config, {"maxfail": 0, "numprocesses": 0})
    >>> config.option
    namespace(maxfail=0)
    """
    for name, value in values.items():
        if hasattr(config.option, name):
            setattr(config.option, name, value)

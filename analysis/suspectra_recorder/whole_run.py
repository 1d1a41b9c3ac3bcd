"""What makes a run a whole one: the folders that it goes through, and options that do not suit any other run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest

from suspectra_recorder.folders import folder_name
from suspectra_recorder.instrumentation import own
from suspectra_recorder.instrumentation.own import os

__builtins__ = own.builtins


def leave_out_coverage(config: pytest.Config) -> None:
    """Keep pytest-cov from starting, which would delete the data of the user's last run.

    It starts as pytest looks for conftests, before all that were registered before it. So this has to be called by a
    wrapper of that hook.

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


def file_of_argument(argument: str, root: str) -> str:
    """Return the file of a ``file::test`` argument, as in node ids.

    Parameters
    ----------
    argument : str
        As on the command line.
    root : str
        pytest's rootdir.

    Returns
    -------
    str
        With forward slashes.

    Examples
    --------
    >>> file_of_argument("/work/tests/test_cart.py::test_total", "/work")
    'tests/test_cart.py'
    """
    path = os.path.abspath(argument.split("::")[0])
    return os.path.relpath(path, root).replace(os.sep, "/")


def folders_gone_through(config: pytest.Config, workspace: str) -> set[str]:
    """List the folders in which a run looks for all tests.

    Parameters
    ----------
    config : pytest.Config
        With which the tests were collected.
    workspace : str
        The folder, without symbolic links.

    Returns
    -------
    set of str
        Relative to the workspace, each with a slash at its end; a lone slash for the workspace. None where tests are
        chosen on the command line.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> tests = folder / "tests"
    >>> tests.mkdir()
    >>> called = SimpleNamespace(dir=folder)
    >>> config = SimpleNamespace(args=["tests", "test_a.py"], option=SimpleNamespace(), invocation_params=called)
    >>> config.getini = lambda name: []
    >>> folders_gone_through(config, str(folder))
    {'tests/'}
    >>> config.option.keyword = "cart"
    >>> folders_gone_through(config, str(folder))
    set()
    """
    if _chooses(config):
        return set()
    return {name for path in _folders(config) if (name := folder_name(path, workspace))}


def _folders(config: pytest.Config) -> Iterator[str]:
    source = getattr(config, "args_source", None)  # pytest 7.2
    if source is not None and source.name == "TESTPATHS":
        yield str(config.rootpath)  # nothing is anywhere else
        return
    for argument in config.args:
        path = os.path.join(str(config.invocation_params.dir), argument)
        if os.path.isdir(path):
            yield path


def _chooses(config: pytest.Config) -> bool:
    """Whether tests are chosen, other than in the ini file, which holds for every run."""
    words = config.getini("addopts")
    chosen = [getattr(config.option, name, None) for name in ("keyword", "markexpr", "lf")]
    chosen += [getattr(config.option, name, None) or [] for name in ("deselect", "ignore", "ignore_glob")]
    values = [value for one in chosen if one for value in (one if isinstance(one, list) else [one])]
    return not all(any(word.endswith(str(value)) for word in words) for value in values)

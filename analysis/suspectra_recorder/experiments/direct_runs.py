"""Running a test without the hooks of pytest, where these do nothing that matters.

pytest's protocol of three phases takes twenty times as long as most tests. Here fixtures are set up and taken down by
pytest, and the test function is called; what plugins do around a phase, such as capturing, is left out. So this is
for tests around which only plugins are active that are known to do nothing else, and a repair is still confirmed by
the whole protocol.
"""

from __future__ import annotations

import inspect
import logging
import unittest
import warnings
from typing import Any, NamedTuple

import pytest

from suspectra_recorder.instrumentation import library_references
from suspectra_recorder.instrumentation.library_references import os, sys

__builtins__ = library_references.builtins

_HOOKS = (
    "pytest_runtest_protocol",
    "pytest_runtest_setup",
    "pytest_runtest_call",
    "pytest_runtest_teardown",
    "pytest_pyfunc_call",
    "pytest_fixture_setup",
    "pytest_fixture_post_finalizer",
)
_HARMLESS = (
    "_pytest", "suspectra_recorder", "suspectra_experiments", "pytest_suspectra", "_hypothesis_pytestplugin", "anyio",
    "pytest_asyncio", "pytest_benchmark", "pytest_cov", "pytest_html", "pytest_lsp", "pytest_metadata", "pytest_mock",
    "pytest_randomly", "pytest_rerunfailures", "pytest_subtests", "pytest_timeout", "xdist",
)  # fmt: skip
"""Packages whose hooks do nothing for an ordinary function, or what limits of an altered run do as well."""

_FIXTURES = ("_pytest.monkeypatch", "_pytest.python", "_pytest.fixtures", "_pytest.unittest", "_pytest.recwarn")
"""The modules of pytest whose fixtures need no hooks."""

_MARKS = frozenset({"skip", "skipif", "xfail", "asyncio", "anyio", "trio", "flaky"})


class Ended(NamedTuple):
    """How a direct run ended."""

    outcome: str  # `passed`, `failed`, `skipped`, or `error` where a fixture failed
    error: BaseException | None = None


class DirectRuns:
    """Runs tests directly."""

    def __init__(self) -> None:
        self._possible: dict[pytest.Item, bool] = {}
        self._plain: dict[pytest.Item, bool] = {}  # whether nothing has to be set up
        self._filters: dict[pytest.Item, list[Any]] = {}
        self._nowhere: Any = None

    def can_run(self, item: pytest.Item) -> bool:
        """Whether a test needs no hooks around it."""
        if item not in self._possible:
            self._possible[item] = _needs_no_hooks(item)
        return self._possible[item]

    def run(self, item: pytest.Item) -> Ended:
        """Run a test: its fixtures and its function."""
        if self._nowhere is None:
            self._nowhere = open(os.devnull, "w")  # noqa: SIM115  # closed with the process
            root = logging.getLogger()
            if not root.handlers:
                root.addHandler(logging.NullHandler())  # as pytest has one there
        if item not in self._filters:
            self._filters[item] = _warning_filters(item)
            self._plain[item] = _has_no_fixtures(item)
        streams = sys.stdout, sys.stderr
        sys.stdout = sys.stderr = self._nowhere
        try:
            with warnings.catch_warnings():
                warnings.filters[:] = self._filters[item]  # type: ignore[index]  # a list, whatever typeshed says
                warnings._filters_mutated()  # type: ignore[attr-defined]
                warnings.showwarning = _not_shown
                return _called(item) if self._plain[item] else _run(item)
        finally:
            sys.stdout, sys.stderr = streams


def _called(item: Any) -> Ended:
    """Call the test with its parameters."""
    given = item.callspec.params if hasattr(item, "callspec") else {}
    try:
        item.obj(**{name: given[name] for name in item._fixtureinfo.argnames})
    except BaseException as error:  # as pytest does
        return _ended(error, "call")
    return Ended("passed")


def _run(item: Any) -> Ended:
    state = item.session._setupstate
    phase, ended = "setup", Ended("passed")
    try:
        state.setup(item)
        phase = "call"
        item.runtest()
    except BaseException as error:  # as pytest does
        ended = _ended(error, phase)
    for info in item.__dict__.pop("_excinfo", None) or ():  # of unittest
        ended = _ended(info.value, phase)
    try:
        state.teardown_exact(None)
    except BaseException as error:
        ended = ended if ended.outcome == "failed" else Ended("error", error)
    return ended


def _ended(error: BaseException, phase: str) -> Ended:
    if isinstance(error, (pytest.skip.Exception, unittest.SkipTest)):
        return Ended("skipped", error)
    return Ended("failed" if phase == "call" else "error", error)


def _not_shown(*_: object, **__: object) -> None:
    pass


def _warning_filters(item: pytest.Item) -> list[Any]:
    """The filters of warnings that pytest would set for a test."""
    from _pytest.warnings import catch_warnings_for_item

    with catch_warnings_for_item(item.config, item.ihook, "runtest", item=item):
        return [*warnings.filters]


def _needs_no_hooks(item: pytest.Item) -> bool:
    try:
        if not isinstance(item, pytest.Function) or any(mark.name in _MARKS for mark in item.iter_markers()):
            return False
        function = inspect.unwrap(item.obj)
        if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
            return False
        if hasattr(item.obj, "hypothesis") or hasattr(item.obj, "is_hypothesis_test"):
            return False
        if isinstance(getattr(item, "cls", None), type) and issubclass(item.cls, unittest.IsolatedAsyncioTestCase):
            return False
        plugins = {impl.plugin for name in _HOOKS for impl in getattr(item.ihook, name).get_hookimpls()}
        fixtures = [one for several in item._fixtureinfo.name2fixturedefs.values() for one in several]
        modules = {getattr(one.func, "__module__", "") or "" for one in fixtures}
    except Exception:  # another version of pytest
        return False
    return all(map(_is_harmless, plugins)) and all(
        not module.startswith("_pytest") or module in _FIXTURES for module in modules
    )


def _has_no_fixtures(item: Any) -> bool:
    """Whether a test is a function that needs nothing but values of parameters."""
    if type(item) is not pytest.Function:
        return False
    fixtures = [one for several in item._fixtureinfo.name2fixturedefs.values() for one in several]
    given = item.callspec.params if hasattr(item, "callspec") else {}
    return given.keys() >= set(item._fixtureinfo.argnames) and all(
        getattr(one.func, "__name__", "") == "get_direct_param_fixture_func" for one in fixtures
    )


def _is_harmless(plugin: object) -> bool:
    name = getattr(plugin, "__name__", None) or type(plugin).__module__
    return name.partition(".")[0] in _HARMLESS or type(plugin).__module__.partition(".")[0] in _HARMLESS

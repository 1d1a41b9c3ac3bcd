"""The pytest plugin: inert unless it is switched on.

It is switched on by ``--suspectra``, by ``-p suspectra``, by ``suspectra = true`` in pytest's ini file, or by
``suspectra record``, which sets an environment variable. Until then nothing but this small module is loaded.
"""

from __future__ import annotations

import os
import sys
from functools import partial

import pytest

from suspectra_recorder.instrumentation.standard_library import StandardLibrary

VARIABLE = "SUSPECTRA_RECORD"


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    """The options and ini values of the plugin."""
    config = pluginmanager.get_plugin("pytestconfig")
    if VARIABLE in os.environ and config is not None:
        config.add_cleanup(partial(_end, config, sys.exc_info()[1]))
    group = parser.getgroup("suspectra", "suspectra: record what each test executes")
    group.addoption("--suspectra", action="store_true", help="Record what each test executes.")
    group.addoption(
        "--suspectra-source",
        action="append",
        default=[],
        metavar="PATH_OR_PACKAGE",
        help="Record this folder or package too (repeatable).",
    )
    group.addoption(
        "--suspectra-include-tests",
        action="store_true",
        help="Record test modules and conftest files too, so that they can be suspects.",
    )
    group.addoption(
        "--suspectra-counts",
        action="store_true",
        help="Count how often branches are taken, not only whether; slower.",
    )
    group.addoption(
        "--suspectra-no-children",
        action="store_true",
        help="Do not record the processes that tests start.",
    )
    group.addoption(
        "--suspectra-recorder",
        metavar="NAME",
        help="How to record: auto (what costs less, the default), probes or monitoring (sys.monitoring, Python 3.12).",
    )
    parser.addini("suspectra", "Record what each test executes.", type="bool", default=False)
    parser.addini("suspectra_source", "Folders and packages to record besides the rootdir.", type="args", default=[])
    parser.addini("suspectra_include_tests", "Record test modules and conftest files too.", type="bool", default=False)
    parser.addini("suspectra_counts", "Count how often branches are taken.", type="bool", default=False)
    parser.addini("suspectra_children", "Record the processes that tests start.", type="bool", default=True)
    parser.addini("suspectra_recorder", "How to record: auto, probes or monitoring.", default="auto")
    if config is not None and hasattr(config, "rootpath") and _asked_for(config):
        _start_early(config)


def _asked_for(config: pytest.Config) -> bool:
    """Whether it is known, while pytest loads its plugins, that this one is to be switched on."""
    return _switched_on(config) or "--suspectra" in config.invocation_params.args


def _start_early(config: pytest.Config) -> None:
    """Instrument what plugins import that are loaded after this one."""
    if not config.pluginmanager.has_plugin("suspectra-session"):
        from suspectra_recorder.early import start_in_pytest

        arguments = [str(argument) for argument in config.invocation_params.args]
        config.add_cleanup(start_in_pytest(str(config.rootpath), arguments))


def _end(config: pytest.Config, around: BaseException | None) -> None:
    """Where pytest ended before the recording began, say why."""
    if VARIABLE in os.environ:  # which is gone once it has begun
        with StandardLibrary():
            from suspectra_recorder.pytest_session import failed_to_start, failure_of_pytest
        if (error := failure_of_pytest(around)) is not None:
            failed_to_start(config, error)


def _switched_on(config: pytest.Config) -> bool:
    options = getattr(config, "known_args_namespace", config.option)
    return (
        VARIABLE in os.environ
        or getattr(options, "suspectra", False)
        or "suspectra" in (getattr(options, "plugins", None) or ())
        or config.getini("suspectra")
    )


def _activate(config: pytest.Config) -> None:
    if _switched_on(config) and not config.pluginmanager.has_plugin("suspectra-session"):
        with StandardLibrary():
            from suspectra_recorder.pytest_session import start
        start(config)


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Start before any conftest is imported."""
    _activate(early_config)


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Start now, where the plugin was loaded too late to see the conftests."""
    _activate(config)

"""The pytest plugin, which does nothing unless it is switched on.

It is switched on by ``--suspectra``, by ``-p suspectra``, by ``suspectra = true`` in pytest's ini file, or by
``suspectra record``, which sets an environment variable. Until then, only this module and the declarations of options
are loaded.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from functools import partial

import pytest

from suspectra_recorder.instrumentation.standard_library import StandardLibrary
from suspectra_recorder.options import OPTIONS, SUSPECTS, Option

VARIABLE = "SUSPECTRA_RECORD"
_HELP = "Record what each test executes."


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    """Declare the options and ini values of the plugin."""
    _keep_our_asserts(pluginmanager)
    config = pluginmanager.get_plugin("pytestconfig")
    if VARIABLE in os.environ and config is not None:
        # `pytest_unconfigure` is not called where pytest fails to start
        config.add_cleanup(partial(_end, config, sys.exc_info()[1]))
    group = parser.getgroup("suspectra", "suspectra: record what each test executes")
    group.addoption("--suspectra", action="store_true", help=_HELP)
    parser.addini("suspectra", _HELP, type="bool", default=False)
    for option in (*OPTIONS, SUSPECTS):
        _declare(option, parser, group)
    if config is not None and hasattr(config, "rootpath") and _asked_for(config):
        _start_early(config)


def _keep_our_asserts(pluginmanager: pytest.PytestPluginManager) -> None:
    """Let Python load the recorder from its compiled files.

    pytest rewrites the asserts of all that is installed with a plugin. The recorder has nothing to rewrite, and where
    no compiled files are written, each run would compile all of it. Another pytest may name this set otherwise; then
    it only takes longer.
    """
    marked = getattr(pluginmanager.rewrite_hook, "_must_rewrite", None)
    if isinstance(marked, set):
        marked.discard("suspectra_recorder")


def _declare(option: Option, parser: pytest.Parser, group: pytest.OptionGroup) -> None:
    """Declare an option for the command line and for the ini file."""
    if isinstance(option.default, bool):
        group.addoption(option.pytest_flag, action="store_true", help=option.negative or option.help)
        parser.addini(option.ini_name, option.help, type="bool", default=option.default)
    elif isinstance(option.default, tuple):
        repeatable = f"{option.help} (repeatable)"
        group.addoption(option.pytest_flag, action="append", default=[], metavar="NAME", help=repeatable)
        parser.addini(option.ini_name, option.help, type="args", default=list(option.default))
    else:
        choice = f"{option.help} One of {', '.join(option.values)}."
        group.addoption(option.pytest_flag, metavar="NAME", help=choice)
        parser.addini(option.ini_name, choice, default=option.default)


def _asked_for(config: pytest.Config) -> bool:
    """Whether it is already known, while pytest loads its plugins, that this one will be switched on."""
    return _switched_on(config) or "--suspectra" in config.invocation_params.args


def _start_early(config: pytest.Config) -> None:
    """Instrument what later plugins import."""
    if not config.pluginmanager.has_plugin("suspectra-session"):
        from suspectra_recorder.early_start import start_in_pytest

        arguments = [str(argument) for argument in config.invocation_params.args]
        config.add_cleanup(start_in_pytest(str(config.rootpath), arguments))


def _end(config: pytest.Config, around: BaseException | None) -> None:
    """If pytest ends before the recording began, record why."""
    if VARIABLE in os.environ:  # it is removed when the recording begins
        with StandardLibrary():
            from suspectra_recorder.pytest.session import failed_to_start, failure_of_pytest
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
            from suspectra_recorder.pytest.session import start
        start(config)


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> Iterator[None]:
    """Start before any conftest is imported, and before pytest-cov, which starts as early as it can."""
    _activate(early_config)
    yield


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Start now, if the plugin was loaded too late to see the conftests."""
    _activate(config)

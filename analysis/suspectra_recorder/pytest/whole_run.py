"""What makes a run a whole one: the folders that it goes through, and options that do not suit any other run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest

from suspectra_recorder.folders import folder_name
from suspectra_recorder.instrumentation import library_references
from suspectra_recorder.instrumentation.library_references import os

__builtins__ = library_references.builtins

REPORTS: dict[str, object] = {
    "xmlpath": None,  # of pytest
    "htmlpath": None,  # of pytest-html
    "json_report": False,  # of pytest-json-report
    "report_log": None,  # of pytest-reportlog
    "allure_report_dir": None,
    "csv_path": None,  # of pytest-csv
    "md_report": False,  # of pytest-md-report
    "store_durations": False,  # of pytest-split, which balances whole runs by them
    "cucumber_json_path": None,  # of pytest-bdd
    "benchmark_json": None,
    "benchmark_save": None,
    "benchmark_autosave": None,
}
"""Options that write a report about all tests, with values by which none is written."""

OPTIONS_OF_WHOLE_RUNS: dict[str, object] = {
    **REPORTS,
    "numprocesses": 0,
    "reruns": 0,
    "maxfail": 0,
    "usepdb": False,
    "trace": False,
    "lf": False,
    "failedfirst": False,
    "newfirst": False,
    "stepwise": False,
}
"""Options, some of other plugins, with values by which they do not run tests elsewhere or again, or write files that
somebody waits for."""


def leave_out_coverage(config: pytest.Config) -> None:
    """Keep pytest-cov from starting, which would delete the data of the user's last run.

    It starts as pytest looks for conftests, before all that were registered before it. So this has to be called by a
    wrapper of that hook.
    """
    if getattr(config.known_args_namespace, "cov_source", None):
        config.known_args_namespace.cov_source = None


def switch_off(config: pytest.Config, values: Mapping[str, object]) -> None:
    """Give options other values, as far as there are such options."""
    for name, value in values.items():
        # it belongs to a plugin that may not be there
        if hasattr(config.option, name):
            setattr(config.option, name, value)


def file_of_argument(argument: str, root: str) -> str:
    """Return the file of a ``file::test`` argument, as in node ids."""
    path = os.path.abspath(argument.split("::")[0])
    return os.path.relpath(path, root).replace(os.sep, "/")


def folders_gone_through(config: pytest.Config, workspace: str) -> set[str]:
    """List the folders in which a run looks for all tests.

    Relative to the workspace, each with a slash at its end; a lone slash for the workspace. None where tests are chosen
    on the command line.
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

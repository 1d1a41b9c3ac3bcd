"""A search for paths about one recorded test that fails, from its beginning to its end."""

from __future__ import annotations

import os
from collections.abc import Generator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from suspectra.evidence.path_reports import add_report, executed_sources
from suspectra.experiments.executed_lines import LINES, ExecutedLine, executed_lines
from suspectra.experiments.nearest_path import nearest_tests
from suspectra.experiments.path_searching import (
    PathOptions,
    PathSetting,
    RunningSearch,
    Suspiciousness,
    nothing_known,
)
from suspectra.experiments.path_techniques import DEFAULT, TECHNIQUES
from suspectra.experiments.recorded_paths import Paths
from suspectra.experiments.repeated_test import TRACE_S
from suspectra.experiments.repeated_tests import FailingTest, RepeatedTests
from suspectra.experiments.safety import Safety
from suspectra.paths.report import PathReport
from suspectra.spectrum import Spectrum


@dataclass
class PathInquiry(RunningSearch):
    r"""Asks for a run that passes and goes nearly the way of a failing test, within some time.

    Parameters
    ----------
    workspace : Path
        The folder.
    command : sequence of str
        What runs pytest: program and arguments, without tests.
    test : FailingTest
        The test that fails.
    spectrum : Spectrum
        Which tests execute what.
    seconds : float, optional
        For the whole.
    technique : str, optional
        A name of `suspectra.experiments.path_techniques.TECHNIQUES`.
    options : PathOptions, optional
        What else the user has chosen.
    safety : Safety, optional
        Which tests run, and where.
    suspiciousness : callable, optional
        Of lines, by all tests.

    Examples
    --------
    >>> import sys
    >>> import numpy as np
    >>> from suspectra.spectrum import Elements
    >>> _ = (folder / "cart.py").write_text("def price(free):\n    return 0 if free else 20\n")
    >>> source = "from cart import price\n\ndef test_free():\n    assert price(True)\n"
    >>> source += "\ndef test_price():\n    assert price(False)\n"
    >>> _ = (folder / "test_cart.py").write_text(source)
    >>> test, line = FailingTest("test_cart.py::test_free", "test_cart.py"), np.array([2], np.int32)
    >>> elements = Elements(("cart.py",), line * 0, line, line, line * 0, ())
    >>> tests = [test.name, "test_cart.py::test_price"]
    >>> spectrum = Spectrum.from_matrix([[1], [1]], [True, False], tests=tests, elements=elements)
    >>> inquiry = PathInquiry(folder, [sys.executable, "-m", "pytest"], test, spectrum)
    >>> for report in inquiry.reports():
    ...     print(report.complete, report.found)
    False False
    True True
    >>> inquiry.report.summary
    'test_cart.py::test_price passes, and goes the same way for the first decision or call.'
    >>> (lines,) = inquiry.executed_lines(test.name)
    >>> [one.location.short for one in lines]
    ['cart.py:2']
    """

    workspace: Path
    command: Sequence[str]
    test: FailingTest
    spectrum: Spectrum
    seconds: float = 30.0
    technique: str = DEFAULT
    options: PathOptions = field(default_factory=PathOptions)
    safety: Safety = field(default_factory=Safety)
    suspiciousness: Suspiciousness = nothing_known

    def reports(self) -> Generator[PathReport]:
        """Search until nothing is left to be tried, or the time is up. What was found is kept in the workspace.

        Yields
        ------
        PathReport
            All that is known, each time that there is more. Close the generator to stop early: no process is left.

        Raises
        ------
        EvidenceError
            When nothing can be found out about the test, or what was found can't be kept.
        """
        limits = self.begin(self.seconds)
        options = replace(self.options, ask=self.asking(self.options.ask, limits))
        technique = TECHNIQUES[self.technique]
        workspace = Path(os.path.realpath(self.workspace))
        executed = executed_sources(workspace, self.spectrum, self.test.name)
        passing = nearest_tests(self.spectrum, self.test.name)
        with self.safety.folder(workspace) as folder:
            tests = RepeatedTests(
                self.command, folder, [self.test], technique.kinds, passing, self.safety.excluded, workspace
            )
            paths = Paths(folder)
            tests.meanwhile = partial(paths.read_ahead, executed)
            setting = PathSetting(self.test, tests, paths, passing, options, workspace, self.suspiciousness)
            searcher = technique.load()(setting)
            with closing(tests):
                try:
                    with closing(searcher.search(limits)) as reports:
                        yield from self.follow(reports)
                finally:
                    if self.report.found:
                        sources = tests.machine(self.test.name).sources or executed
                        add_report(workspace, self.test.name, self.technique, self.report.lines, sources)
                    self.problems = list(dict.fromkeys([*tests.notices, *searcher.problems]))

    def executed_lines(self, *tests: str) -> list[list[ExecutedLine]]:
        """Run some tests once more, and note the lines that they execute.

        Parameters
        ----------
        *tests : str
            The names of tests that were compared.

        Returns
        -------
        list of list of ExecutedLine
            Of each test.

        Raises
        ------
        EvidenceError
            When a test can't be run.
        """
        workspace = Path(os.path.realpath(self.workspace))
        with self.safety.folder(workspace) as folder:
            kinds, excluded = (LINES["kind"],), self.safety.excluded
            running = RepeatedTests(self.command, folder, [self.test], kinds, tests, excluded, workspace)
            with closing(running):
                return [executed_lines(running.machine(test), test, TRACE_S) for test in tests]

    def nothing(self) -> PathReport:
        """What is known before the search."""
        return PathReport(self.technique, self.test.name, (), None, (), 0, False, 0.0)

"""The commands that compare a failing test with a passing one."""

from __future__ import annotations

from dataclasses import replace

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcInvalidParams

from suspectra.paths.searches.techniques import DEFAULT, TECHNIQUES
from suspectra_server.features.commands.finder import Finder
from suspectra_server.features.commands.refusals import CHANGED, RequestFailed
from suspectra_server.features.commands.registry import Handlers
from suspectra_server.features.commands.repeated_runs import RepeatedRuns
from suspectra_server.features.compared_runs import compared_runs, run_texts
from suspectra_server.features.locations import open_at
from suspectra_server.messages import ComparedRuns, RunTexts
from suspectra_server.session.experiments.run_comparison import RunComparison, compiled_searches
from suspectra_server.session.session import Session


class ComparisonCommands:
    """Comparisons with the run that is nearest; the last one is kept."""

    def __init__(self, session: Session, find: Finder, runs: RepeatedRuns):
        self._session = session
        self._find = find
        self._runs = runs

    def handlers(self) -> Handlers:
        """By their names."""
        return {
            "comparePassing": self.compare_passing,
            "compareRuns": self.compare_runs,
            "clearComparison": self.clear_comparison,
        }

    async def compare_passing(
        self, uri: object = None, test: object = None, cursor: object = None, technique: object = None
    ) -> ComparedRuns | None:
        """Find a run that passes and goes nearly the same way, and show where the two part."""
        wanted = self._wanted(uri, test, cursor, technique)
        if (build := wanted.folder.rankings.build) and wanted.technique not in compiled_searches():
            raise RequestFailed(f"{wanted.technique} works on tests of Python only.")
        if wanted.technique != DEFAULT:  # all others alter something
            failing = await self._runs.may_alter(wanted.folder, [wanted.test], compiled=bool(build))
            if failing is None:
                return None
            wanted = replace(wanted, evidence=failing.evidence, test=failing.tests[0])
        comparison = await self._compare(wanted)
        found = await compared_runs(self._session)
        if found is None:
            raise RequestFailed(CHANGED)
        self._session.publish(comparison.folder)
        if found["report"] and found["similar"]:
            first = found["report"][0]
            open_at(self._session, lsp.Location(first["uri"], first["range"]))
        return found

    async def compare_runs(self, uri: object = None, test: object = None, cursor: object = None) -> RunTexts:
        """Return what both tests execute; compares first unless that is known."""
        folder = self._find.folder_and_tests(uri, None, cursor)[0]
        if folder is not None and folder.rankings.build:
            raise RequestFailed("What both runs execute is shown for tests of Python only.")
        last = self._session.comparison
        known = last is not None and last.is_current and last.lines is not None
        named = test is not None or self._find.folder_and_tests(uri, None, cursor)[1] is not None
        if last is None or not known or (named and self._wanted(uri, test, cursor).test != last.test):
            last = await self._compare(self._wanted(uri, test, cursor))
            self._session.publish(last.folder)
        texts = await run_texts(self._session, last)
        if not last.is_current:
            raise RequestFailed(CHANGED)
        if texts is None:
            raise RequestFailed("No passing run is known that could be compared.")
        return texts

    def clear_comparison(self) -> bool:
        """Forget what was compared."""
        last, self._session.comparison = self._session.comparison, None
        if last is not None:
            self._session.publish(last.folder)
        return last is not None

    def _wanted(self, uri: object, test: object, cursor: object, technique: object = None) -> RunComparison:
        if technique is not None and technique not in TECHNIQUES:
            raise JsonRpcInvalidParams(f"the technique is one of {', '.join(TECHNIQUES)}")
        if test is not None and not isinstance(test, str):
            raise JsonRpcInvalidParams("the arguments are the URI of a folder and the name of a failing test")
        failing = self._find.failing_test(uri, test, cursor, "nothing to compare")
        return RunComparison(self._session, *failing.first, str(technique or DEFAULT))

    async def _compare(self, wanted: RunComparison) -> RunComparison:
        """Run the tests."""
        self._runs.refuse_unless_possible(wanted.folder, compiled=True)
        self._session.comparison = wanted
        await self._runs.until_ended(wanted)
        return wanted

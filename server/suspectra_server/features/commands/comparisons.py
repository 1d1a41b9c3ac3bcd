"""The commands that compare a failing test with a passing one."""

from __future__ import annotations

from dataclasses import replace

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcInvalidParams

from suspectra.paths.searches.techniques import DEFAULT, TECHNIQUES
from suspectra_server.features.commands.refusals import CHANGED, RequestFailed
from suspectra_server.features.commands.slices import SliceCommands
from suspectra_server.features.compared_runs import compared_runs, run_texts
from suspectra_server.features.failing_tests import failing_tests
from suspectra_server.messages import ComparedRuns, RunTexts
from suspectra_server.session.experiments.run_comparison import RunComparison


class ComparisonCommands(SliceCommands):
    """What the commands about compared runs do."""

    async def compare_passing(
        self, uri: object = None, test: object = None, cursor: object = None, technique: object = None
    ) -> ComparedRuns | None:
        """Find a run that passes and goes nearly the same way, and show where the two part."""
        wanted = self._wanted(uri, test, cursor, technique)
        if wanted.technique != DEFAULT:  # all others alter something
            failing = await self._may_alter(wanted.folder, [wanted.test])
            if failing is None:
                return None
            evidence, (now,) = failing
            wanted = replace(wanted, evidence=evidence, test=now)
        comparison = await self._compare(wanted)
        found = await compared_runs(self._session)
        if found is None:
            raise RequestFailed(CHANGED)
        self._session.publish(comparison.folder)
        if found["report"] and self._session.can("window.show_document.support"):
            first = found["report"][0]
            start = first["range"].start
            show = lsp.ShowDocumentParams(first["uri"], take_focus=True, selection=lsp.Range(start, start))
            self._session.window_show_document(show)
        return found

    async def compare_runs(self, uri: object = None, test: object = None, cursor: object = None) -> RunTexts:
        """Return what both tests execute; compares first unless that is known."""
        last = self._session.comparison
        known = last is not None and last.is_current and last.lines is not None
        named = test is not None or (cursor is not None and self._at_cursor(cursor)[1] is not None)
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
        names = None if test is None else [test]
        folder, names = self._at_cursor(cursor) if names is None and cursor else (self._folder(uri), names)
        evidence = folder.snapshot.ranking.evidence if folder else None
        if folder is None or evidence is None or not folder.snapshot.ranking.failing:
            raise RequestFailed("No recorded test fails here, so there is nothing to compare.")
        chosen = failing_tests(folder, names)
        if not chosen:
            raise RequestFailed("This test did not fail in the last recorded run.")
        return RunComparison(self._session, folder, evidence, chosen[0], str(technique or DEFAULT))

    async def _compare(self, wanted: RunComparison) -> RunComparison:
        """Run the tests."""
        self._refuse_unless_possible(wanted.folder)
        self._session.comparison = wanted
        await self._until_ended(wanted)
        return wanted

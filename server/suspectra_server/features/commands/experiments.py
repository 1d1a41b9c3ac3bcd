"""The commands that run failing tests again: with something altered, or with their values observed."""

from __future__ import annotations

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcInvalidParams

from suspectra.base.location import Location
from suspectra_server.features.commands.arguments import are_names, parse_location
from suspectra_server.features.commands.finder import Failing, Finder
from suspectra_server.features.commands.refusals import RequestFailed
from suspectra_server.features.commands.registry import Handlers
from suspectra_server.features.commands.repeated_runs import RepeatedRuns
from suspectra_server.features.failing_tests import failing_tests
from suspectra_server.features.undo_actions import difference, undo_at
from suspectra_server.messages import RunTexts
from suspectra_server.session.experiments.change_search import ChangeSearch
from suspectra_server.session.experiments.investigating import Investigating
from suspectra_server.session.experiments.value_comparison import ValueComparison
from suspectra_server.session.navigation.ranked_statement import RankedStatement
from suspectra_server.session.session import Session

_NO_KNOWN_CHANGE = (
    "No change on this line is known to have broken a test. “Which Change Broke It?” finds out which one did."
)


class ExperimentCommands:
    """Experiments with failing tests, and comparisons of their values."""

    def __init__(self, session: Session, find: Finder, runs: RepeatedRuns):
        self._session = session
        self._find = find
        self._runs = runs

    def handlers(self) -> Handlers:
        """By their names."""
        return {
            "investigate": self.investigate,
            "testSuspect": self.test_suspect,
            "compareValues": self.compare_values,
            "findChange": self.find_change,
            "showDifference": self.show_difference,
            "undoChange": self.undo_change,
            "cancelInvestigation": self.cancel_investigation,
        }

    async def investigate(self, uri: object = None, tests: object = None, cursor: object = None) -> bool:
        """Find out what would make failing tests pass."""
        wanted = self._failing("investigate", uri, tests, cursor)
        failing = await self._runs.may_alter(wanted.folder, wanted.tests, compiled=True)
        return failing is not None and self._investigate(failing)

    def compare_values(self, uri: object = None, tests: object = None, cursor: object = None) -> bool:
        """Find out where values compare in failing tests as in no passing one. Nobody is asked: nothing is altered."""
        failing = self._failing("compareValues", uri, tests, cursor)
        self._runs.refuse_unless_possible(failing.folder, compiled=True)
        run = self._session.experiment_run
        run.start(ValueComparison(self._session, run, *failing))
        return True

    def find_change(self, uri: object = None, tests: object = None, cursor: object = None) -> bool:
        """Find out which change broke failing tests. Nobody is asked: they run in a copy, with texts of the user."""
        failing = self._failing("findChange", uri, tests, cursor)
        self._runs.refuse_unless_possible(failing.folder)
        run = self._session.experiment_run
        run.start(ChangeSearch(self._session, run, failing.folder, tuple(failing.tests)))
        return True

    def show_difference(self, uri: object = None, line: object = None) -> RunTexts:
        """Return a file as it is, and without the change on a line that broke tests."""
        uri, line = parse_location(uri, line)
        found = self._session.folders.containing(uri)
        texts = difference(*found, line) if found else None
        if texts is None:
            raise RequestFailed(_NO_KNOWN_CHANGE)
        return texts

    async def undo_change(self, uri: object = None, line: object = None) -> bool:
        """Take back the change on a line that broke tests."""
        uri, line = parse_location(uri, line)
        found = self._session.folders.containing(uri)
        edit = undo_at(self._session, *found, line) if found else None
        if edit is None:
            raise RequestFailed(_NO_KNOWN_CHANGE)
        done = await self._session.workspace_apply_edit_async(lsp.ApplyWorkspaceEditParams(edit, "Undo This Change"))
        if not done.applied:
            self._session.notify("The change was not taken back.")
        return done.applied

    def _failing(self, command: str, uri: object, tests: object, cursor: object) -> Failing:
        if tests is not None and not are_names(tests):
            raise JsonRpcInvalidParams(f"{command} takes the URI of a folder and the names of failing tests")
        return self._find.failing(uri, tests, cursor, "nothing to find out")

    async def test_suspect(self, uri: object = None, line: object = None) -> bool:
        """Find out whether altering one statement makes failing tests pass."""
        uri, line = parse_location(uri, line)
        found = self._session.folders.containing(uri)
        suspect = found[0].current().suspect_at(found[1], line) if found else None
        if found is None or suspect is None or suspect.only_read:
            raise RequestFailed("No failing test executes this line.")
        folder, _ = found
        statement = RankedStatement(folder, folder.snapshot.ranking, suspect.element)
        failing = await self._runs.may_alter(folder, failing_tests(folder, suspect.failing_tests), compiled=True)
        if failing is None:
            return False
        if (now := statement.now()) is None or (suspect := now.suspect) is None:
            raise RequestFailed("This line was edited meanwhile.")
        return self._investigate(failing, suspect.location)

    def cancel_investigation(self) -> bool:
        """Stop the experiments."""
        running = self._session.experiment_run.running
        if running:
            self._session.experiment_run.cancel()
        return running

    def _investigate(self, failing: Failing, at: Location | None = None) -> bool:
        run = self._session.experiment_run
        run.start(Investigating(self._session, run, *failing, at))
        return True

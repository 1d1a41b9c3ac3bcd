"""All kinds of runs."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Collection

from suspectra_recorder.experiments.decisions.decision_points import DecisionPoint, Switched
from suspectra_recorder.experiments.decisions.lines import NotingLines
from suspectra_recorder.experiments.decisions.loop_rounds import LoopRounds
from suspectra_recorder.experiments.decisions.paths import NotingPath
from suspectra_recorder.experiments.decisions.switchboard import THREAD_BITS, Switchboard
from suspectra_recorder.experiments.inputs.input_runs import TryingInput
from suspectra_recorder.experiments.messages import Findings, RunRequest
from suspectra_recorder.experiments.mutants import ForkingMutants, Mutating
from suspectra_recorder.experiments.results.computed_results import ComputingResults
from suspectra_recorder.experiments.run_kind import RunKind
from suspectra_recorder.experiments.telling_apart import TellingApart
from suspectra_recorder.experiments.traces.traced_runs import TracingDependences
from suspectra_recorder.experiments.values.observations import ObservingRun
from suspectra_recorder.experiments.values.program_states import make_state_kinds
from suspectra_recorder.experiments.values.value_runs import make_value_kinds
from suspectra_recorder.instrumentation import library_references

__builtins__ = library_references.builtins


class _Unaltered(RunKind):
    """The program as it is."""

    alters = False


class _Tracing(_Unaltered):
    """The program as it is, with its decisions."""

    def __init__(self, board: Switchboard, sources: Callable[[], dict[str, str]]):
        self._board, self._sources = board, sources
        self._decisions = array("Q")

    def apply(self, job: RunRequest) -> None:
        """Note decisions from now on."""
        self._decisions = self._board.note()

    def take_back(self) -> Findings:
        """The decisions, where they are, and the digests of all sources."""
        sites = [(source.path, source.first, source.points) for source in self._board.sources.loaded]
        decisions, found = self._decisions.tolist(), Findings(sites=sites, sources=self._sources())
        # most tests have one thread, whose number is 0
        if max(decisions, default=0) >> THREAD_BITS:
            found["decision_threads"] = [one >> THREAD_BITS for one in decisions]
            decisions = [one & ((1 << THREAD_BITS) - 1) for one in decisions]
        found["decisions"] = decisions
        return found


class _Switching(RunKind):
    """One decision comes out differently: its ``"file"``, ``"number"`` there, ``"instance"`` and ``"action"``."""

    def __init__(self, board: Switchboard):
        self._board = board
        self._switched: Callable[[], Switched] | None = None

    def apply(self, job: RunRequest) -> None:
        """Switch it from now on."""
        self._switched = self._board.switch([_point(job)])

    def take_back(self) -> Findings:
        """How often it was switched."""
        return {"reached": self._switched().times if self._switched else 0}


def _point(job: RunRequest) -> DecisionPoint:
    return DecisionPoint(job["file"], job["number"], job["instance"], job["action"])


class _Forking(_Tracing):
    """The program as it is, with a fork for each of the ``"jobs"``, which are of the kind ``switch``."""

    def __init__(self, board: Switchboard, sources: Callable[[], dict[str, str]]):
        super().__init__(board, sources)
        self._forked: Callable[[], bool] = bool

    def apply(self, job: RunRequest) -> None:
        """Note decisions, and fork at each that is to be switched."""
        super().apply(job)
        switches = [_point(one) for one in job["jobs"]]
        self._forked = self._board.fork(switches, job["fork"])

    def take_back(self) -> Findings:
        """The decisions; nothing in a fork."""
        return {} if self._forked() else super().take_back()


def make_kinds(
    names: Collection[str],  # what the order names
    board: Switchboard,
    sources: Callable[[], dict[str, str]],
    name_of: Callable[[str], str | None],
    is_test: Callable[[str], bool],
) -> dict[str, RunKind]:
    """Make the kinds of runs that a machine can be asked for."""
    # alone, since traced code alters nothing
    if "dependences" in names:
        return {"plain": _Unaltered(), "dependences": TracingDependences(is_test)}
    kinds: dict[str, RunKind] = {"plain": _Unaltered(), "trace": _Tracing(board, sources), "switch": _Switching(board)}
    kinds["fork"] = _Forking(board, sources)
    if "mutant" in names:
        kinds["mutant"] = mutating = Mutating(board, name_of)
        kinds["fork mutants"] = ForkingMutants(mutating)
        kinds["apart"] = TellingApart(board, mutating, name_of)
    if "results" in names:
        kinds["results"] = ComputingResults(name_of)
    if "observe" in names:
        kinds["observe"] = ObservingRun(sources)
    if not {"value", "values", "states"}.isdisjoint(names):
        kinds |= make_value_kinds(board, LoopRounds(is_test) if "states" in names else None)
    if "statements" in names:
        kinds |= make_state_kinds(name_of, is_test)
    if "lines" in names:
        kinds["lines"] = NotingLines(name_of)
    marks = None
    if "input" in names:
        # both note calls: code has one set of marks for that
        kinds["input"] = trying = TryingInput(board, sources, name_of, is_test)
        marks = trying.marks
    if "path" in names:
        kinds["path"] = NotingPath(board, sources, marks)
    return kinds

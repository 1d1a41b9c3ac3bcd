"""The kind of runs in which several states of the program are altered at once: decisions, and assigned values."""

from __future__ import annotations

from collections.abc import Callable
from traceback import walk_tb

import pytest

from suspectra_recorder.experiments.decisions.decision_points import DecisionPoint, Switched
from suspectra_recorder.experiments.decisions.loop_rounds import LoopRounds
from suspectra_recorder.experiments.decisions.switchboard import Switchboard
from suspectra_recorder.experiments.failed_phases import FailedPhases
from suspectra_recorder.experiments.inputs.symbols import SymbolicPath
from suspectra_recorder.experiments.messages import Findings, RunRequest
from suspectra_recorder.experiments.run_kind import RunKind
from suspectra_recorder.experiments.values.assigned_values import AssignedValues, ReplacedValue
from suspectra_recorder.instrumentation import library_references

__builtins__ = library_references.builtins

_MAX_FRAMES = 20


class AlteringStates(RunKind):
    """Decisions are switched, values replaced, some of them by symbols, and the outcome of other decisions watched.

    A job has ``"switched"`` and ``"watched"``, lists of path, number and instance of a decision; ``"replaced"``, a list
    of mappings with the fields of `ReplacedValue`; and ``"compare"``, which asks for the distances of comparisons.
    """

    alters = False

    def __init__(self, values: AssignedValues, board: Switchboard, rounds: LoopRounds | None = None):
        self._values, self._board = values, board
        self.instrument, self._rounds = rounds, rounds or LoopRounds()
        self._path, self._failure = SymbolicPath(), _FailurePlace(self._rounds)
        self.plugin = self._failure
        self._replaced: Callable[[], Findings] = Findings
        self._switched: Callable[[], Switched] | None = None

    def apply(self, job: RunRequest) -> None:
        """Alter all from now on."""
        path = self._path = SymbolicPath()
        self._failure.start(path)
        # an earlier run of the process may have counted
        self._rounds.begun.clear()
        wanted = [ReplacedValue(**one) for one in job["replaced"]]
        self._replaced = self._values.replace(wanted, compare=job["compare"], symbols=path)
        switched, watched = ([DecisionPoint(*point) for point in job[name]] for name in ("switched", "watched"))
        self._switched = self._board.switch(switched, watched, lambda: path.last)

    def take_back(self) -> Findings:
        """How often something was altered, the outcomes of watched decisions, and the constraints of the path.

        ``"marks"`` has, for each watched decision, the index of the constraint that was met last before it was made;
        ``"last"`` is that of the failure. ``"frames"`` says where the test failed, ``"rounds"`` how far its loops were.
        """
        self._path.closed = True
        answer = self._replaced()
        self._values.leave()
        assert self._switched is not None
        board = self._switched()
        return {
            **answer,
            "reached": answer.get("reached", 0) + board.times,
            "outcomes": board.outcomes,
            "marks": board.marks,
            "decided": board.decisions,
            "constraints": self._path.constraints,
            "last": self._failure.last,
            "frames": self._failure.frames,
            "rounds": self._failure.rounds,
        }


class _FailurePlace(FailedPhases):
    """A plugin that knows where a test failed, and which constraint was met last then."""

    def __init__(self, rounds: LoopRounds) -> None:
        self._counted = rounds
        self.start(SymbolicPath())

    def start(self, path: SymbolicPath) -> None:
        """Expect the failure of a run."""
        self._path = path
        self.last = -1
        self.frames: list[tuple[str, int]] = []
        self.rounds: list[tuple[str, int, int]] = []

    @pytest.hookimpl(tryfirst=True)
    def pytest_assertrepr_compare(self) -> None:
        """The comparison of an assert failed; to explain it, pytest may compare more."""
        if not self._path.closed:
            self.last, self._path.closed = self._path.last, True

    def failed(self, phase: str, error: pytest.ExceptionInfo[BaseException]) -> None:
        """The test failed."""
        if not self.frames:
            if not self._path.closed:
                self.last, self._path.closed = self._path.last, True
            self.frames += [(frame.f_code.co_filename, line) for frame, line in walk_tb(error.tb)]
            del self.frames[:-_MAX_FRAMES]
            self.rounds = [(*loop, begun) for loop, begun in self._counted.begun.items()]

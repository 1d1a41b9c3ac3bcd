"""The kinds of runs that are about assigned values."""

from __future__ import annotations

from collections.abc import Callable

from suspectra_recorder.experiments.decisions.loop_rounds import LoopRounds
from suspectra_recorder.experiments.decisions.switchboard import Switchboard
from suspectra_recorder.experiments.failed_comparisons import FailedComparisons
from suspectra_recorder.experiments.messages import Findings, RunRequest
from suspectra_recorder.experiments.run_kind import RunKind
from suspectra_recorder.experiments.values.altered_states import AlteringStates
from suspectra_recorder.experiments.values.assigned_values import AssignedValues, ReplacedValue
from suspectra_recorder.instrumentation import library_references

__builtins__ = library_references.builtins


class _Replacing(RunKind):
    """Another value is assigned: see `ReplacedValue`; ``"compare"`` asks for the distances of comparisons."""

    def __init__(self, values: AssignedValues):
        self.instrument = self._values = values
        self.plugin = FailedComparisons(values.failed)
        self._answer: Callable[[], Findings] = Findings

    def apply(self, job: RunRequest) -> None:
        """Replace it from now on."""
        wanted = ReplacedValue(job["file"], job["number"], job["instance"], job["part"], job["text"])
        self._answer = self._values.replace([wanted], compare=job["compare"])

    def take_back(self) -> Findings:
        """How often it was replaced, and the distances."""
        answer = self._answer()
        self._values.leave()
        return answer


class _Noting(RunKind):
    """The program as it is, with its values."""

    alters = False

    def __init__(self, values: AssignedValues):
        self._values = values
        self._answer: Callable[[], Findings] = Findings

    def apply(self, job: RunRequest) -> None:
        """Note values from now on."""
        self._answer = self._values.note()

    def take_back(self) -> Findings:
        """The values, where they are assigned, and comparisons."""
        answer = self._answer()
        self._values.leave()
        return answer


def make_value_kinds(board: Switchboard, rounds: LoopRounds | None = None) -> dict[str, RunKind]:
    """The kinds ``value``, ``values`` and ``states``."""
    values = AssignedValues()
    return {"value": _Replacing(values), "values": _Noting(values), "states": AlteringStates(values, board, rounds)}

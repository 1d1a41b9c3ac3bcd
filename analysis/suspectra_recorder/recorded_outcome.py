"""The record of one test, without its rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from suspectra_recorder.instrumentation import library_references
from suspectra_recorder.log.stack import Stack

__builtins__ = library_references.builtins


@dataclass(frozen=True)
class TestRecord:
    """The outcome of a test, for its frame."""

    __test__ = False

    name: str  # pytest's node id, or the name in another runner
    verdict: str  # the value of a `suspectra.evidence.evidence.Verdict`
    # the outcomes of setup, call and teardown, as far as they ran
    phases: Mapping[str, str] = field(default_factory=dict)
    message: str = ""  # the first line of a failure
    seconds: float = 0.0  # duration of all attempts, as measured by the runner
    # the file and the line, counted from 1; None if it is outside the workspace
    location: tuple[str, int] | None = None
    flaky: bool = False  # whether an earlier attempt ended differently
    shares: tuple[str, ...] = ()  # names of shared rows on which it depends; see `Recorder.share`
    stack: Stack | None = None  # where it failed

    def head(self, ended: int) -> dict[str, object]:
        """Make the JSON of the frame."""
        return {
            "name": self.name,
            "verdict": self.verdict,
            "phases": dict(self.phases),
            "message": self.message,
            "seconds": round(self.seconds, 6),
            "location": self.location,
            "flaky": self.flaky,
            "time": ended,
            "shares": self.shares,
            **({} if self.stack is None else {"stack": self.stack.as_dict()}),
        }

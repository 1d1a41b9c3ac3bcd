"""What is recorded of one test besides its rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from suspectra_recorder.instrumentation import own
from suspectra_recorder.log.stack import Stack

__builtins__ = own.builtins


@dataclass(frozen=True)
class TestRecord:
    """A test as its frame holds it, without its rows.

    Parameters
    ----------
    name : str
        pytest's node id, or what another runner calls the test.
    verdict : str
        The value of a `suspectra.evidence.evidence.Verdict`.
    phases : mapping of str to str
        The outcomes of setup, call and teardown, as far as they ran.
    message : str
        The first line of a failure.
    seconds : float
        How long all attempts took, as the runner measured it.
    location : tuple of (str, int), optional
        The file and the line, counted from 1; None where it is outside the workspace.
    flaky : bool
        Whether an earlier attempt ended differently.
    shares : tuple of str
        The names of what others executed for it; see `Recorder.share`.
    stack : Stack, optional
        Where it failed.
    """

    __test__ = False

    name: str
    verdict: str
    phases: Mapping[str, str] = field(default_factory=dict)
    message: str = ""
    seconds: float = 0.0
    location: tuple[str, int] | None = None
    flaky: bool = False
    shares: tuple[str, ...] = ()
    stack: Stack | None = None

    def head(self, ended: int) -> dict[str, Any]:
        """Make the JSON of the frame.

        Parameters
        ----------
        ended : int
            When the test ended, in nanoseconds since the epoch.

        Returns
        -------
        dict of str to Any
            What JSON can hold.
        """
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

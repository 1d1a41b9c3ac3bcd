"""The record of one test, without its rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from suspectra_recorder.instrumentation import own
from suspectra_recorder.log.stack import Stack

__builtins__ = own.builtins


@dataclass(frozen=True)
class TestRecord:
    """The outcome of a test, for its frame.

    Parameters
    ----------
    name : str
        pytest's node id, or the name in another runner.
    verdict : str
        The value of a `suspectra.evidence.evidence.Verdict`.
    phases : mapping of str to str
        The outcomes of setup, call and teardown, as far as they ran.
    message : str
        The first line of a failure.
    seconds : float
        Duration of all attempts, as measured by the runner.
    location : tuple of (str, int), optional
        The file and the line, counted from 1; None if it is outside the workspace.
    flaky : bool
        Whether an earlier attempt ended differently.
    shares : tuple of str
        Names of shared rows on which it depends; see `Recorder.share`.
    stack : Stack, optional
        Where it failed.

    Examples
    --------
    >>> record = TestRecord("test_total", "failed", {"call": "failed"}, "assert 3 == 4", seconds=0.0123456789)
    >>> head = record.head(ended=1700000000000000000)
    >>> head["verdict"], head["seconds"], head["time"]
    ('failed', 0.012346, 1700000000000000000)
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

    def head(self, ended: int) -> dict[str, object]:
        """Make the JSON of the frame.

        Parameters
        ----------
        ended : int
            When the test ended, in nanoseconds since the epoch.

        Returns
        -------
        dict of str to object
            An object that JSON can represent.
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

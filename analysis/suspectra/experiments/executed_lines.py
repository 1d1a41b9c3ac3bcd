"""The lines that runs of tests execute, in order, and where two runs go on at different lines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from suspectra.experiments.columns import read_column
from suspectra.experiments.runs import Runs
from suspectra.location import Location
from suspectra_recorder.experiments.exchange import Job, RunAnswer

LINES: Job = {"kind": "lines"}
"""The job that changes nothing, and notes the lines."""

_MAX_STEPS = 10_000_000  # decisions that a run may make meanwhile
_INDENT = "    "


class ExecutedLine(NamedTuple):
    """A line that a run executes.

    Parameters
    ----------
    location : Location
        The line.
    depth : int
        In how many calls it is, from 1.

    Examples
    --------
    >>> ExecutedLine(Location("cart.py", 8, 8), 1).location.short
    'cart.py:8'
    """

    location: Location
    depth: int


def executed_lines(runs: Runs, test: str, seconds: float) -> list[ExecutedLine]:
    """Run a test unaltered, and note the lines that it executes.

    Parameters
    ----------
    runs : Runs
        What runs it; it was started for runs of the kind ``lines``.
    test : str
        Its name.
    seconds : float
        How long it may take.

    Returns
    -------
    list of ExecutedLine
        Without those of test code, and at most `MAX_LINES` of the recorder.

    Examples
    --------
    >>> from base64 import b64encode
    >>> import numpy as np
    >>> class Known(Runs):
    ...     def ask(self, test, jobs, *, steps, seconds):
    ...         columns = b64encode(np.array([0, 8, 1, 0, 9, 1], np.int32).tobytes()).decode()
    ...         ended = {"outcome": "passed", "exception": "", "seconds": 0.1}
    ...         return [{**ended, "files": ["cart.py"], "lines": columns}]
    ...     def close(self):
    ...         pass
    >>> [str(one.location) for one in executed_lines(Known(), "test_cart", seconds=10)]
    ['cart.py:8', 'cart.py:9']
    """
    (answer,) = runs.ask(test, [LINES], steps=_MAX_STEPS, seconds=seconds)
    return lines_of(answer)


def lines_of(answer: RunAnswer) -> list[ExecutedLine]:
    """Read what a machine answered to the job `LINES`.

    Parameters
    ----------
    answer : RunAnswer
        As JSON has it.

    Returns
    -------
    list of ExecutedLine
        In the order of the run.

    Examples
    --------
    >>> from base64 import b64encode
    >>> import numpy as np
    >>> columns = b64encode(np.array([0, 8, 1, 0, 9, 1], np.int32).tobytes()).decode()
    >>> answer = {"outcome": "passed", "exception": "", "seconds": 0.1, "files": ["cart.py"], "lines": columns}
    >>> [str(one.location) for one in lines_of(answer)]
    ['cart.py:8', 'cart.py:9']
    """
    files = answer.get("files", [])
    table = read_column(answer.get("lines", "")).reshape(-1, 3)
    return [ExecutedLine(Location(files[file], line, line), depth) for file, line, depth in table.tolist()]


def common_lines(run: Sequence[ExecutedLine], other: Sequence[ExecutedLine]) -> int:
    """Count the lines that two runs execute before they go on at different ones.

    Parameters
    ----------
    run, other : sequence of ExecutedLine
        Two runs of the same program.

    Returns
    -------
    int
        The length of the shorter one where it is the beginning of the other.

    Examples
    --------
    >>> one, two, three = (ExecutedLine(Location("cart.py", line, line), 1) for line in (1, 2, 3))
    >>> common_lines([one, two, three], [one, three]), common_lines([one], [one])
    (1, 1)
    """
    pairs = zip(run, other, strict=False)
    shorter = min(len(run), len(other))
    return next((place for place, (mine, its) in enumerate(pairs) if mine != its), shorter)


def as_text(run: Sequence[ExecutedLine], source: Callable[[str, int], str]) -> str:
    r"""Write a run as text that can be compared line by line with that of another one.

    Parameters
    ----------
    run : sequence of ExecutedLine
        What is executed.
    source : callable
        Given a file and a line, returns its text.

    Returns
    -------
    str
        The text of each line, indented by its calls, with its place as a comment.

    Examples
    --------
    >>> run = [ExecutedLine(Location("shop/cart.py", 8, 8), 1), ExecutedLine(Location("shop/tax.py", 2, 2), 2)]
    >>> print(as_text(run, lambda file, line: "    return tax(total)\n"), end="")
        return tax(total)  # cart.py:8
            return tax(total)  # tax.py:2
    """
    texts = (f"{_INDENT * (one.depth - 1)}{source(one.location.file, one.location.line).rstrip()}" for one in run)
    return "".join(f"{text}  # {one.location.short}\n" for text, one in zip(texts, run, strict=True))

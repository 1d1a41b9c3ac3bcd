"""Problems and errors, with what the user can do about them."""

from __future__ import annotations

from dataclasses import asdict, dataclass


@dataclass(frozen=True, order=True)
class Problem:
    """A problem of the evidence, and how to fix it.

    Parameters
    ----------
    file : str
        The name of the file with the problem.
    place : str
        The place in the file: a line, a record, a table, a test. Empty for the whole file.
    cause : str
        What is wrong: a sentence without a full stop.
    cure : str
        What the user can do about it: a sentence without a full stop.

    Examples
    --------
    >>> problem = Problem(".coverage", "", "it contains no contexts", "run pytest with --cov-context=test")
    >>> print(problem)
    .coverage: it contains no contexts. Fix: run pytest with --cov-context=test
    >>> problem.as_dict()["file"]
    '.coverage'

    Messages from other programs may end with a full stop:

    >>> print(Problem("", "", "the test run failed: the option is unset.", "set it"))
    the test run failed: the option is unset. Fix: set it
    """

    file: str
    place: str
    cause: str
    cure: str

    def __str__(self) -> str:
        where = f"{self.file} ({self.place})" if self.file and self.place else self.file or self.place
        text = f"{where}: {self.cause}" if where else self.cause
        stop = "" if text.endswith((".", "!", "?")) else "."  # messages from other programs may have one
        return f"{text}{stop} Fix: {self.cure}" if self.cure else text

    def as_dict(self) -> dict[str, str]:
        """Return the fields by name, as in the JSON output.

        Returns
        -------
        dict of str to str
            Keys ``file``, ``place``, ``cause`` and ``cure``.
        """
        return asdict(self)


class SuspectraError(Exception):
    """The base class of Suspectra's errors.

    Parameters
    ----------
    problem : Problem
        What is wrong and what to do. It is an attribute, and its text is the error's message.

    Examples
    --------
    >>> raise SuspectraError(Problem("", "", "no test failed", "record a failing run"))
    Traceback (most recent call last):
    suspectra_recorder.errors.SuspectraError: no test failed. Fix: record a failing run
    """

    def __init__(self, problem: Problem):
        super().__init__(str(problem))
        self.problem = problem


class UsageError(SuspectraError):
    """A request that makes no sense, such as an unknown technique (exit status 2)."""

"""What can go wrong, said so that the reader can fix it."""

from __future__ import annotations

from dataclasses import asdict, dataclass


@dataclass(frozen=True, order=True)
class Problem:
    """One thing that is wrong with the evidence, and how to put it right.

    Parameters
    ----------
    file : str
        The file the problem is in, as the user would name it.
    place : str
        Where in the file: a line, a record, a table, a test. Empty when it is the whole file.
    cause : str
        What is wrong, a full sentence without its stop.
    cure : str
        What the user can do about it, a full sentence without its stop.

    Examples
    --------
    >>> print(Problem(".coverage", "", "it holds no contexts", "run pytest with --cov-context=test"))
    .coverage: it holds no contexts. Fix: run pytest with --cov-context=test

    A message of somebody else may bring its own stop:

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
        stop = "" if text.endswith((".", "!", "?")) else "."  # messages of others may bring their own
        return f"{text}{stop} Fix: {self.cure}" if self.cure else text

    def as_dict(self) -> dict[str, str]:
        """The four fields by name, as the JSON output prints them.

        Returns
        -------
        dict of str to str
            Keys ``file``, ``place``, ``cause`` and ``cure``.
        """
        return asdict(self)


class SuspectraError(Exception):
    """The root of every error Suspectra raises on purpose.

    Parameters
    ----------
    problem : Problem
        What is wrong and what to do; kept as an attribute, and its text is the error's.

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

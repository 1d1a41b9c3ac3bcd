"""What the commands that run failing tests altered have in common."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

import click

from suspectra.errors import EvidenceError, Problem, UsageError

if TYPE_CHECKING:
    from suspectra.evidence.evidence import Evidence
    from suspectra.experiments.repeated_tests import FailingTest

COMMAND = "suspectra.command"
"""In `click.Context.meta`: the arguments behind ``--``."""


class BeforeCommand(click.Command):
    """A command whose arguments end at ``--``; what follows is a command of its own.

    Examples
    --------
    >>> command = BeforeCommand("causes", params=[click.Argument(["test"])])
    >>> context = click.Context(command)
    >>> command.parse_args(context, ["test_sum", "--", "pytest", "-x"])
    []
    >>> context.params, context.meta[COMMAND]
    ({'test': 'test_sum'}, ['pytest', '-x'])
    >>> command.collect_usage_pieces(context)
    ['[OPTIONS]', 'TEST', '[-- pytest ...]']
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse as click does what comes before ``--``.

        Parameters
        ----------
        ctx : click.Context
            Gets what follows.
        args : list of str
            All arguments.

        Returns
        -------
        list of str
            What is left of those before ``--``.
        """
        end = args.index("--") if "--" in args else len(args)
        ctx.meta[COMMAND] = args[end + 1 :]
        return super().parse_args(ctx, args[:end])

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        """Name the arguments as click does, and what may follow.

        Parameters
        ----------
        ctx : click.Context
            Of the command.

        Returns
        -------
        list of str
            For the line of usage.
        """
        return [*super().collect_usage_pieces(ctx), "[-- pytest ...]"]


def require_unchanged(evidence: Evidence, executed: Collection[str], workspace: Path) -> None:
    """Refuse sources that were edited since the tests were recorded: results would be shown at other lines.

    Parameters
    ----------
    evidence : Evidence
        The recording.
    executed : collection of str
        The files that matter.
    workspace : Path
        The folder.

    Raises
    ------
    EvidenceError
        With the first file that was edited.

    Examples
    --------
    >>> import hashlib
    >>> import numpy as np
    >>> from suspectra.evidence.evidence import Evidence
    >>> from suspectra.measured_file import MeasuredFile
    >>> _ = (folder / "cart.py").write_text("total = 1")
    >>> lines = np.array([1], np.int32)
    >>> cart = MeasuredFile("cart.py", hashlib.sha256(b"total = 0").hexdigest(), lines, lines, lines - 2, ())
    >>> require_unchanged(Evidence("by hand", (), (cart,), (), lines[:0]), {"cart.py"}, folder)
    Traceback (most recent call last):
    suspectra.errors.EvidenceError: cart.py: it was changed after the tests ran, so experiments …
    """
    from suspectra.evidence.sources import Sources

    sources = Sources(workspace)
    for file in evidence.files:
        if file.path in executed and (problem := sources.change(file.path, file.digest)) is not None:
            cause = "it was changed after the tests ran, so experiments would not fit the recording"
            raise EvidenceError(Problem(problem.file, "", cause, "record the tests again"))


def has_python(evidence: Evidence) -> bool:
    """Say whether any of a program is Python.

    Parameters
    ----------
    evidence : Evidence
        Of the program.

    Returns
    -------
    bool
        Whether pytest may have run its tests.

    Examples
    --------
    >>> import numpy as np
    >>> from suspectra.evidence.evidence import Evidence
    >>> from suspectra.measured_file import MeasuredFile
    >>> lines = np.array([1], np.int32)
    >>> files = [MeasuredFile(name, None, lines, lines, lines - 2, ()) for name in ("cart.c", "cart.py")]
    >>> [has_python(Evidence("by hand", (), (file,), (), lines[:0])) for file in files]
    [False, True]
    """
    from suspectra.program.languages import is_python

    return any(is_python(file.path) for file in evidence.files)


def require_python(evidence: Evidence) -> None:
    """Refuse tests of programs that are not Python: pytest can't run them again.

    Parameters
    ----------
    evidence : Evidence
        The recording.

    Raises
    ------
    EvidenceError
        When nothing of it is Python.

    Examples
    --------
    >>> import numpy as np
    >>> from suspectra.evidence.evidence import Evidence
    >>> from suspectra.measured_file import MeasuredFile
    >>> lines = np.array([1], np.int32)
    >>> cart = MeasuredFile("cart.c", None, lines, lines, lines - 2, ())
    >>> require_python(Evidence("by hand", (), (cart,), (), lines[:0]))
    Traceback (most recent call last):
    suspectra.errors.EvidenceError: by hand: these are not tests of Python, … Fix: …
    """
    if not has_python(evidence):
        cause = "these are not tests of Python, and only such tests can be traced, or run with something altered"
        cure = (
            "compare a test of C or C++ with others, or switch its decisions, by `suspectra paths TEST --ctest BUILD`"
        )
        raise EvidenceError(Problem(evidence.source, "", cause, cure))


def failing_tests(evidence: Evidence, wanted: Sequence[str]) -> dict[str, FailingTest]:
    """Find the tests that are run altered: what was named, else all that fail.

    Parameters
    ----------
    evidence : Evidence
        The recording.
    wanted : sequence of str
        Names of tests, classes or files, or globs; folders in front and parameters may be left out.

    Returns
    -------
    dict of str to FailingTest
        By name.

    Raises
    ------
    EvidenceError
        When no recorded test fails.
    UsageError
        When a name fits no failing test.

    Examples
    --------
    >>> import numpy as np
    >>> from suspectra import Evidence
    >>> from suspectra.evidence.evidence import TestResult, Verdict
    >>> tests = TestResult("test_sum", Verdict.FAILED), TestResult("test_tax", Verdict.PASSED)
    >>> evidence = Evidence("by hand", tests, (), (), np.zeros(0, np.int32))
    >>> list(failing_tests(evidence, [])), list(failing_tests(evidence, ["*sum"]))
    (['test_sum'], ['test_sum'])
    >>> failing_tests(evidence, ["test_tax"])
    Traceback (most recent call last):
    suspectra_recorder.errors.UsageError: test_tax: this test passed when it was recorded. Fix: …
    """
    from suspectra.experiments.repeated_tests import FailingTest

    known = {test.name for test in evidence.tests}
    raised = {name: stack.exception for name, stack in evidence.stacks.items()}
    failing = {test.name: FailingTest.from_result(test, raised.get(test.name, "")) for test in evidence.failing}
    if not failing:
        raise EvidenceError(Problem(evidence.source, "", "no recorded test fails", "record a failing test first"))
    names = _named(wanted, list(failing), known) if wanted else failing
    return {name: failing[name] for name in names}


def one_failing_test(evidence: Evidence, wanted: str) -> FailingTest:
    """Find the failing test that a command is about.

    Parameters
    ----------
    evidence : Evidence
        The recording.
    wanted : str
        Its name, with or without folders and parameters, or a glob; what fits no other failing test.

    Returns
    -------
    FailingTest
        With its module.

    Raises
    ------
    EvidenceError
        When no recorded test fails.
    UsageError
        When the name fits no failing test, or several.

    Examples
    --------
    >>> import numpy as np
    >>> from suspectra import Evidence
    >>> from suspectra.evidence.evidence import TestResult, Verdict
    >>> tests = tuple(TestResult(name, Verdict.FAILED) for name in ("test_sum", "test_tax"))
    >>> evidence = Evidence("by hand", tests, (), (), np.zeros(0, np.int32))
    >>> one_failing_test(evidence, "*tax").name
    'test_tax'
    >>> one_failing_test(evidence, "test_*")
    Traceback (most recent call last):
    suspectra_recorder.errors.UsageError: test_*: it fits 2 failing tests. Fix: name one of them, such as test_sum
    """
    failing = failing_tests(evidence, [wanted])
    if len(failing) > 1:
        cause = f"it fits {len(failing)} failing tests"
        raise UsageError(Problem(wanted, "", cause, f"name one of them, such as {next(iter(failing))}"))
    (test,) = failing.values()
    return test


def _fits(name: str, text: str) -> bool:
    """Whether a text means a test: a module, a class, a name without parameters, or a glob.

    Folders at the front may be left out, as they are in what is printed.
    """
    return fnmatchcase(name, text) or any(
        shorter == text or shorter.startswith((f"{text}::", f"{text}[")) for shorter in _without_folders(name)
    )


def _without_folders(name: str) -> Iterator[str]:
    """A name, and what is left of it without the first folder, the first two folders and so on."""
    module, separator, inside = name.partition("::")
    folders = module.split("/")
    yield from ("/".join(folders[i:]) + separator + inside for i in range(len(folders)))


def _named(wanted: Sequence[str], failing: Sequence[str], known: Collection[str]) -> list[str]:
    chosen: dict[str, None] = {}
    for text in wanted:
        fitting = [name for name in failing if _fits(name, text)]
        if not fitting:
            cause = "this test passed when it was recorded" if text in known else "no recorded test has this name"
            raise UsageError(Problem(text, "", cause, f"failing tests are: {', '.join(failing[:5])}"))
        chosen.update(dict.fromkeys(fitting))
    return list(chosen)

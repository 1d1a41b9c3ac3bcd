"""Errors of the recorder's hooks: they are noted in the recording, and the user's run continues.

An error of the recorder must not end or change the run, so all that it does in pytest's hooks and around unittest's
methods goes through here.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Generator
from contextlib import suppress
from typing import Any, Protocol, TypeVar

from suspectra_recorder.errors import Problem
from suspectra_recorder.instrumentation import library_references
from suspectra_recorder.instrumentation.failure_guard import Guard
from suspectra_recorder.recorder import Recorder
from suspectra_recorder.settings import FOLDER, RECORDING

__builtins__ = library_references.builtins
__tracebackhide__ = True  # pytest omits these frames from tracebacks

Result = TypeVar("Result")
_Plugin = TypeVar("_Plugin", bound=type)


def failed(step: str, cause: str) -> Problem:
    """Make the problem of a failure of the recorder."""
    return Problem(
        f"{FOLDER}/{RECORDING}",
        step,
        f"the recorder failed: {cause}",
        "report it; the tests ran as they do without it, but some of them may be missing from the recording",
    )


class HookErrors:
    """Catches errors of the recorder, and notes them in the recording."""

    def __init__(self, recorder: Recorder):
        self._recorder = recorder
        self._guard = Guard()
        self._noted: set[str] = set()

    def attempt(self, step: str, do: Callable[..., Result], *arguments: object) -> Result | None:
        """Call a function that may fail; the first failure of each step is noted in the recording.

        Its result; None if it fails.
        """
        result = self._guard.attempt(step, do, *arguments)
        # taken out, so that a later failure of the step is seen, too
        cause = self._guard.failures.pop(step, None)
        if cause is not None:
            self._guard.attempt(step, self._note, step, cause)
        return result

    def _note(self, step: str, cause: str) -> None:
        if step not in self._noted:
            self._noted.add(step)
            problem = failed(step, cause)
            self._recorder.problem(problem.file, problem.place, problem.cause, problem.cure)

    def around(
        self, step: str, around: Callable[..., object], original: Callable[..., Result]
    ) -> Callable[..., Result]:
        """Wrap a function by another one; the inner one is called once, even if the outer one fails."""

        @functools.wraps(original)
        def wrapped(*arguments: Any, **more: Any) -> Any:
            # the inner function may have been called before the outer one failed, and is never called twice
            ended: list[tuple[Any, BaseException | None]] = []

            @functools.wraps(original)
            def run(*own_arguments: Any, **own_more: Any) -> Any:
                try:
                    ended.append((original(*own_arguments, **own_more), None))
                except BaseException as error:
                    ended.append((None, error))
                    raise
                return ended[-1][0]

            def tried() -> None:
                try:
                    around(run, *arguments, **more)
                except BaseException as error:
                    if not ended or ended[-1][1] is not error:  # else it is the inner function's error, raised below
                        raise

            self.attempt(step, tried)
            if not ended:
                return original(*arguments, **more)
            result, error = ended[-1]
            if error is not None:
                raise error
            return result

        return wrapped


class _Attempting(Protocol):
    def attempt(self, step: str, do: Callable[..., Any], *arguments: Any) -> Any: ...


def contained(plugin: _Plugin) -> _Plugin:
    """Make each hook of a plugin class run by its method ``attempt``, which catches errors."""
    for name, hook in list(vars(plugin).items()):
        if name.startswith("pytest_"):
            # pluggy looks whether a hook is a generator, so each gets a wrapper of its own sort
            contain = _around_others if inspect.isgeneratorfunction(hook) else _alone
            setattr(plugin, name, contain(name, hook))
    return plugin


def _alone(name: str, hook: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(hook)
    def attempted(self: _Attempting, *arguments: Any) -> Any:
        return self.attempt(name, hook, self, *arguments)

    return attempted


def _around_others(name: str, hook: Callable[..., Generator[None, Any, None]]) -> Callable[..., Any]:
    @functools.wraps(hook)
    def attempted(self: _Attempting, *arguments: Any) -> Generator[None, Any, None]:
        steps = hook(self, *arguments)
        self.attempt(name, next, steps)
        outcome = yield
        self.attempt(name, _finish, steps, outcome)

    return attempted


def _finish(steps: Generator[None, Any, None], outcome: Any) -> None:
    """Run the part of a hook after the other hooks, unless it failed before them."""
    with suppress(StopIteration):
        steps.send(outcome)

"""Errors of the recorder where it is hooked into a runner: the recording says so, and the user's run goes on."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Generator
from contextlib import suppress
from typing import Any, Protocol, TypeVar

from suspectra_recorder.errors import Problem
from suspectra_recorder.instrumentation import own
from suspectra_recorder.instrumentation.guard import Guard
from suspectra_recorder.recorder import Recorder
from suspectra_recorder.settings import FOLDER, RECORDING

__builtins__ = own.builtins
__tracebackhide__ = True  # pytest leaves out what stands between the program and its error

_Plugin = TypeVar("_Plugin", bound=type)


def failed(step: str, cause: str) -> Problem:
    """Make the problem that says at which step of the run the recorder failed.

    Parameters
    ----------
    step : str
        The step, as a user can read it.
    cause : str
        The exception and its message.

    Returns
    -------
    Problem
        With what to do about it.
    """
    return Problem(
        f"{FOLDER}/{RECORDING}",
        step,
        f"the recorder failed: {cause}",
        "report it; the tests ran as they do without it, but some of them may be missing from the recording",
    )


class HookErrors:
    """Keeps errors of the recorder out of the run, and notes them in the recording.

    Parameters
    ----------
    recorder : Recorder
        The recording that says what failed.
    """

    def __init__(self, recorder: Recorder):
        self._recorder = recorder
        self._guard = Guard()
        self._noted: set[str] = set()

    def attempt(self, step: str, do: Callable[..., Any], *arguments: Any) -> Any:
        """Call a function that may fail, which the recording then says once for each step.

        Parameters
        ----------
        step : str
            What is tried, as a user can read it.
        do : callable
            The function.
        *arguments : object
            Its arguments.

        Returns
        -------
        object
            What it returns; None where it fails.
        """
        result = self._guard.attempt(step, do, *arguments)
        cause = self._guard.failures.pop(step, None)
        if cause is not None:
            self._guard.attempt(step, self._note, step, cause)
        return result

    def _note(self, step: str, cause: str) -> None:
        if step not in self._noted:
            self._noted.add(step)
            problem = failed(step, cause)
            self._recorder.problem(problem.file, problem.place, problem.cause, problem.cure)

    def around(self, step: str, around: Callable[..., Any], original: Callable[..., Any]) -> Callable[..., Any]:
        """Put a function around another one; the inner one is called once, whether the outer one fails or not.

        Parameters
        ----------
        step : str
            What is tried, as a user can read it.
        around : callable
            Takes the inner function and its arguments, and calls it; it may fail.
        original : callable
            The inner function.

        Returns
        -------
        callable
            Takes the arguments of the inner function, and returns and raises what that does.
        """

        @functools.wraps(original)
        def wrapped(*arguments: Any, **more: Any) -> Any:
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
                    if not ended or ended[-1][1] is not error:  # else it is the run's own, which is raised below
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
    """Have each hook of a plugin class run by its method ``attempt``, which lets no error out.

    Parameters
    ----------
    plugin : type
        The class; it has a method ``attempt``, as `HookErrors` has.

    Returns
    -------
    type
        The same class, changed.
    """
    for name, hook in list(vars(plugin).items()):
        if name.startswith("pytest_"):
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
    """What a hook does after the others; nothing where it failed before them."""
    with suppress(StopIteration):
        steps.send(outcome)

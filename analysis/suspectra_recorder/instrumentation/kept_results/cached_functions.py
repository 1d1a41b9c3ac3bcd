"""Functions with a cache, `functools.lru_cache` and `functools.cache`.

The class of such functions is replaced by one around it, with which the cache keeps what made a value beside the
value. So each hit tells what it used, and what is evicted or cleared is made again. All else is that of the function
inside: arguments, numbers, the order in which values are evicted.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from types import FrameType, FunctionType, MethodType, ModuleType
from typing import Any

from suspectra_recorder.instrumentation import library_references
from suspectra_recorder.instrumentation.failure_guard import like_an_import
from suspectra_recorder.instrumentation.first_imports import FirstImports
from suspectra_recorder.instrumentation.kept_results.results import KeptResults, MakingCapture
from suspectra_recorder.instrumentation.library_references import sys
from suspectra_recorder.instrumentation.thread_captures import Making

__builtins__ = library_references.builtins
__tracebackhide__ = True  # pytest omits these frames from tracebacks

_MODULE, _NAME = "functools", "_lru_cache_wrapper"
_FRAMES = 6
"""How much deeper the stack is below a cached function, for which there has to be room."""


class _Kept:
    """What is in the cache."""

    __slots__ = ("making", "value")

    def __init__(self, value: object, making: Making | None):
        self.value, self.making = value, making


class CachedFunctions:
    """Lets functions that get a cache from now on keep what made its values."""

    def __init__(self, imports: FirstImports, contains: Callable[[str], bool]):
        self._imports = imports
        self._results = KeptResults(imports.captures)
        self._contains = contains  # whether a source is in the workspace
        self._ours: dict[str, bool] = {}  # the same by path, as there may be a cache for each of many objects
        self._replaced: list[tuple[ModuleType, type]] = []  # the modules and the classes that were there

    def install(self) -> None:
        """Start."""
        if _MODULE in sys.modules:
            self._replace()
        # the recorder may have a module of its own, where the program has none yet
        self._imports.when_executed(_MODULE, self._replace)

    def uninstall(self) -> None:
        """Stop; functions that have a cache keep it."""
        while self._replaced:
            module, original = self._replaced.pop()
            setattr(module, _NAME, original)

    def _replace(self) -> None:
        module = sys.modules[_MODULE]
        original = getattr(module, _NAME, None)
        if isinstance(original, type) and all(module is not other for other, _ in self._replaced):
            self._replaced.append((module, original))
            setattr(module, _NAME, self._class(original))

    def _class(self, original: Any) -> type:
        results, attempt, is_wanted = self._results, self._results.captures.hook.guard.attempt, self._is_wanted
        captures, running, add = results.captures, results.captures.running, results.captures.outside.found.add

        class SameInstances(type):
            def __instancecheck__(cls, instance: object) -> bool:
                return type(instance) is cls or isinstance(instance, original)

        class Wrapper(metaclass=SameInstances):
            _inside: Any
            __slots__ = ("__dict__", "__weakref__", "_inside")
            __doc__ = original.__doc__

            def __new__(cls, function: Any, maxsize: Any, typed: Any, info: Any, /) -> Any:
                wanted = maxsize != 0 and attempt("a cached function", is_wanted, function, sys._getframe(1))
                if not wanted or not callable(function):
                    return original(function, maxsize, typed, info)
                made = object.__new__(cls)
                made._inside = original(_keeping(results, function), maxsize, typed, info)
                return made

            @like_an_import
            def __call__(self, /, *arguments: Any, **names: Any) -> Any:
                kept = self._inside(*arguments, **names)
                if kept.making is not None:
                    # without another call, as there may be millions of hits
                    (captures.uses.found.add if running else add)(kept.making)
                return kept.value

            def __get__(self, instance: object, owner: object = None) -> Any:
                return self if instance is None else MethodType(self, instance)

            @property
            def cache_info(self) -> Any:
                return self._inside.cache_info

            @property
            def cache_clear(self) -> Any:
                return self._inside.cache_clear

            def __reduce__(self: Any) -> Any:
                return self.__qualname__

            def __copy__(self) -> Any:
                return self

            def __deepcopy__(self, memo: object) -> Any:
                return self

        Wrapper.__name__, Wrapper.__qualname__, Wrapper.__module__ = _NAME, original.__qualname__, original.__module__
        return Wrapper

    def _is_wanted(self, function: Any, caller: FrameType | None) -> bool:
        """Whether a function, or the code that gives it a cache, is in the workspace."""
        while caller is not None and caller.f_globals.get("__name__") == _MODULE:
            caller = caller.f_back
        partial = getattr(sys.modules[_MODULE], "partial", None)
        while type(function) in (partial, MethodType):
            function = function.func if type(function) is partial else function.__func__
        code = function.__code__ if type(function) is FunctionType else None
        paths = [one.co_filename for one in (code, caller and caller.f_code) if one is not None]
        return any(map(self._is_ours, paths))

    def _is_ours(self, path: str) -> bool:
        known = self._ours.get(path)
        if known is None:
            known = self._ours[path] = path.endswith(".py") and self._contains(path)
        return known


def _keeping(results: KeptResults, function: Callable[..., Any]) -> Callable[..., _Kept]:
    """Make a function that returns, with a value, what made it."""
    captures, limit, set_limit = results.captures, sys.getrecursionlimit, sys.setrecursionlimit

    @like_an_import
    def made(*arguments: Any, **names: Any) -> _Kept:
        if not results.active:
            return _Kept(function(*arguments, **names), None)
        capture = MakingCapture(captures, results, "a cached function")
        before = limit()
        set_limit(before + _FRAMES)
        try:
            with capture:
                value = function(*arguments, **names)
                capture.kept = True
        finally:
            if limit() == before + _FRAMES:
                with suppress(RecursionError):
                    set_limit(before)
        return _Kept(value, capture.making)

    return made

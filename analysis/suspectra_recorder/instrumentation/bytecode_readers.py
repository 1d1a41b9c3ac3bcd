"""Functions whose bytecode something reads, to compile it in its own way or to find out what a lambda says.

Reading ``__code__`` of a function raises an audit event before the code is handed out. If the reader belongs to a
package that imports ``dis`` or ``opcode``, without which nobody can read bytecode, the function first gets back the
code that it has without us, and keeps it. A pickler only passes the code on. An audit hook can't be removed, so it is
installed only when such a package is loaded.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import CodeType, FrameType, FunctionType
from typing import Any

from suspectra_recorder.instrumentation import library_references
from suspectra_recorder.instrumentation.failure_guard import Guard
from suspectra_recorder.instrumentation.library_references import _thread, hashlib, sys

__builtins__ = library_references.builtins
__tracebackhide__ = True  # pytest omits these frames from tracebacks

_OWN = "suspectra_recorder"
_TABLES = ("dis", "opcode")  # the modules without which bytecode can't be read
_ABOUT = "functions whose bytecode is read"
_PICKLING_DEPTH = 8

_active: list[BytecodeReaders] = []
_busy: set[int] = set()  # threads that are in the audit hook
_hooked: list[bool] = []


class BytecodeReaders:
    """Gives functions whose bytecode is read their own code."""

    def __init__(self, guard: Guard):
        self.guard = guard  # catches failures
        # by path of the source: the functions that have their own code again, with the package that reads it
        self.left_alone: dict[str, dict[str, str]] = {}
        self._packages = {*_TABLES}
        self._sources: dict[str, tuple[str, int]] = {}  # digest and flags by path
        self._compiled: dict[tuple[str, str], CodeType] = {}

    def install(self) -> None:
        """Start watching the packages that are loaded already."""
        _active.append(self)
        for name, module in list(sys.modules.items()):
            if name.partition(".")[0] not in sys.stdlib_module_names:
                self.guard.attempt(_ABOUT, self.executed, name, getattr(module, "__dict__", {}))

    def uninstall(self) -> None:
        """Stop."""
        if self in _active:
            _active.remove(self)

    def instrumented(self, path: str, digest: str, flags: int) -> None:
        """Note that a source was loaded with changes."""
        self._sources[path] = digest, flags

    def loaded(self, name: str, code: CodeType | None) -> None:
        """Note that a module is about to run."""
        if code is not None and any(table in code.co_names for table in _TABLES):
            self._add(name)

    def executed(self, name: str, names: Mapping[str, object]) -> None:
        """Note what a module imported that was loaded in another way."""
        if any(table in names for table in _TABLES) or any(
            value.__module__ in _TABLES for value in list(names.values()) if type(value) in (FunctionType, type)
        ):
            self._add(name)

    def _add(self, module: str) -> None:
        package = module.partition(".")[0]
        if package != _OWN and package not in sys.stdlib_module_names:
            self._packages.add(package)
            if not _hooked:
                _hooked.append(True)
                sys.addaudithook(_audit)

    def read(self, function: object, reader: FrameType) -> None:
        """Give a function its own code before somebody gets it, if that is one who reads bytecode."""
        package = str(reader.f_globals.get("__name__", "")).partition(".")[0]
        if package not in self._packages or type(function) is not FunctionType or _pickles(reader):
            return
        code = function.__code__
        if _is_changed(code) and (own := self._own(code)) is not None:
            function.__code__ = own
            name = getattr(code, "co_qualname", code.co_name).replace(".<locals>", "")
            self.left_alone.setdefault(code.co_filename, {})[name] = package

    def _own(self, code: CodeType) -> CodeType | None:
        path = code.co_filename
        if path not in self._sources:
            return None
        digest, flags = self._sources[path]
        if (path, digest) not in self._compiled:
            with open(path, "rb") as stream:
                source = stream.read()
            if hashlib.sha256(source).hexdigest() != digest:
                return None
            self._compiled[path, digest] = compile(source, path, "exec", flags, dont_inherit=True)
        same = [other for other in _all_in(self._compiled[path, digest]) if _key(other) == _key(code)]
        return max(same, key=lambda other: _common(other, code), default=None)


def _audit(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "object.__getattr__" and _active and arguments[1] == "__code__":
        thread = _thread.get_ident()
        if thread not in _busy:
            _busy.add(thread)
            try:
                reader = sys._getframe(1)
                for readers in _active:
                    readers.guard.attempt(_ABOUT, readers.read, arguments[0], reader)
            finally:
                _busy.discard(thread)


def _is_changed(code: CodeType) -> bool:
    """Whether code has constants of ours."""
    return any(
        _is_changed(value) if type(value) is CodeType else type(value).__module__.partition(".")[0] == _OWN
        for value in code.co_consts
    )


def _pickles(frame: FrameType | None) -> bool:
    """Whether a pickler asks."""
    pickle = sys.modules.get("pickle")
    kinds = tuple(filter(None, (getattr(pickle, "_Pickler", None), getattr(pickle, "Pickler", None))))
    for _ in range(_PICKLING_DEPTH if kinds else 0):
        if frame is None:
            break
        first = frame.f_code.co_varnames[:1]
        if first and isinstance(frame.f_locals.get(first[0]), kinds):
            return True
        frame = frame.f_back
    return False


def _all_in(code: CodeType) -> Iterator[CodeType]:
    for value in code.co_consts:
        if type(value) is CodeType:
            yield value
            yield from _all_in(value)


def _key(code: CodeType) -> tuple[object, ...]:
    arguments = code.co_argcount + code.co_kwonlyargcount
    name = getattr(code, "co_qualname", code.co_name)
    return name, code.co_firstlineno, code.co_flags, code.co_freevars, code.co_varnames[:arguments]


def _common(own: CodeType, changed: CodeType) -> int:
    """How much the two have in common, to tell lambdas on one line from each other."""
    if sys.version_info >= (3, 11):
        return len(set(own.co_positions()) & set(changed.co_positions()))
    return len({*own.co_names, *own.co_consts} & {*changed.co_names, *changed.co_consts})

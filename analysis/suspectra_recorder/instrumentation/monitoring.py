"""Probes that cost almost nothing after their first pass, by ``sys.monitoring`` (Python 3.12 and newer).

In instrumented code, each store of a probe is replaced by a jump over it. Python reports the first time that the jump
is taken, and then no more, so that only the cost of the jump remains. The cells and their meaning are the same as
without monitoring, so recordings do not differ. Stores of another form, such as those inside expressions, are not
replaced.

Line events would come twice for each statement. Branch events can't be switched off for a single arm up to Python 3.13.
Neither tells whether the last statement of a ``try`` ended normally or by an exception.

So there is one rewriting for two recorders. Events of unchanged code would need a second set of rules for which of them
are statements and arms, another one for each version of Python. Instead each store becomes a jump, which is an event of
its own, and a store that is not recognised stays a store.
"""

from __future__ import annotations

import inspect
import opcode
import re
from collections.abc import Callable, Iterator, MutableSequence
from types import CodeType
from typing import Any, Protocol
from weakref import KeyedRef

from suspectra_recorder.instrumentation import library_references
from suspectra_recorder.instrumentation.cell_constants import CELLS, exchanged
from suspectra_recorder.instrumentation.library_references import sys

__builtins__ = library_references.builtins

_CODES = opcode.opmap
_JUMP = _CODES.get("JUMP_FORWARD", 0)
_EXTENDED = _CODES["EXTENDED_ARG"]
_SMALL = _CODES.get("LOAD_SMALL_INT", -1)
_monitoring: Any = getattr(sys, "monitoring", None)  # Python 3.12 and newer
# 0, 1, 2 and 5 have a predefined purpose, and Hypothesis takes 3 in the middle of a test, whoever has it
_TOOL = 4


class _File(Protocol):
    @property
    def cells(self) -> MutableSequence[int]: ...


def unavailable() -> str:
    """Return why this process can't have a :class:`Monitor`.

    The reason; empty if it can.
    """
    if _monitoring is None:
        return f"Python {sys.version_info[0]}.{sys.version_info[1]} has no sys.monitoring"
    user = _monitoring.get_tool(_TOOL)
    return "" if user is None else f"sys.monitoring is in use by {user}"


class Monitor:
    """Watches the probes of this process.

    Raises RuntimeError when unavailable returns a reason.
    """

    def __init__(self) -> None:
        if reason := unavailable():
            raise RuntimeError(reason)
        self._open = True
        self._watched: dict[int, tuple[KeyedRef[int, CodeType], _File, dict[int, int]]] = {}
        self._gone: list[KeyedRef[int, CodeType]] = []  # references to deleted code
        self._passed: dict[int, None] = {}  # an ordered set of keys of the above
        self._stand_in: Callable[[Any], MutableSequence[int]] | None = None
        self.once = True  # whether a probe is reported only once until `rearm`
        _monitoring.use_tool_id(_TOOL, "suspectra")
        _monitoring.register_callback(_TOOL, _monitoring.events.JUMP, self._callback())

    def _callback(self) -> Callable[[CodeType, int, int], object]:
        watched, passed, disable = self._watched, self._passed, _monitoring.DISABLE

        def jumped(code: CodeType, offset: int, _: int) -> object:
            key = id(code)
            if key in watched:
                _reference, file, cells = watched[key]
                if offset in cells:  # other jumps are those of the source
                    stand_in = self._stand_in
                    if stand_in is not None:
                        stand_in(file)[cells[offset]] = 1
                        return None  # keep reporting: other threads have other cells
                    file.cells[cells[offset]] = 1
                    passed[key] = None
                    if not self.once:
                        return None
            return disable

        return jumped

    def watch(self, code: CodeType, name: str, file: _File) -> CodeType:
        """Replace the stores of probes by jumps; running the code then sets the cells of the file."""
        constants = tuple(
            self.watch(c, name, file) if type(c) is CodeType else exchanged(c, name, file) for c in code.co_consts
        )
        # types.coroutine copies the code of generators, and the copies would not be watched
        stores = {} if code.co_flags & inspect.CO_GENERATOR else dict(_stores(code, name))
        instructions = bytearray(code.co_code)
        cells: dict[int, int] = {}
        for (start, end), cell in stores.items():
            # over the rest of the store: the cell is set by the callback
            instructions[start] = _JUMP
            instructions[start + 1] = (end - start) // 2 - 1
            cells[start] = cell
        code = code.replace(co_code=bytes(instructions), co_consts=constants)
        if cells:
            self._forget_gone()
            key = id(code)
            # no Python function as callback: an exception of a signal handler in it would be lost
            self._watched[key] = KeyedRef(code, self._gone.append, key), file, cells
            _monitoring.set_local_events(_TOOL, code, _monitoring.events.JUMP)
        return code

    def _forget_gone(self) -> None:
        while self._gone:
            reference = self._gone.pop()
            if reference.key in self._watched and self._watched[reference.key][0] is reference:
                del self._watched[reference.key]

    def rearm(self) -> None:
        """Report the next pass of every probe again."""
        # not sys.monitoring.restart_events, which affects other tools too
        events = _monitoring.events
        while self._passed:
            key, _ = self._passed.popitem()
            code = self._watched[key][0]() if key in self._watched else None
            if code is not None:
                # off and on again: only then it reports jumps that it was told to report no more
                _monitoring.set_local_events(_TOOL, code, events.NO_EVENTS)
                _monitoring.set_local_events(_TOOL, code, events.JUMP)

    def store_into(self, stand_in: Callable[[Any], MutableSequence[int]] | None) -> None:
        """Redirect stores to other cells, at every pass."""
        self._stand_in = stand_in
        self.rearm()

    def close(self) -> None:
        """Release the tool id; watched code still runs, but reports nothing."""
        if self._open:
            _monitoring.register_callback(_TOOL, _monitoring.events.JUMP, None)
            for code, _, _ in list(self._watched.values()):
                if (alive := code()) is not None:
                    _monitoring.set_local_events(_TOOL, alive, _monitoring.events.NO_EVENTS)
            _monitoring.free_tool_id(_TOOL)
            self._open = False


def _unit(*names: str) -> bytes:
    """A pattern for one instruction with any argument, followed by its inline cache."""
    codes = b"".join(re.escape(bytes([_CODES[name]])) for name in names if name in _CODES)
    return b"(?:%b.)*[%b].(?:\0\0)*" % (re.escape(bytes([_EXTENDED])), codes)


_CONSTANT = _unit("LOAD_CONST", "LOAD_SMALL_INT")
_STORE = re.compile(_CONSTANT * 2 + _unit("LOAD_ATTR") + _CONSTANT + _unit("STORE_SUBSCR"), re.DOTALL)


def _stores(code: CodeType, name: str) -> Iterator[tuple[tuple[int, int], int]]:
    """The start and end of each ``file.cells[cell] = 1`` in the bytecode, and the cell."""
    for match in _STORE.finditer(code.co_code):
        # bytes of an argument that look like instructions
        if match.start() % 2:
            continue
        one, (load, file), (_, attribute), cell, _ = _instructions(match.group())
        if load == _SMALL or code.co_consts[file] != name or code.co_names[attribute >> 1] != CELLS:
            continue
        if _number(code, *one) == 1:
            yield match.span(), _number(code, *cell)


def _number(code: CodeType, load: int, value: int) -> int:
    return value if load == _SMALL else code.co_consts[value]


def _instructions(data: bytes) -> Iterator[tuple[int, int]]:
    extended = 0
    for i in range(0, len(data), 2):
        if data[i] == _EXTENDED:
            extended = (extended | data[i + 1]) << 8
        elif data[i]:
            yield data[i], extended | data[i + 1]
            extended = 0

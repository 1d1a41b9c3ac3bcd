"""`Tracer`: the traced sources of a process; `_Gate`: how the code of one function reaches the probes.

Code calls its probes through a gate, a constant of the code. While nothing is traced, and for functions outside of
those that are to be traced, the gate has the probes that only give back what they are given.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from types import CodeType
from typing import Any

from suspectra_recorder.experiments.decisions.switchboard import Switchboard
from suspectra_recorder.experiments.loading import Instrument
from suspectra_recorder.experiments.traces.probe_names import Probe
from suspectra_recorder.experiments.traces.probes import idle, probes
from suspectra_recorder.experiments.traces.statement_rewriting import Rewritten, rewrite
from suspectra_recorder.experiments.traces.trace_columns import MAX_IMPORTED, MAX_NODES, Columns
from suspectra_recorder.experiments.traces.traced_calls import TracedState
from suspectra_recorder.experiments.traces.traced_sources import TracedSource
from suspectra_recorder.instrumentation import library_references
from suspectra_recorder.instrumentation.library_references import _thread
from suspectra_recorder.instrumentation.parser_references import ast

__builtins__ = library_references.builtins

_OPERANDS = ("keep", "take", "drop")


class _Gate:
    """What code of a function has as a constant: the probes by name, as attributes.

    All gates of one state share one dictionary of attributes, so that they are opened and closed together.
    """


class Tracer(Instrument):
    """The traced sources of a process."""

    tests = True
    """Test code is traced, too: what it passes is what the program begins with."""

    def __init__(self, is_test: Callable[[str], bool]):
        self.sources: list[TracedSource] = []  # in the order in which they were loaded
        self._is_test = is_test
        self._test_paths: set[str] = set()
        self._gates: list[tuple[_Gate, str, int]] = []  # with its path, and where its outermost function begins
        board = Switchboard()  # keeps operands whose value may be that of the whole
        self._closed: dict[str, Probe] = {**idle, **{name: getattr(board, name) for name in _OPERANDS}}
        self._open = self._closed.copy()  # with the probes of a run while that is traced
        self._next = self._next_scope = 0
        self._frames: list[int] = []
        self._captured: dict[int, tuple[int, list[str]]] = {}
        # by function: the lines of a statement, its number, and whether it reads nothing
        self._by_line: dict[int, list[tuple[int, int, int, bool]]] = {}
        self._parts_by_line: dict[int, list[tuple[int, int, int]]] = {}  # what is called there, and decisions
        self._withs: set[int] = set()
        self._only: Collection[tuple[str, int]] | None = None
        self._thread = 0
        self._columns = Columns(0)
        self._state: TracedState | None = None
        self._defaulted: dict[int, int] = {}
        self.left_out_imports = False  # whether tracing what was imported made too many nodes
        self._imported: tuple[TracedState, dict[str, Probe]] | None = None  # what was traced before, and its probes

    def insert(self, tree: ast.Module, path: str, placeholder: str, *, asserts: bool) -> Callable[[], None]:
        """Let a source tell this tracer what it does."""
        is_test = self._is_test(path)
        if is_test:
            self._test_paths.add(path)
        made = rewrite(tree, path, placeholder, self._next, self._next_scope, is_test=is_test, asserts=asserts)
        return lambda: self._add(made)

    def _add(self, made: Rewritten) -> None:
        self.sources.append(made.source)
        _ = made.source.table  # made here, once, not in each process that is forked
        self._next_scope = made.next_scope
        callee = -1  # the site of what is called, the second one of a call
        for number, site in enumerate(made.source.sites, self._next):
            self._frames.append(site.frame)
            if site.kind == "native" and number != callee:
                callee = number + 1
            elif site.uses and site.kind in ("native", "decision"):
                self._parts_by_line.setdefault(site.frame, []).append((site.line, site.end_line, number))
            if site.kind == "with":
                self._withs.add(number)
            if site.kind == "default":
                ((_, default),) = site.uses
                self._defaulted[number] = int(default[1:])
            if site.kind not in ("entry", "parameter", "default", "target", "native", "argument", "nothing"):
                self._by_line.setdefault(site.frame, []).append((site.line, site.end_line, number, not site.uses))
        self._next += len(made.source.sites)
        self._captured.update(made.captured)

    def finish(self, code: CodeType, placeholder: str, path: str) -> CodeType:
        """Give compiled code its gates, one for each function of a module or class."""
        return self._with_gates(code, placeholder, path, self._gate(path, 0), in_function=False)

    def _with_gates(self, code: CodeType, name: str, path: str, gate: _Gate, *, in_function: bool) -> CodeType:
        constants: list[object] = []
        for constant in code.co_consts:
            if type(constant) is CodeType:
                is_function = bool(constant.co_flags & _NEW_LOCALS)
                # functions inside of a function are traced with it
                inner = self._gate(path, constant.co_firstlineno) if is_function and not in_function else gate
                constants.append(self._with_gates(constant, name, path, inner, in_function=in_function or is_function))
            else:
                constants.append(gate if type(constant) is str and constant == name else constant)
        return code.replace(co_consts=tuple(constants))

    def _gate(self, path: str, line: int) -> _Gate:
        gate = _Gate()
        self._gates.append((gate, path, line))
        self._connect(gate, path, line)
        return gate

    # a run

    def start(
        self, descriptor: int, only: Collection[tuple[str, int]] | None = None, most: int = MAX_NODES
    ) -> TracedState:
        """Trace from now on."""
        # for one run of this process: a fork has a copy of its own
        imported, self._imported = self._imported, None
        if imported is None:
            state, found = self._new_state(Columns(descriptor, most))
        else:
            state, found = imported
            state.columns.go_on(descriptor, most)
        self._limit_to(None if only is None else self._gates_at(only))
        self._trace(state, found)
        return state

    def _new_state(self, columns: Columns) -> tuple[TracedState, dict[str, Probe]]:
        state = TracedState(
            columns,
            self._frames,
            self._captured,
            self._site_at,
            self._parts_at,
            self._withs.__contains__,
            self._ask_who_calls,
            self._fill,
        )
        state.defaulted = self._defaulted
        return state, probes(state)

    def _trace(self, state: TracedState, found: dict[str, Probe]) -> None:
        self._state, self._columns = state, state.columns
        self._thread = _thread.get_ident()
        self._open.update(found)

    def trace_imports(self, most: int = MAX_IMPORTED) -> None:
        """Trace what runs while modules are imported; the next run goes on from there."""
        state, found = self._new_state(Columns(0, most))
        self._imported = state, found
        self._trace(state, found)

    def rest(self) -> None:
        """Trace no longer, until the next run: the modules are imported."""
        self.stop()
        if self._imported is not None:
            state, _ = self._imported
            state.rest()
            # then tests are traced without what was imported
            if state.columns.full:
                self._imported, self.left_out_imports = None, True

    def _limit_to(self, only: Collection[tuple[str, int]] | None) -> None:
        if only != self._only:
            self._only = only
            for gate, path, line in self._gates:
                self._connect(gate, path, line)

    def _gates_at(self, places: Collection[tuple[str, int]]) -> set[tuple[str, int]]:
        lines: dict[str, list[int]] = {}
        for _, path, line in self._gates:
            lines.setdefault(path, []).append(line)
        return {(path, max((one for one in lines.get(path, ()) if one <= line), default=-1)) for path, line in places}

    def stop(self) -> None:
        """Trace no longer."""
        self._open.update(self._closed)

    def _fill(self) -> None:
        """The trace has as many nodes as it may."""
        self._columns.full = True
        self.stop()

    def _connect(self, gate: _Gate, path: str, line: int) -> None:
        only = self._only
        is_open = only is None or (path, line) in only or path in self._test_paths
        # one dictionary for all, so that a run is opened and closed in one step
        gate.__dict__ = self._open if is_open else self._closed

    def _ask_who_calls(self) -> None:
        """Let calls by other threads than this one through, as if nothing was traced."""
        main, ident = self._thread, _thread.get_ident

        def checked(probe: Probe, otherwise: Probe) -> Probe:
            def asked(*given: Any) -> Any:
                return probe(*given) if ident() == main else otherwise(*given)

            return asked

        if self._state is not None:
            # probes that look at frames have this wrapper above them now
            self._state.between = 1
        self._open.update({name: checked(self._open[name], otherwise) for name, otherwise in idle.items()})

    def _site_at(self, frame: int, line: int) -> int:
        """The statement of a function at a line: the shortest that covers it, else what it decorates; -1 for none.

        What a ``yield`` gives is a part of a statement that may read nothing by itself.
        """
        known = self._by_line.get(frame, ())
        fitting = [(end - begin, idle, -number) for begin, end, number, idle in known if begin <= line <= end]
        if fitting:
            return -min(fitting)[2]
        return min(((begin, number) for begin, _, number, _ in known if begin > line), default=(0, -1))[1]

    def _parts_at(self, frame: int, line: int) -> list[int]:
        """What reads variables at a line of a function beside its statement: what is called, and decisions."""
        known = self._parts_by_line.get(frame, ())
        return [number for begin, end, number in known if begin <= line <= end]


_NEW_LOCALS = 0x02  # what code of functions has, and that of modules and classes has not: CO_NEWLOCALS

"""A compiled C or C++ object as its compiler described it: functions, basic blocks, arcs and lines.

Only the arcs that are not on a spanning tree of the graph are counted; the flow through the others follows by
conservation (:mod:`suspectra.program.c.flow`).

References
----------
Spanning-tree counters are from Knuth and Stevenson, "Optimal measurement points for program frequency counts", BIT 13
(1973), and Ball and Larus, "Optimally profiling and tracing programs", TOPLAS 16 (1994).
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from functools import cached_property

from suspectra.base.errors import Problem

ON_TREE, FAKE, FALL_THROUGH, LOST = 1, 2, 4, 8
"""Flags of an arc: on the spanning tree (not counted), not control flow (a call that may not return), fall-through, and
neither on the tree nor counted, since clang loses its counter."""

ENTRY, EXIT = 0, 1
"""Numbers of the first and the last block of every function."""

INITIALIZER = "__cxx_global_var_init"
"""How clang names what computes a global variable; clang 22 hides it."""

KNOWN_GCC = range(9, 16)
"""Major versions of gcc whose files can be read."""

MAX_LINES = 1 << 30
"""Larger line numbers mean that a file is damaged."""


@dataclass(frozen=True)
class Compiler:
    """The compiler that wrote a file.

    clang up to 19 writes the format of gcc 4.8 by default, so files of that version are assumed to be clang's. Later
    versions write the format of gcc 11, but without their working folder and the columns of functions. The version is
    then that of the format, not that of clang.
    """

    name: str  # the compiler whose rules the counts follow
    # version of the format
    major: int
    minor: int

    def __str__(self) -> str:
        return f"gcc {self.major}.{self.minor}" if self.name == "gcc" else "clang"

    @property
    def is_clang(self) -> bool:
        """Whether clang wrote the file."""
        return self.name == "clang"

    @property
    def known(self) -> bool:
        """Whether its files can be read."""
        return self.is_clang or self.major in KNOWN_GCC

    @property
    def bytewise(self) -> bool:
        """Whether lengths count bytes (gcc 12 on) rather than words of four bytes."""
        return self.major >= 12


@dataclass(frozen=True)
class CFunction:
    """One compiled function."""

    # the compiler's own number of the function, and the checksum of its control flow
    ident: int
    cfg_checksum: int
    name: str  # the linker's name: mangled in C++
    artificial: bool  # whether the compiler generated it (such as an initializer of globals); gcov hides it
    file: str  # the source file as passed to the compiler
    # first and last line; clang and old formats give only the first
    line: int
    end_line: int
    blocks: int  # number of basic blocks; 0 is the entry, 1 the exit
    # blocks at either end, and a combination of `ON_TREE`, `FAKE`, `FALL_THROUGH` and `LOST`
    arcs: tuple[tuple[int, int, int], ...]
    lines: tuple[tuple[int, str, int], ...]  # in the order of the file

    @cached_property
    def counted(self) -> tuple[int, ...]:
        """The arcs with a counter, in the order of the counters."""
        return tuple(i for i, (_, _, flags) in enumerate(self.arcs) if not flags & (ON_TREE | LOST))

    @cached_property
    def last_line(self) -> int:
        """The last line in its own file; that of its code where the compiler does not say it."""
        if self.end_line > self.line or (self.end_line and all(file == self.file for _, file, _ in self.lines)):
            return self.end_line
        return max(self.line, *(line for _, file, line in self.lines if file == self.file), 1)


@dataclass(frozen=True)
class CObject:
    """The notes of one object file."""

    name: str  # the name of the `.gcno` file in messages
    compiler: Compiler  # the compiler that wrote it
    stamp: int  # identifies the build; a profile has the stamp of the object that wrote it
    folder: str  # the folder in which the compiler ran, from which relative source paths start
    functions: tuple[CFunction, ...]  # in the order of the file
    # lines of it that are in fact those of headers, by path in the workspace
    foreign: frozenset[tuple[str, int]] = frozenset()
    # the lines that hold nothing but an operand, by path in the workspace, if gcc did not optimise
    operands: frozenset[tuple[str, int]] = frozenset()
    # how, such as -O2, empty if it was not; the notes do not say it, and None stands for not known
    optimised: str | None = None

    @cached_property
    def first_counter(self) -> dict[int, int]:
        """The index of each function's first counter, by the function's ident."""
        starts, total = {}, 0
        for function in self.functions:
            starts[function.ident] = total
            total += len(function.counted)
        return starts

    @cached_property
    def counters(self) -> int:
        """Number of counters of all functions together."""
        return sum(len(function.counted) for function in self.functions)

    @cached_property
    def slots(self) -> dict[int, tuple[int, int, int, str]]:
        """Checksum, offset and size of the counters in bytes, and name of each function, by its ident."""
        return {
            function.ident: (
                function.cfg_checksum,
                8 * self.first_counter[function.ident],
                8 * len(function.counted),
                function.name,
            )
            for function in self.functions
        }

    @cached_property
    def by_name(self) -> dict[str, CFunction]:
        """The functions by the linker's names."""
        return {function.name: function for function in self.functions}

    @cached_property
    def sources(self) -> tuple[str, ...]:
        """The source files of this object's lines, sorted."""
        named = {file for function in self.functions for _, file, _ in function.lines}
        return tuple(sorted(named | {function.file for function in self.functions}))

    @cached_property
    def inlined(self) -> tuple[str, ...]:
        """Names of functions with lines of other functions.

        At ``-O0`` a C function has only its own lines, and a C++ function has none of another function (a constructor
        also has the initializers of members). Otherwise the compiler moved code. clang does not say which lines are a
        function's own: it leaves out that of its end.
        """
        if self.compiler.is_clang:
            return ()
        spans: dict[str, list[tuple[int, int]]] = {}
        for function in self.functions:
            if not function.artificial and function.end_line and function.line < function.last_line:
                spans.setdefault(function.file, []).append((function.line, function.last_line))

        def foreign(function: CFunction, file: str, line: int) -> bool:
            own = (function.line, function.last_line)
            if file == function.file and (own[0] <= line <= own[1] or not function.name.startswith("_Z")):
                return not own[0] <= line <= own[1]
            return any(span[0] <= line <= span[1] and not _overlap(span, own) for span in spans.get(file, ()))

        return tuple(
            function.name
            for function in self.functions
            if not function.artificial
            and function.end_line
            and any(foreign(function, file, line) for file, line in {at[1:] for at in function.lines})
        )


@dataclass(frozen=True)
class Profile:
    """The counters of one run for one object."""

    counters: array[int]  # function by function, as suspectra.program.c.flow.CFlow needs them
    problems: tuple[Problem, ...] = field(default=())  # what could not be read; the counters affected are 0


def _overlap(one: tuple[int, int], other: tuple[int, int]) -> bool:
    return one[0] <= other[1] and other[0] <= one[1]

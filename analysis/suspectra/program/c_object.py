"""A compiled C or C++ object as its compiler described it: functions, basic blocks, arcs and lines.

Only the arcs that are not on a spanning tree of the graph are counted; the flow through the others follows by
conservation (:mod:`suspectra.program.c_flow`).

References
----------
Spanning-tree counters are from Knuth and Stevenson, "Optimal measurement points for program frequency counts", BIT 13
(1973), and Ball and Larus, "Optimally profiling and tracing programs", TOPLAS 16 (1994).
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from functools import cached_property

from suspectra.errors import Problem

ON_TREE, FAKE, FALL_THROUGH = 1, 2, 4
"""Flags of an arc: not counted, not control flow (a call that may not return), falls through."""

ENTRY, EXIT = 0, 1
"""Numbers of the blocks every function begins and ends with."""

KNOWN_GCC = range(9, 16)
"""Major versions of gcc whose files are read."""

MAX_LINES = 1 << 30
"""No source has more."""


@dataclass(frozen=True)
class Compiler:
    """Who wrote a file.

    clang up to 19 writes the format of gcc 4.8 unless told otherwise, so files of that version are taken for clang's.
    Later ones write that of gcc 11, but neither the folder they ran in nor the columns of functions. The version is
    then that of the format, not that of clang.

    Parameters
    ----------
    name : {'gcc', 'clang'}
        Whose rules the counts follow.
    major, minor : int
        Its version.

    Examples
    --------
    >>> Compiler("gcc", 14, 2).known, Compiler("gcc", 99, 0).known
    (True, False)
    """

    name: str
    major: int
    minor: int

    def __str__(self) -> str:
        return f"gcc {self.major}.{self.minor}" if self.name == "gcc" else "clang"

    @property
    def is_clang(self) -> bool:
        """Whether the file follows the old layout that clang writes."""
        return self.name == "clang"

    @property
    def known(self) -> bool:
        """Whether this module reads what it writes."""
        return self.is_clang or self.major in KNOWN_GCC

    @property
    def bytewise(self) -> bool:
        """Whether lengths count bytes (gcc 12 on) rather than words of four bytes."""
        return self.major >= 12


@dataclass(frozen=True)
class CFunction:
    """One compiled function.

    Parameters
    ----------
    ident, cfg_checksum : int
        The compiler's own number of the function, and the checksum of its control flow.
    name : str
        As the linker knows it: mangled in C++.
    artificial : bool
        Made by the compiler (an initializer of globals); gcov hides it.
    file : str
        The source file as the compiler was given it.
    line, end_line : int
        First and last line; clang and old formats give only the first.
    blocks : int
        Number of basic blocks; 0 is the entry, 1 the exit.
    arcs : tuple of (source, target, flags)
        Numbers of blocks, and bits: 1 on the spanning tree (not counted), 2 fake, 4 fallthrough.
    lines : tuple of (block, file, line)
        In the order of the file.

    Examples
    --------
    >>> loop = CFunction(1, 1, "loop", False, "a.c", 1, 4, 4,
    ...     ((0, 2, 0), (2, 3, 1), (2, 1, 1), (3, 2, 0)), ((2, "a.c", 2), (3, "a.c", 3)))
    >>> len(loop.counted)
    2
    """

    ident: int
    cfg_checksum: int
    name: str
    artificial: bool
    file: str
    line: int
    end_line: int
    blocks: int
    arcs: tuple[tuple[int, int, int], ...]
    lines: tuple[tuple[int, str, int], ...]

    @cached_property
    def counted(self) -> tuple[int, ...]:
        """The arcs that have a counter, in the order of the counters."""
        return tuple(i for i, (_, _, flags) in enumerate(self.arcs) if not flags & ON_TREE)


@dataclass(frozen=True)
class CObject:
    """The notes of one object file.

    Parameters
    ----------
    name : str
        The ``.gcno`` file as the user would name it.
    compiler : Compiler
        Who wrote it.
    stamp : int
        Tells builds apart; a profile carries the stamp of the object that wrote it.
    folder : str
        Where the compiler ran; relative source paths start there. Empty where the format does not say.
    functions : tuple of CFunction
        In the order of the file.

    Examples
    --------
    >>> loop = CFunction(1, 1, "loop", False, "a.c", 1, 4, 4,
    ...     ((0, 2, 0), (2, 3, 1), (2, 1, 1), (3, 2, 0)), ((2, "a.c", 2), (3, "a.c", 3)))
    >>> notes = CObject("a.gcno", Compiler("gcc", 14, 2), 1, "/build", (loop,))
    >>> notes.counters, sorted(notes.sources)
    (2, ['a.c'])
    """

    name: str
    compiler: Compiler
    stamp: int
    folder: str
    functions: tuple[CFunction, ...]

    @cached_property
    def first_counter(self) -> dict[int, int]:
        """Number of the first counter of each function, by its ident."""
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
        """By the ident of each function: checksum, first byte and number of bytes of its counters, and its name."""
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
        """The functions by their linker's name."""
        return {function.name: function for function in self.functions}

    @cached_property
    def sources(self) -> tuple[str, ...]:
        """Every source file that lines of this object belong to, sorted."""
        named = {file for function in self.functions for _, file, _ in function.lines}
        return tuple(sorted(named | {function.file for function in self.functions}))

    @cached_property
    def inlined(self) -> tuple[str, ...]:
        """Names of functions that hold lines which are not theirs.

        At ``-O0`` a function of C holds lines of its own only, and one of C++ none of another function's (a constructor
        does hold the initializers that stand at the members); more says that the compiler moved code.
        """
        spans: dict[str, list[tuple[int, int]]] = {}
        for function in self.functions:
            if not function.artificial and function.line < function.end_line:
                spans.setdefault(function.file, []).append((function.line, function.end_line))

        def foreign(function: CFunction, file: str, line: int) -> bool:
            own = (function.line, function.end_line)
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
    """The counters one run left for one object.

    Parameters
    ----------
    counters : array of int64, length of the object's counters
        Function after function, as :class:`~suspectra.program.c_flow.CFlow` takes them.
    problems : tuple of Problem
        What could not be read; the counters concerned are zero.

    Examples
    --------
    >>> Profile(array("q", [1, 6])).counters.tolist()
    [1, 6]
    """

    counters: array[int]
    problems: tuple[Problem, ...] = field(default=())


def _overlap(one: tuple[int, int], other: tuple[int, int]) -> bool:
    return one[0] <= other[1] and other[0] <= one[1]

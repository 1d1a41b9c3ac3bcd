"""The calls that had not returned when a test, or a process of it, crashed, and the blocks in which they ended."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from suspectra.base.arrays import Ints
from suspectra.evidence.source_paths import SourcePaths
from suspectra.program.c.ending import BlockEnd, CallLine, ends_in
from suspectra.program.c.object import CObject


class CallEnd(NamedTuple):
    """Where a call ended that did not return."""

    file: str  # relative to the workspace
    line: int  # counted from 1
    function: str  # the linker's name; empty if it is not known
    calling: bool  # whether it had called something
    times: int = 1  # how many calls ended there; below 0 if as many go on there, 0 if an exception was handled there
    compiler: str = ""  # the one whose counters it fits, where the call was inlined; empty for all


_OF_SEVERAL = re.compile(r"(?<=[CD])4(?=[EI])|\.(resume|destroy|cleanup)$")
_KIND_OF_STRUCTOR = re.compile(r"(?<=[CD])[0-5](?=[EI])")


def counting_functions(objects: Iterable[tuple[CObject, Ints]]) -> frozenset[str]:
    """The names of the functions that have counted something in one of several objects, each with its counters."""
    return frozenset(
        function.name
        for compiled, counters in objects
        for function in compiled.functions
        if counters[(first := compiled.first_counter[function.ident]) : first + len(function.counted)].any()
    )


def ends_of_calls(
    compiled: CObject, counters: Ints, calls: Sequence[CallEnd], paths: SourcePaths, counting: Collection[str]
) -> list[BlockEnd]:
    """Find the blocks of an object's functions in which calls ended, given the counters of the object.

    Of equal functions in several objects, only those that are `counting` can have run. A call that never got to a
    counter has counted nothing.
    """
    found: list[BlockEnd] = []
    others: dict[str, list[str]] = {}
    for name in filter(_OF_SEVERAL.search, {call.function for call in calls}):
        others.setdefault(common_name(name), []).append(name)
    bodies = Counter(common_name(function.name) for function in compiled.functions) if others else Counter()
    for function in compiled.functions if calls else ():
        names_there = {"", function.name, *(others.get(common_name(function.name), ()) if others else ())}
        here = [one for one in calls if one.function in names_there and one.compiler in ("", compiled.compiler.name)]
        if not here:
            continue
        names = {file: paths.resolve(file, compiled.folder) for file in {at[1] for at in function.lines}}
        lines = [
            CallLine(
                [file for file, name in names.items() if name == end.file],
                end.line,
                end.calling,
                end.times,
                end.function in ("", function.name) or bodies[common_name(function.name)] == 1,
            )
            for end in here
        ]
        first = compiled.first_counter[function.ident]
        values = counters[first : first + len(function.counted)]
        if any(line.files for line in lines) and (values.any() or function.name not in counting):
            found += ends_in(function, values, lines, clang=compiled.compiler.is_clang)
    return found


def common_name(function: str) -> str:
    """The name that a function in debug information and its function in notes have in common.

    clang 22 names the parts into which it divides a coroutine, and does not say which constructor or destructor of
    several is meant.
    """
    return _KIND_OF_STRUCTOR.sub("", _OF_SEVERAL.sub("", function))

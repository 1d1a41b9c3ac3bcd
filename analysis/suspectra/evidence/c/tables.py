"""The elements, edges and flow graphs of a program's objects, and the rows of each test."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy import sparse

from suspectra.base.arrays import Bools, IntMatrix, Ints, Row, dense_product
from suspectra.base.errors import EvidenceError, Problem
from suspectra.evidence.c.demangling import demangled
from suspectra.evidence.c.exclusions import NO_EXCLUSIONS, Exclusions
from suspectra.evidence.source_paths import SourcePaths
from suspectra.evidence.test_code import with_c_tests_marked
from suspectra.program.c.ending import BlockEnd
from suspectra.program.c.flow import CFlow, FlowEnd
from suspectra.program.c.object import FAKE, CFunction, CObject
from suspectra.program.c.operands import operand_blocks
from suspectra.program.flow_graph import FlowGraph
from suspectra.runs.measured_file import MeasuredFile
from suspectra.spectrum import EdgeKind, Edges

AT_ONCE = 1 << 19
"""The largest number of arc counts in memory; more tests are measured in batches."""


@dataclass(frozen=True, eq=False)
class TestRow:
    """The row of one test."""

    row: Row  # sorted indices of elements; shape (executed,)
    edge_row: Row  # sorted indices of edges; shape (traversed,)
    edge_counts: Ints  # how often each of these edges was traversed; shape (traversed,)
    conserved: bool  # whether the flow is consistent: what enters a block leaves it


@dataclass
class _Graph:
    """One control flow, which may be compiled into several objects (an inline function of a header)."""

    file: str
    name: str
    line: int
    end_line: int
    first: int  # index of the function in the flow
    members: list[int] = field(default_factory=list)


class CTables:
    """The tables of a program, from its objects, before any test has run."""

    def __init__(
        self,
        objects: Mapping[str, CObject],
        paths: SourcePaths,
        digests: Mapping[str, str],  # SHA-256 of the sources that did not change since they were compiled
        exclusions: Exclusions = NO_EXCLUSIONS,
    ):
        self.paths = paths  # finds the sources of the workspace; other code is left out
        self._exclusions = exclusions
        self.objects = dict(sorted(objects.items()))  # by the path of the object
        self._lay_out_functions()
        self._lay_out_files(digests)
        self._lay_out_edges()
        self.problems = (*self._optimised(), *self._compiled_by_clang())

    def measure(
        self, profiles: Sequence[Mapping[str, Ints]], ends: Sequence[Mapping[str, Sequence[BlockEnd]]]
    ) -> list[TestRow]:
        """Compute the rows of tests from their counters, and from where their functions ended that did not return.

        In the order of `profiles`.
        """
        step = max(1, AT_ONCE // max(1, len(self.flow.source)))
        starts = range(0, len(profiles), step)
        parts = (self._measure(profiles[at : at + step], ends[at : at + step]) for at in starts)
        return [measured for part in parts for measured in part]

    def _measure(
        self, profiles: Sequence[Mapping[str, Ints]], ends: Sequence[Mapping[str, Sequence[BlockEnd]]]
    ) -> list[TestRow]:
        counters = np.zeros((len(profiles), self.flow.counters), np.int64)
        for row, profile in zip(counters, profiles, strict=True):
            for path, values in profile.items():
                first, kept = self._counters_of[path]
                row[first : first + len(kept)] = np.asarray(values, np.int64)[kept]
        stopped = [
            FlowEnd(run, self._first_block[path, end.ident] + end.block, end.line, end.times)
            for run, by_object in enumerate(ends)
            for path, found in by_object.items()
            for end in found
            if (path, end.ident) in self._first_block
        ]
        arcs = self.flow.arc_counts(counters, stopped)
        lines = self.flow.lines_executed(arcs, stopped).astype(np.int32)
        executed = np.greater(dense_product(self._element_of_line, lines).T, 0)
        # calls that end by longjmp make the counts of their arcs negative; these arcs are not control flow
        conserved: Bools = np.logical_and.reduce(np.greater_equal(arcs[self.flow.visible], 0), axis=0)
        traversed = np.ascontiguousarray(dense_product(self._edge_of_arc, np.maximum(arcs, 0)).T)
        result = []
        for hits, counts, sound in zip(np.ascontiguousarray(executed), traversed, conserved.tolist(), strict=True):
            edge_row = np.flatnonzero(counts).astype(np.int32)
            result.append(TestRow(np.flatnonzero(hits).astype(np.int32), edge_row, counts[edge_row], sound))
        return result

    def _lay_out_functions(self) -> None:
        """Select the functions with a line in the workspace, and find their counters."""
        functions: list[CFunction] = []
        owners: list[int] = []
        self._counters_of: dict[str, tuple[int, Ints]] = {}
        counters = 0
        for number, (path, compiled) in enumerate(self.objects.items()):
            kept = []
            for function in compiled.functions:
                if any(self._source(compiled, file) for file in {file for _, file, _ in function.lines}):
                    functions.append(function)
                    owners.append(number)
                    first = compiled.first_counter[function.ident]
                    kept.append(np.arange(first, first + len(function.counted)))
            index = np.concatenate(kept) if kept else np.zeros(0, np.int64)
            self._counters_of[path] = (counters, index)
            counters += len(index)
        clang = [number for number, compiled in enumerate(self.objects.values()) if compiled.compiler.is_clang]
        self.flow = CFlow(functions, owners, clang, self._operands(functions, owners))
        paths = list(self.objects)
        self._first_block = {
            (paths[owner], function.ident): int(first)
            for function, owner, first in zip(functions, owners, self.flow.first_block, strict=False)
        }

    def _operands(
        self, functions: Sequence[CFunction], owners: Sequence[int]
    ) -> dict[int, dict[tuple[str, int], frozenset[int]]]:
        """Where lines begin that hold nothing but an operand, by number of the function."""
        listed, found = list(self.objects.values()), {}
        for number, (function, owner) in enumerate(zip(functions, owners, strict=True)):
            compiled = listed[owner]
            if compiled.operands and not function.artificial:
                places = {at[1:] for at in function.lines}
                lines = {
                    (file, line) for file, line in places if (self._source(compiled, file), line) in compiled.operands
                }
                if lines and (blocks := operand_blocks(function, lines)):
                    found[number] = blocks
        return found

    def _source(self, compiled: CObject, file: str) -> str | None:
        return self.paths.resolve(file, compiled.folder)

    def _counted(self, compiled: CObject, file: str, line: int) -> str | None:
        """The source of a line, None if it is outside the workspace or excluded."""
        source = self._source(compiled, file)
        left_out = source is None or self._exclusions.contains(source, line) or (source, line) in compiled.foreign
        return None if left_out else source

    def _lay_out_files(self, digests: Mapping[str, str]) -> None:
        """Make the elements, which are the executable lines, and a function for every control flow."""
        listed = list(self.objects.values())
        places = [(self._counted(listed[owner], file, line), line) for owner, file, line in self.flow.lines]
        lines: dict[str, set[int]] = {}
        for file, line in places:
            if file is not None:
                lines.setdefault(file, set()).add(line)
        graphs = self._find_graphs(listed, lines)
        self.files = with_c_tests_marked(
            [
                _measured_file(file, sorted(lines[file]), graphs.get(file, []), digests.get(file), self.paths)
                for file in sorted(lines)
            ],
            self.paths.beginning,
        )
        self._file_index = {file.path: i for i, file in enumerate(self.files)}
        columns = {(file.path, int(line)): 0 for file in self.files for line in file.line}
        columns = dict(zip(columns, range(len(columns)), strict=True))
        pairs = [(columns[file, line], i) for i, (file, line) in enumerate(places) if file is not None]
        self._element_of_line = _ones(pairs, (len(columns), len(places)))
        self._graphs = [graph for file in self.files for graph in graphs.get(file.path, [])]

    def _find_graphs(self, listed: list[CObject], lines: Mapping[str, set[int]]) -> dict[str, list[_Graph]]:
        """The control flows defined in each file, sorted by line."""
        found: dict[tuple[Hashable, ...], _Graph] = {}
        for number, (function, owner) in enumerate(zip(self.flow.functions, self.flow.objects, strict=True)):
            file = self._source(listed[owner], function.file)
            if file is None or file not in lines or function.artificial:
                continue
            key = (file, function.name, function.line, function.arcs, function.blocks)
            span = max(function.line, 1), max(function.last_line, 1)
            graph = found.setdefault(key, _Graph(file, function.name, *span, number))
            graph.members.append(number)
        by_file: dict[str, list[_Graph]] = {}
        for graph in found.values():
            by_file.setdefault(graph.file, []).append(graph)
        for graphs in by_file.values():
            graphs.sort(key=lambda graph: (graph.line, graph.end_line, graph.name))
        return by_file

    def _lay_out_edges(self) -> None:
        """Make the edges of every control flow, and find the arcs of each object that are these edges."""
        flow = self.flow
        table: list[tuple[int, int, int, int]] = []
        pairs: list[tuple[int, int]] = []
        graphs = []
        elements_of = self._elements_of_blocks()
        for index, graph in enumerate(self._graphs):
            function = flow.functions[graph.first]
            column: dict[tuple[int, int], int] = {}
            for arc, (source, target, flags) in enumerate(function.arcs):
                if flags & FAKE:
                    continue
                if (source, target) not in column:
                    column[source, target] = len(table)
                    table.append((self._file_index[graph.file], source, target, index))
                pairs += [(column[source, target], int(flow.first_arc[number]) + arc) for number in graph.members]
            first, last = int(flow.first_block[graph.first]), int(flow.first_block[graph.first + 1])
            elements = [
                (block - first, element) for block in range(first, last) for element in elements_of.get(block, ())
            ]
            edges = [(source, target, at) for (source, target), at in column.items()]
            graphs.append(FlowGraph.from_edges(index, function.blocks, edges, elements))
        columns = np.array(table, np.int32).reshape(-1, 4)
        self.edges = Edges(columns[:, 0], columns[:, 1], columns[:, 2], columns[:, 3], EdgeKind.BLOCK)
        self.graphs = tuple(graphs)
        self._edge_of_arc = _ones(pairs, (len(table), len(flow.source)))

    def _elements_of_blocks(self) -> dict[int, list[int]]:
        element = np.full(len(self.flow.lines), -1)
        columns, at = self._element_of_line.tocoo().coords
        element[at] = columns
        elements_of: dict[int, list[int]] = {}
        for block, line in zip(*(part.tolist() for part in self.flow.block_lines), strict=True):
            if element[line] >= 0:
                elements_of.setdefault(block, []).append(int(element[line]))
        return elements_of

    def _optimised(self) -> tuple[Problem, ...]:
        return tuple(
            optimised(path, compiled.optimised or "")
            for path, compiled in self.objects.items()
            if compiled.optimised
            or any(self._source(compiled, compiled.by_name[name].file) for name in compiled.inlined)
        )

    def _compiled_by_clang(self) -> tuple[Problem, ...]:
        if not self.flow.incomplete:
            return ()
        functions = [self.flow.functions[number] for number in self.flow.incomplete]
        path = list(self.objects)[self.flow.objects[self.flow.incomplete[0]]]
        of = f"{len(functions)} functions, such as" if len(functions) > 1 else "the function"
        cause = (
            f"clang does not count every way through {of} {demangled(functions[0].name)}: where the other counts do not"
            " say how often such a way was taken, it counts as never taken"
        )
        return (Problem(path, "", cause, "build with gcc for exact figures"),)


def optimised(path: str, how: str) -> Problem:
    """Make the warning about an object that was built with optimisation."""
    cause = (
        "it was built with optimisation, so lines of inlined functions count with their callers, and code that was "
        "merged or moved may be on the wrong line"
    )
    place = f"built with {how}" if how.startswith("-") else ""
    return Problem(path, place, cause, "build with -O0 for exact lines and edges")


def perhaps_optimised(path: str) -> Problem:
    """Make the warning about an object of which nothing says whether it was built with optimisation."""
    cause = (
        "it can't be told whether it was built with optimisation, which makes lines inexact: there is no object file "
        "beside it, and its program is stripped, linked statically, gone, or for a machine whose code is not known here"
    )
    return Problem(path, "", cause, "build with -O0, and keep object files or symbols")


def fitted(counters: Ints, recorded: CObject, present: CObject) -> tuple[Ints, list[str]]:
    """Map counters of an earlier build to a later build of the same object.

    A function whose control flow did not change keeps its counters, even if it moved.

    Of shape (counters of the later build,).

    Functions of the later build that differ, and count as not executed.
    """
    old = {_shape(function): function for function in recorded.functions}
    result = np.zeros(present.counters, np.int64)
    changed = []
    for function in present.functions:
        earlier = old.get(_shape(function))
        if earlier is None:
            changed.append(function.name)
            continue
        count = len(function.counted)
        new_start, old_start = present.first_counter[function.ident], recorded.first_counter[earlier.ident]
        result[new_start : new_start + count] = counters[old_start : old_start + count]
    return result, changed


def lost_functions(
    counters: Ints, ends: Sequence[BlockEnd], recorded: CObject, present: CObject
) -> Iterator[CFunction]:
    """Find the functions of an earlier build that were executed, and whose control flow a later build does not have."""
    kept = {_shape(function) for function in present.functions}
    ended = {end.ident for end in ends}
    for function in recorded.functions:
        first = recorded.first_counter[function.ident]
        executed = function.ident in ended or counters[first : first + len(function.counted)].any()
        if executed and _shape(function) not in kept:
            yield function


def ends_fitted(ends: Sequence[BlockEnd], recorded: CObject, present: CObject) -> list[BlockEnd]:
    """Map where functions of an earlier build ended to a later build, in those whose control flow did not change."""
    old = {function.ident: _shape(function) for function in recorded.functions}
    idents = {_shape(function): function.ident for function in present.functions}
    return [end._replace(ident=idents[old[end.ident]]) for end in ends if old[end.ident] in idents]


def read_objects(
    notes: Mapping[str, CObject],
    paths: SourcePaths,
    digests: Mapping[str, str],
    exclusions: Exclusions = NO_EXCLUSIONS,  # lines that do not count
) -> tuple[CTables, list[Problem]]:
    """Make the tables of all valid objects; a damaged one is left out, with a problem."""
    try:
        return CTables(notes, paths, digests, exclusions), []
    except EvidenceError:
        usable, problems = dict(notes), []
    for path, compiled in notes.items():
        try:
            CFlow(compiled.functions)
        except EvidenceError as error:
            problems.append(error.problem)
            del usable[path]
    return CTables(usable, paths, digests, exclusions), problems


def _shape(function: CFunction) -> tuple[Hashable, ...]:
    return function.name, function.file, function.cfg_checksum, function.arcs


def _measured_file(
    path: str, lines: list[int], graphs: list[_Graph], digest: str | None, paths: SourcePaths
) -> MeasuredFile:
    line = np.array(lines, np.int32)
    function = np.full(len(line), -1, np.int32)
    # the largest first, so that the innermost function is assigned last
    for index in sorted(range(len(graphs)), key=lambda i: graphs[i].line - graphs[i].end_line):
        inside = (line >= graphs[index].line) & (line <= graphs[index].end_line)
        function[inside] = index
    names = _unique([demangled(graph.name) for graph in graphs])
    spans = tuple((name, graph.line, graph.end_line) for name, graph in zip(names, graphs, strict=True))
    return MeasuredFile(path, digest, line, line, function, spans, paths.is_test(path))


def _unique(names: list[str]) -> list[str]:
    """Number functions with equal names, which macros make from one source in different objects."""
    seen: dict[str, int] = {}
    result = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        result.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return result


def _ones(pairs: list[tuple[int, int]], shape: tuple[int, int]) -> IntMatrix:
    table = np.array(pairs, np.int64).reshape(-1, 2)
    return sparse.csr_array((np.ones(len(table), np.int64), (table[:, 0], table[:, 1])), shape=shape)

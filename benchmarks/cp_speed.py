"""How long CP takes, from a spectrum in memory to a ranking, and after one test ran again.

The program is made up: functions of nested decisions and loops, each entered by some tests along some of its paths.
Beside the two sizes asked for, the same systems are solved one graph at a time with a dense Gaussian elimination, as
the paper describes it, on as many functions as that finishes in reasonable time.

    python benchmarks/cp_speed.py [--lines N --tests M] [--repeat R] [--seed S]
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from itertools import pairwise

import numpy as np

from suspectra.base.arrays import Ints
from suspectra.program import Program
from suspectra.program.flow_graph import ENTRY, EXIT, FlowGraph
from suspectra.spectrum import EdgeKind, Edges, Elements, Function, Spectrum
from suspectra.techniques.control_flow.cp import CP, ZERO_DENOMINATOR, edge_suspiciousness

LINES_A_BLOCK = 3
SHAPES = 64  # distinct control flows, repeated over the functions
PATHS = 6  # of each
TOUCHED = 0.02  # share of the functions that a test enters, at least 40


class Shape:
    """A control flow and some paths through it."""

    def __init__(self, rng: np.random.Generator):
        self.rng = rng
        self.edges: list[tuple[int, int]] = []
        self.blocks = 2
        end = self.sequence(ENTRY, int(rng.integers(2, 7)), depth=0)
        self.edges.append((end, EXIT))
        self.paths = [self.walk() for _ in range(PATHS)]

    def block(self, source: int) -> int:
        number, self.blocks = self.blocks, self.blocks + 1
        self.edges.append((source, number))
        return number

    def sequence(self, source: int, length: int, depth: int) -> int:
        end = self.block(source)
        for _ in range(length if depth < 3 else 0):
            kind = self.rng.random()
            if kind < 0.55:  # if … else …
                one = self.sequence(end, int(self.rng.integers(0, 2)), depth + 1)
                after = self.block(one)
                self.edges.append((end if kind < 0.3 else self.sequence(end, 0, depth + 1), after))
                end = after
            elif kind < 0.8:  # a loop
                head = self.block(end)
                body = self.sequence(head, int(self.rng.integers(0, 2)), depth + 1)
                self.edges.append((body, head))
                end = self.block(head)
        return end

    def walk(self) -> tuple[Ints, Ints]:
        """The blocks and the edges of one run."""
        leaving: dict[int, list[int]] = {}
        for number, (source, _) in enumerate(self.edges):
            leaving.setdefault(source, []).append(number)
        at, taken = ENTRY, list[int]()
        while at != EXIT:
            ways = leaving[at]
            # loops end in the long run: the later edge of a header leaves it
            way = ways[-1] if len(taken) > 400 else ways[int(self.rng.integers(len(ways)))]
            taken.append(way)
            at = self.edges[way][1]
        edges = np.unique(taken)
        return np.unique([self.edges[edge][1] for edge in edges.tolist()]), edges


def program(lines: int, tests: int, seed: int) -> tuple[Spectrum, Program]:
    """A spectrum over at least this many lines, and its flow graphs."""
    rng = np.random.default_rng(seed)
    shapes = [Shape(rng) for _ in range(SHAPES)]
    kinds, total = [], 0
    while total < lines:
        kinds.append(int(rng.integers(SHAPES)))
        total += (shapes[kinds[-1]].blocks - 2) * LINES_A_BLOCK
    sizes = np.array([(shapes[kind].blocks - 2) * LINES_A_BLOCK for kind in kinds])
    widths = np.array([len(shapes[kind].edges) for kind in kinds])
    first_line, first_edge = (np.concatenate([[0], np.cumsum(part)]) for part in (sizes, widths))
    graphs = [graph(shapes[kind], i, first_line[i], first_edge[i]) for i, kind in enumerate(kinds)]
    line = np.arange(1, total + 1, dtype=np.int32)
    owner = np.repeat(np.arange(len(kinds), dtype=np.int32), sizes)
    functions = tuple(Function(0, f"f{i}", a + 1, b) for i, (a, b) in enumerate(pairwise(first_line.tolist())))
    elements = Elements(("program.c",), np.zeros(total, np.int32), line, line, owner, functions)
    ends = np.concatenate([np.array(shapes[kind].edges, np.int32) for kind in kinds])
    of_edge = np.repeat(np.arange(len(kinds), dtype=np.int32), widths)
    edges = Edges(np.zeros(len(ends), np.int32), ends[:, 0].copy(), ends[:, 1].copy(), of_edge, EdgeKind.BLOCK)
    often = 1 / (np.arange(len(kinds)) + 20)  # some functions are entered by most tests, many by few
    often = rng.permutation(often / often.sum())
    count = min(max(40, int(TOUCHED * len(kinds))), len(kinds))
    rows, edge_rows = [], []
    members = [[member_lines(blocks) for blocks, _ in shape.paths] for shape in shapes]
    for _ in range(tests):
        entered = np.unique(rng.choice(len(kinds), count, p=often))
        paths = rng.integers(PATHS, size=len(entered)).tolist()
        chosen = list(zip(entered.tolist(), paths, strict=True))
        rows.append(np.concatenate([members[kinds[f]][p] + first_line[f] for f, p in chosen]).astype(np.int32))
        edge_rows.append(
            np.concatenate([shapes[kinds[f]].paths[p][1] + first_edge[f] for f, p in chosen]).astype(np.int32)
        )
    failed = rng.random(tests) < 0.1
    failed[0] = True
    names = tuple(f"t{i}" for i in range(tests))
    spectrum = Spectrum(names, failed, elements, tuple(rows), np.ones(total, bool), edges, tuple(edge_rows))
    return spectrum, Program((), tuple(graphs))


def graph(shape: Shape, function: int, line: int, edge: int) -> FlowGraph:
    arcs = [(source, target, int(edge) + i) for i, (source, target) in enumerate(shape.edges)]
    members = [
        (block, int(line) + at) for block in range(2, shape.blocks) for at in member_lines(np.array([block])).tolist()
    ]
    return FlowGraph.from_edges(function, shape.blocks, arcs, members)


def member_lines(blocks: Ints) -> Ints:
    blocks = blocks[blocks > EXIT] - 2
    return (blocks[:, None] * LINES_A_BLOCK + np.arange(LINES_A_BLOCK)).ravel()


def measure(lines: int, tests: int, repeat: int, seed: int) -> dict[str, float]:
    spectrum, structure = program(lines, tests, seed)
    CP().localize(spectrum, structure)  # the counts and the joined graphs belong to loading
    seconds = median(lambda: CP().localize(spectrum, structure), repeat)
    fresh = median(lambda: CP().localize(without_counts(spectrum), structure), max(1, repeat // 2))
    again, anew = updates(spectrum, structure, max(3, repeat))
    dense, graphs = dense_seconds(spectrum, structure)
    blocks = sum(one.blocks for one in structure.graphs)
    print(
        f"{len(spectrum.elements):>9,} lines x {tests:,} tests, {len(structure.graphs):,} functions, {blocks:,} blocks:"
        f" {seconds * 1000:.1f} ms, {fresh * 1000:.1f} ms with counting;"
        f" after a passing test ran again {again * 1000:.1f} ms ({anew * 1000:.1f} ms for all functions);"
        f" dense elimination, function by function: {dense * 1000:.1f} ms ({dense / seconds:.1f} times)"
        + (f", from {graphs:,} of the functions" if graphs < len(structure.graphs) else "")
    )
    return {
        "lines": len(spectrum.elements),
        "tests": tests,
        "blocks": blocks,
        "seconds": seconds,
        "seconds_with_counting": fresh,
        "test_changed_seconds": again,
        "test_changed_all_functions_seconds": anew,
        "dense_seconds": dense,
    }


def updates(spectrum: Spectrum, structure: Program, repeat: int) -> tuple[float, float]:
    """Seconds to rank after one passing test ran along other ways: from the report before, and from nothing."""
    chance, technique = np.random.default_rng(5), CP()
    passed = np.flatnonzero(~spectrum.failed)
    before = technique.localize(spectrum, structure)
    kept, anew = [], []
    for test, other in chance.choice(passed, (repeat, 2)).tolist():
        rows, edge_rows = list(spectrum.rows), list(spectrum.require_edges()[1])
        rows[test], edge_rows[test] = rows[other].copy(), edge_rows[other].copy()
        spectrum = spectrum.with_rows(spectrum.tests, spectrum.failed, tuple(rows), tuple(edge_rows))
        start = time.perf_counter()
        before = technique.localize(spectrum, structure, before)
        kept.append(time.perf_counter() - start)
        start = time.perf_counter()
        whole = technique.localize(spectrum, structure)
        anew.append(time.perf_counter() - start)
        assert np.array_equal(before.level, whole.level)
    return statistics.median(kept), statistics.median(anew)


def without_counts(spectrum: Spectrum) -> Spectrum:
    return Spectrum(
        spectrum.tests,
        spectrum.failed,
        spectrum.elements,
        spectrum.rows,
        spectrum.candidates,
        spectrum.edges,
        spectrum.edge_rows,
    )


def dense_seconds(spectrum: Spectrum, structure: Program, most: int = 2000) -> tuple[float, int]:
    """Gaussian elimination of every graph by itself, scaled up from the first `most`."""
    delta = edge_suspiciousness(spectrum.edge_hit_counts)
    graphs = structure.graphs[:most]
    start = time.perf_counter()
    for one in graphs:
        own = delta[one.edge]
        used = ~np.isnan(own)
        source, target, own = one.source[used], one.target[used], own[used]
        total = np.bincount(target, own, one.blocks)
        total[total == 0] = ZERO_DENOMINATOR
        matrix = np.eye(one.blocks)
        np.subtract.at(matrix, (source, target), own / total[target])
        right = np.where(np.bincount(source, minlength=one.blocks) == 0, np.bincount(target, own, one.blocks), 0.0)
        try:
            np.linalg.solve(matrix, right)
        except np.linalg.LinAlgError:
            np.linalg.lstsq(matrix, right, rcond=None)
    return (time.perf_counter() - start) * len(structure.graphs) / len(graphs), len(graphs)


def median(action: Callable[[], object], repeat: int) -> float:
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--lines", type=int, help="measure this size instead of the two standard ones")
    parser.add_argument("--tests", type=int, default=567)
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    sizes = [(given.lines, given.tests)] if given.lines else [(10_000, 567), (1_000_000, 2_000)]
    results = [measure(lines, tests, given.repeat, given.seed) for lines, tests in sizes]
    print(json.dumps({"sizes": results}))


if __name__ == "__main__":
    main()

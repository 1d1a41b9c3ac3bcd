"""How often: what the counting recorder says is what a trace function of its own counts."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import types
import zlib
from array import array
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from suspectra.base.errors import NothingToRank
from suspectra.evidence.recording import RecordingSource
from suspectra.localizer import Localizer
from suspectra.spectrum import FIRST_OUTCOME, Edges
from suspectra.techniques import make_technique
from suspectra_recorder.instrumentation.cell_constants import with_cells
from suspectra_recorder.instrumentation.imports import ImportHook
from suspectra_recorder.instrumentation.loaded_file import LoadedFile
from suspectra_recorder.instrumentation.probes import Kind
from suspectra_recorder.instrumentation.rewriting import instrument
from suspectra_recorder.instrumentation.source import LogicalLines
from suspectra_recorder.log.frames import MAGIC, FrameKind, frame, frames, split_json, with_json

ZOO = Path(__file__).parents[1] / "fixtures" / "recording" / "zoo"
ARCS = (Kind.ENTRY, Kind.ARM, Kind.FLOW)
CELLS = "__suspectra_counting_cells__"

# Arcs on which the trace is led astray: up to Python 3.11 code behind `finally` and `async with` has the line of the
# last statement inside, and the way out of a `with` leads through its line again.
# From 3.14 on the line behind a loop that an inner loop's `else` goes on with is not traced.
QUIRKS = {"coroutines.py": {(75, 76), (75, 77), (85, 87)}, "handlers.py": {(75, 76)}}
if sys.version_info >= (3, 14):
    QUIRKS["branches.py"] = {(121, 130)}


def sources():
    needed = {path: path.stem.partition("_py3")[2] for path in sorted(ZOO.glob("*.py"))}
    return [path for path, minor in needed.items() if not minor or sys.version_info >= (3, int(minor))]


def cases(module):
    return ["import", *(name for name in vars(module) if name.startswith("case_"))]


def traced(path):
    """The arcs of each case with how often they were gone, counted by a trace function."""
    first = LogicalLines(path.read_bytes()).first
    at, counts = {}, Counter()

    def trace(frame, event, argument):
        code = frame.f_code
        if code.co_filename != str(path) or (code.co_name.startswith("<") and code.co_name != "<module>"):
            return None
        if event == "call":
            at.setdefault(frame, -first(code.co_firstlineno))
        elif event == "line" and at[frame] != (line := first(frame.f_lineno)):
            counts[at[frame], line] += 1
            at[frame] = line
        return trace

    def run(act, *arguments):
        counts.clear()
        sys.settrace(trace)
        try:
            act(*arguments)
        finally:
            sys.settrace(None)
        return dict(counts)

    module = types.ModuleType("zoo")
    found = {"import": run(exec, compile(path.read_bytes(), str(path), "exec", dont_inherit=True), module.__dict__)}
    return found | {name: run(getattr(module, name)) for name in cases(module)[1:]}


def counted(path):
    tree, module_map = instrument(path.read_bytes(), str(path), CELLS, counting=True)
    cells = [0] * module_map.cells
    file = LoadedFile(path.name, "", cells, b"")
    arcs = {(p.cell, p.line, p.target) for p in module_map.probes if p.kind in ARCS and p.target > 0}

    def run(act, *arguments):
        act(*arguments)
        counts = Counter()
        for cell, line, target in arcs:
            counts[line, target] += cells[cell]
        cells[:] = [0] * len(cells)
        return +counts

    module = types.ModuleType("zoo")
    code = with_cells(compile(tree, str(path), "exec", dont_inherit=True), CELLS, file)
    found = {"import": run(exec, code, module.__dict__)}
    return found | {name: run(getattr(module, name)) for name in cases(module)[1:]}, {arc[1:] for arc in arcs}


def compared(path, known):
    """Arcs between lines; the trace comes back to lines of decorators, and begins modules at their docstring."""
    lines = ["", *path.read_text(errors="replace").splitlines()]
    arcs = {(a, b) for a, b in known if a + b and a != -1 and not lines[abs(a)].lstrip().startswith("@")}
    return arcs - QUIRKS.get(path.name, set())


@pytest.mark.parametrize("path", sources(), ids=lambda path: path.name)
def test_arcs_are_counted_as_a_trace_counts_them(path):
    expected = traced(path)
    found, known = counted(path)
    arcs = compared(path, known)
    for case, counts in expected.items():
        assert {a: n for a, n in found[case].items() if a in arcs} == {a: n for a, n in counts.items() if a in arcs}


PROGRAM = """\
def f(items, limit):
    total = 0
    for item in items:
        if item % 2:
            total += item
            continue
        match item:
            case 0:
                total += 1
            case n if n > limit:
                total += 2
            case 4 | 6:
                total += 3
            case _:
                total += 4
    while total > 10:
        total -= 3
        if total == 8:
            break
    else:
        total = 0
    try:
        return items[total]
    except IndexError:
        return -1
"""
TESTS = """\
from program import f

def test_long(): assert f(range(20), 10) is not None

def test_short(): assert f([2, 4, 6, 8, 1], 5) is None
"""


def run(folder, *arguments):
    command = [sys.executable, "-m", "pytest", "-q", "-p", "suspectra", *arguments]
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    subprocess.run(command, cwd=folder, env=environment, capture_output=True, timeout=120, check=False)


def read(folder):
    return RecordingSource(folder, edges=True).read()


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """The program and its tests, one of which fails."""
    folder = tmp_path_factory.mktemp("project")
    (folder / "program.py").write_text(PROGRAM)
    (folder / "test_program.py").write_text(TESTS)
    return folder


@pytest.fixture(scope="module")
def plain(project, tmp_path_factory):
    folder = tmp_path_factory.mktemp("plain") / "project"
    shutil.copytree(project, folder)
    run(folder)
    return read(folder)


@pytest.fixture(scope="module")
def counting(project, tmp_path_factory):
    folder = tmp_path_factory.mktemp("counting") / "project"
    shutil.copytree(project, folder)
    (folder / "pytest.ini").write_text("[pytest]\nsuspectra_counts = true\n")
    run(folder)
    return folder


@pytest.fixture
def copy(counting, tmp_path):
    """The counted recording, to be changed at will."""
    shutil.copytree(counting, tmp_path / "project")
    (tmp_path / "project" / "pytest.ini").unlink()
    return tmp_path / "project"


def times(evidence, test):
    number = [result.name for result in evidence.tests].index(test)
    edges, row = evidence.edges.edges, evidence.edges.rows[number]
    arcs = zip(edges.source[row].tolist(), edges.target[row].tolist(), strict=True)
    return dict(zip(arcs, evidence.edges.counts[number].tolist(), strict=True))


@pytest.mark.slow
def test_a_recording_holds_the_counts_of_each_test(counting):
    evidence = read(counting)
    counts = times(evidence, "test_program.py::test_long")
    assert [counts[arc] for arc in [(-1, 2), (3, 4), (4, 5), (4, 7)]] == [1, 20, 10, 10]
    cases = {(7, 8): 10, (8, 9): 1, (8, 10): 9, (10, 11): 4, (10, 12): 5, (12, 13): 2, (12, 14): 3}
    assert {arc: counts[arc] for arc in cases} == cases
    assert evidence.edges.uncounted is None


@pytest.mark.slow
def test_counted_and_plain_runs_execute_the_same(plain, counting):
    counted = read(counting)
    assert plain.edges.counts is None
    for before, after in zip(plain.rows, counted.rows, strict=True):
        np.testing.assert_array_equal(before, after)
    assert [arcs(plain, row) for row in plain.edges.rows] == [arcs(counted, row) for row in counted.edges.rows]


def arcs(evidence, row):
    """What is no outcome of a condition."""
    edges = evidence.edges.edges
    row = row[~edges.is_outcome[row]]
    return list(zip(edges.source[row].tolist(), edges.target[row].tolist(), strict=True))


def outcomes(evidence, test):
    """How often the conditions of a test came out, by their text."""
    edges, lines = evidence.edges.edges, PROGRAM.split("\n")
    found = {}
    for (_, target), count in times(evidence, test).items():
        if target >= FIRST_OUTCOME:
            number, true = divmod(target - FIRST_OUTCOME, 2)
            line, start, _, end = edges.conditions[0][number].tolist()
            found[lines[line - 1][start:end], bool(true)] = count
    return found


@pytest.mark.slow
def test_a_recording_holds_how_conditions_came_out(counting):
    evidence = read(counting)
    assert outcomes(evidence, "test_program.py::test_long") == {("n > limit", True): 4, ("n > limit", False): 5}
    assert outcomes(evidence, "test_program.py::test_short") == {("n > limit", True): 2, ("n > limit", False): 2}


def test_damaged_recordings_of_conditions_are_reported(copy):
    (log,) = (copy / ".suspectra" / "recording").glob("*.log")
    whole = list(frames(log.read_bytes()))
    for wrong in ([[1, 2, 3]], [[1, 2, 3, -4]], [], "x", [[1 << 40] * 4], None):
        parts = [MAGIC]
        for kind, payload, _ in whole:
            if kind == FrameKind.FILE:
                head, blob = split_json(payload)
                sizes, body = split_json(zlib.decompress(blob))
                payload = with_json(head, zlib.compress(with_json({**sizes, "conditions": wrong}, body)))
            parts.append(frame(kind, payload))
        log.write_bytes(b"".join(parts))
        assert any("does not contain what it should" in problem.cause for problem in read(copy).problems), wrong


def without_conditions(spectrum):
    """The same spectrum, as a recording without conditions would give it."""
    old, keep = spectrum.edges, ~spectrum.edges.is_outcome
    place = np.cumsum(keep) - 1
    edges = Edges(old.file[keep], old.source[keep], old.target[keep], old.function[keep], old.kind, old.complete)
    kept = [keep[row] for row in spectrum.edge_rows]
    return replace(
        spectrum,
        edges=edges,
        edge_rows=tuple(place[row[k]].astype(np.int32) for row, k in zip(spectrum.edge_rows, kept, strict=True)),
        edge_counts=tuple(counts[k] for counts, k in zip(spectrum.edge_counts, kept, strict=True)),
    )


@pytest.mark.parametrize("technique", ["cp", "branch", "sbbfl", "nn-perm", "ochiai"])
def test_techniques_of_arcs_are_blind_to_conditions(counting, technique):
    evidence = read(counting)
    spectrum, program = evidence.spectrum(), evidence.program
    assert spectrum.edges.is_outcome.any()
    reports = [make_technique(technique).localize(s, program) for s in (spectrum, without_conditions(spectrum))]
    ranks = [[(report.suspect(i).element, report.suspect(i).score) for i in range(len(report))] for report in reports]
    assert ranks[0] == ranks[1]


@pytest.mark.slow
def test_without_counts_techniques_say_how_to_get_them(plain):
    program = plain.program
    for name in ("sober", "nn-perm"):
        with pytest.raises(NothingToRank, match="suspectra record --counts"):
            make_technique(name).localize(plain.spectrum(), program)


@pytest.mark.slow
def test_tests_without_counts_leave_none_and_are_named_where_counts_are_needed(copy):
    run(copy, "test_program.py::test_short")
    evidence = read(copy)
    assert evidence.edges.counts is None
    assert evidence.edges.uncounted.cause.startswith("1 of 2 tests were recorded without counts")
    assert "--counts" in evidence.edges.uncounted.cure
    localizers = {name: Localizer(make_technique(name)) for name in ("ochiai", "cp", "sober")}
    for localizer in localizers.values():
        localizer.evidence = evidence
    named = {name for name, localizer in localizers.items() if evidence.edges.uncounted in localizer.problems()}
    assert named == {"sober"}


@pytest.mark.slow
def test_the_option_asks_for_counts_in_every_process(copy):
    shutil.rmtree(copy / ".suspectra")
    run(copy, "--suspectra-counts", "-p", "xdist", "-n", "2")
    assert len(read(copy).edges.counts) == 2


@pytest.mark.parametrize("technique", ["sober", "nn-perm"])
def test_techniques_of_counts_rank_python(counting, technique):
    localizer = Localizer(make_technique(technique))
    report = localizer.update(read(counting))
    assert len(report) == 24
    assert report.level_score[0] > report.level_score[-1]


def test_damaged_counts_are_reported(copy):
    (log,) = (copy / ".suspectra" / "recording").glob("*.log")
    parts = [MAGIC]
    for kind, payload, _ in frames(log.read_bytes()):
        if kind == FrameKind.TEST:
            head, rows = split_json(payload)
            payload = with_json(head, zlib.compress(zlib.decompress(rows)[:-3]))
        parts.append(frame(kind, payload))
    log.write_bytes(b"".join(parts))
    assert sum("damaged" in problem.cause for problem in read(copy).problems) == 2


def test_what_was_harvested_can_be_put_back():
    hook = ImportHook(lambda path: path, counting=True)
    module = types.ModuleType("counted")
    exec(
        hook.code("counted.py", "counted.py", b"def f():\n    return 1\nfor i in range(300):\n    f()\n"),
        module.__dict__,
    )
    harvest = touched, bits = hook.harvest()
    assert touched == [0]
    assert array("Q", bits[1:]).tolist() == [1, 300, 1, 300, 1]
    assert hook.harvest() == ([], b"")
    hook.mark(*harvest)
    module.f()
    assert array("Q", hook.harvest()[1][1:]).tolist() == [1, 301, 1, 300, 1]

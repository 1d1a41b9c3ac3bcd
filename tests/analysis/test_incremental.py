"""After every edit of a long random sequence, the state that was kept up to date equals one built from scratch."""

import hashlib
import json
import random
import struct
import zlib
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from suspectra.base.errors import NothingToRank
from suspectra.evidence.recording import RecordingSource
from suspectra.localizer import Localizer
from suspectra.markov.debugging_model import DebuggingModel
from suspectra.program.calls import StatementCalls
from suspectra.program.dynamic_flow import DynamicFlow
from suspectra.spectrum import Spectrum
from suspectra.techniques import formulas, make_technique, technique_names
from suspectra.techniques.control_flow.cp import Propagation
from suspectra.techniques.control_flow.flow_report import FlowReport
from suspectra.techniques.control_flow.reuse import Reuse
from suspectra_recorder.instrumentation.cell_constants import with_cells
from suspectra_recorder.instrumentation.loaded_file import LoadedFile
from suspectra_recorder.instrumentation.rewriting import instrument
from suspectra_recorder.log.compaction import compact
from suspectra_recorder.log.frames import FrameKind, pack_rows, with_json
from suspectra_recorder.log.writer import LogWriter
from suspectra_server.features.diagnostics import Published
from suspectra_server.state.documents import Disk, Texts, Units
from suspectra_server.state.ranking import Ranking
from suspectra_server.state.snapshot import Snapshot

FORMULAS = list(formulas.FORMULAS)
COSTLY = [name for name in technique_names() if name not in FORMULAS]

PIECES = (
    "def sign(a):\n    if a > 0:\n        return 1\n{0}    return -1\n\n\n",
    "def total(n):\n    s = 0\n    for i in range(n):\n        s += i\n        if s > 7:\n            break\n{1}"
    "    return s\n\n\n",
    "def pick(a):\n{2}    try:\n        return [1, 2][a]\n    except IndexError:\n        b = a\n    return b\n",
)
LINES = ("    a = a - 1\n", "    s = s + 1\n", "    a = abs(a)\n")


def source(version: int, name: str) -> bytes:
    """One of eight versions of a file."""
    lines = [line if version >> i & 1 else "" for i, line in enumerate(LINES)]
    return (f"# {name}\n" + "".join(PIECES).format(*lines)).encode()


class Suite:
    """A workspace whose tests are recorded, changed at random.

    With `sources_as_run` every source that counts can be read as it was run. What is kept up to date may know control
    flow of a source that has gone since, which nothing built later can.
    """

    def __init__(self, folder: Path, seed: int, sources_as_run: bool = False):
        self.sources_as_run = sources_as_run
        self.folder, self.chance = folder, random.Random(seed)
        self.recording = folder / ".suspectra" / "recording"
        self.recording.mkdir(parents=True)
        (folder / "test_all.py").write_text("")
        self.clock, self.named, self.runs = 1, 0, 0
        self.files: dict[str, int] = {}
        self.tests: dict[str, tuple[str, bytes]] = {}  # outcome, and rows as they were packed
        self.log: LogWriter | None = None
        self.number: dict[str, int] = {}
        self.module: dict[str, tuple[list[int], dict]] = {}
        for number in range(4):
            self.write(f"pkg/m{number}.py", number)
        self.new_run()
        for _ in range(6):
            self.add()
        self.flip()

    def tick(self) -> int:
        self.clock += 1
        return self.clock

    def write(self, path: str, version: int):
        self.files[path] = version
        (self.folder / path).parent.mkdir(exist_ok=True)
        (self.folder / path).write_bytes(source(version, path))

    # what is recorded

    def new_run(self, *changed: str):
        if self.log:
            self.log.close()
        self.runs += 1
        self.log = LogWriter(str(self.recording / f"{self.runs:05}.log"))
        head = {"run": f"r{self.runs}", "worker": "", "started": self.tick()}
        self.log.write(FrameKind.RUN, json.dumps(head).encode())
        self.number, self.module = {}, {}
        loaded = list(self.files)
        self.chance.shuffle(loaded)
        for path in dict.fromkeys([*changed, *loaded[: self.chance.randint(2, 4)]]):
            self.load(path)

    def load(self, path: str):
        text = (self.folder / path).read_bytes()
        tree, module_map = instrument(text, path, "__cells__", counting=True)
        cells = [0] * (-(-module_map.cells // 8) * 8)
        space = {"__name__": path}
        exec(with_cells(compile(tree, path, "exec"), "__cells__", LoadedFile(path, "", cells, b"")), space)
        head = {"path": path, "digest": hashlib.sha256(text).hexdigest(), "cells": len(cells), "is_test": False}
        self.log.write(FrameKind.FILE, with_json(head, module_map.to_bytes()))
        self.number[path], self.module[path] = len(self.number), (cells, space)
        if self.chance.random() < 0.5:
            self.log.write(FrameKind.OUTSIDE, pack_rows([self.number[path]], self.harvest(path)[0]))
        cells[:] = [0] * len(cells)

    def harvest(self, path: str) -> tuple[bytes, bytes]:
        cells, _ = self.module[path]
        found = np.array(cells, np.int64)
        cells[:] = [0] * len(cells)
        return np.packbits(found > 0).tobytes(), b"".join(struct.pack("<Q", n) for n in found[found > 0].tolist())

    def execute(self) -> bytes:
        """What some calls execute, packed."""
        touched, bits, times = [], b"", b""
        for path in self.chance.sample(sorted(self.files), self.chance.randint(0, 2)):
            if path not in self.number:
                self.load(path)
            space = self.module[path][1]
            for name in self.chance.sample(["sign", "total", "pick"], self.chance.randint(1, 3)):
                space[name](self.chance.randint(0, 6))
            now, counted = self.harvest(path)
            touched, bits, times = [*touched, self.number[path]], bits + now, times + counted
        return pack_rows(touched, bits + times)

    def record(self, name: str, verdict: str, rows: bytes):
        self.tests[name] = verdict, rows
        head = {"name": name, "verdict": verdict, "phases": {"call": verdict}, "message": "", "seconds": 0.1}
        head |= {"location": ["test_all.py", 1], "flaky": False, "time": self.tick()}
        self.log.write(FrameKind.TEST, with_json(head, rows))

    # edits

    def verdict(self) -> str:
        return self.chance.choices(["passed", "failed", "skipped", "error"], [6, 3, 1, 1])[0]

    def some(self) -> str | None:
        return self.chance.choice(sorted(self.tests)) if self.tests else None

    def add(self):
        self.named += 1
        self.record(f"test_all.py::t{self.named}", self.verdict(), self.execute())

    def rerun(self):
        if name := self.some():
            self.record(name, self.tests[name][0], self.execute())

    def flip(self):
        if name := self.some():
            outcome = "failed" if self.tests[name][0] != "failed" else "passed"
            self.record(name, outcome, self.execute())

    def remove(self):
        if len(self.tests) > 3:
            del self.tests[self.some()]
            scope = {"time": self.tick(), "files": {"test_all.py": list(self.tests)}}
            self.log.write(FrameKind.SCOPE, zlib.compress(json.dumps(scope).encode()))

    def edit(self):
        path = self.chance.choice(sorted(self.files))
        self.write(path, self.files[path] ^ 1 << self.chance.randrange(3))
        self.new_run(*[path] * (self.sources_as_run or self.chance.random() < 0.5))
        self.rerun()

    def rename(self):
        path = self.chance.choice(sorted(self.files))
        version = self.files.pop(path)
        if not self.sources_as_run:
            (self.folder / path).unlink()
        self.named += 1
        new = f"pkg/m{self.chance.randrange(10)}_{self.named}.py"
        self.write(new, version)
        self.new_run(new)
        self.rerun()

    def tidy(self):
        self.new_run()
        compact(str(self.recording), max_logs=3)

    def step(self) -> None:
        edits = (self.add, self.rerun, self.flip, self.remove, self.edit, self.rename, self.tidy)
        self.chance.choices(edits, [3, 5, 4, 3, 2, 1, 1])[0]()
        if len(self.tests) > 14:
            self.remove()


def ranked(act):
    """The outcome of a ranking: a report, or why there is none."""
    try:
        return act()
    except NothingToRank as error:
        return str(error.problem)


def same_ranking(one, other):
    """The same, to the last bit."""
    if isinstance(one, str) or isinstance(other, str):
        assert one == other
        return
    assert one.technique == other.technique
    np.testing.assert_array_equal(one.level, other.level)
    np.testing.assert_array_equal(one.level_score, other.level_score)
    assert one.top(5).tolist() == other.top(5).tolist()
    assert len(one) == len(other)
    assert one.caveats() == other.caveats()
    if isinstance(one, FlowReport) and isinstance(one.details, Propagation):
        np.testing.assert_array_equal(one.details.br, other.details.br)


def same_evidence(one, other):
    assert one.tests == other.tests
    assert [(f.path, f.digest, f.line.tolist()) for f in one.files] == [
        (f.path, f.digest, f.line.tolist()) for f in other.files
    ]
    assert [row.tolist() for row in one.rows] == [row.tolist() for row in other.rows]
    assert one.at_import.tolist() == other.at_import.tolist()
    assert set(one.problems) == set(other.problems)
    assert {test: row.tolist() for test, row in one.changed.items()} == {
        test: row.tolist() for test, row in other.changed.items()
    }
    assert (one.edges is None) == (other.edges is None)
    if one.edges is not None:
        for ours, theirs in zip(one.edges.rows, other.edges.rows, strict=True):
            assert ours.tolist() == theirs.tolist()
        assert (one.edges.counts is None) == (other.edges.counts is None)
        for ours, theirs in zip(one.edges.counts or (), other.edges.counts or (), strict=True):
            assert ours.tolist() == theirs.tolist()
        for name in ("file", "source", "target", "function"):
            assert getattr(one.edges.edges, name).tolist() == getattr(other.edges.edges, name).tolist()


def same_spectrum(one, other):
    assert one.tests == other.tests
    assert one.failed.tolist() == other.failed.tolist()
    for name in ("counts", "edge_hit_counts") if one.edges is not None else ("counts",):
        ours, theirs = getattr(one, name), getattr(other, name)
        assert (ours.failed, ours.passed) == (theirs.failed, theirs.passed)
        assert ours.ef.tolist() == theirs.ef.tolist()
        assert ours.ep.tolist() == theirs.ep.tolist()
    assert one.suspected == other.suspected
    assert one.changed_for.tolist() == other.changed_for.tolist()


def same_model(one, other):
    """The same transition matrix, and the same expected steps, up to what rounding costs on the way to them."""
    assert abs(one.chain.rates - other.chain.rates).nnz == 0
    assert one.elements.tolist() == other.elements.tolist()
    assert one.chain.location.tolist() == other.chain.location.tolist()
    np.testing.assert_allclose(one.expected_steps, other.expected_steps, rtol=1e-8)
    here = int(one.elements[len(one.elements) // 2])
    np.testing.assert_allclose(one.expected_steps_from(here), other.expected_steps_from(here), rtol=1e-8, atol=1e-9)


class Reader:
    """How the debugging model is kept current: flow, calls and solver are taken over from state to state."""

    def __init__(self):
        self.flow, self.calls, self.model = None, None, None

    def read(self, report, program):
        self.flow = DynamicFlow.from_spectrum(report.spectrum, program.graphs, self.flow)
        self.calls = StatementCalls.from_program(report.spectrum, program, previous=self.calls)
        self.model = DebuggingModel(report, self.flow, self.calls, previous=self.model)
        return self.model


class Editor:
    """What an editor shows that is sent the diagnostics of one workspace; the server's own parts, without a wire."""

    def __init__(self, root: Path):
        self.shown, self.sent = {}, set()
        wire = SimpleNamespace(
            units=Units.for_encoding(None),
            can=lambda name: True,
            supports_status=True,
            text_document_publish_diagnostics=self.take,
        )
        self.published = Published(wire, lambda folder: {})
        self.disk = Disk(root)
        self.folder = SimpleNamespace(
            uri=root.as_uri(),
            removed=False,
            root=root,
            settings=SimpleNamespace(diagnostics="all"),
            texts=Texts(),
            uri_of=lambda path: (root / path).as_uri(),
        )

    def take(self, message):
        self.sent.add(message.uri)
        self.shown[message.uri] = message.diagnostics
        if not message.diagnostics:
            del self.shown[message.uri]

    def show(self, evidence, localizer):
        ranking = Ranking.from_report(localizer.technique, evidence, localizer.report, localizer.problems(), 30)
        texts = self.folder.texts
        texts.forget_except(ranking.files.values())
        files = {path: ranking.files[path] for path in {suspect.location.file for suspect in ranking.suspects}}
        texts.take(files.values(), self.disk.read(files))
        placed = {path: place for path, file in files.items() if (place := texts.placement(file))}
        self.folder.snapshot = Snapshot(ranking, placed)
        before, self.sent = dict(self.shown), set()
        self.published.publish(self.folder)
        # nothing is sent but files that show something else now
        assert self.sent == {uri for uri in before | self.shown if before.get(uri) != self.shown.get(uri)}
        return self.shown


@pytest.mark.parametrize(
    ("edges", "number"),
    [(True, 12), *(pytest.param(*other, marks=pytest.mark.slow) for other in [(True, 13), (False, 11)])],
)
def test_what_is_kept_up_to_date_equals_what_is_built_from_scratch(tmp_path, edges, number, seed, thorough):
    """Evidence, counts, ranking, debugging model and diagnostics after each of many random edits.

    One localizer follows every edit with a technique that is switched now and then. Beside it every technique has its
    turn again and again, each on what it kept since its last one: the formulas three a step, the others one.
    """
    suite, chance = Suite(tmp_path, seed + number, sources_as_run=edges), random.Random(seed + number)
    steps = 500 if thorough else 120
    costly = [*COSTLY, "ochiai+cp", "tarantula+branch", "evidence+cp"] if edges else ["evidence"]
    source, localizer, reader, editor = (
        RecordingSource(tmp_path, edges=edges),
        Localizer(technique("ochiai")),
        Reader(),
        Editor(tmp_path),
    )
    turns = {name: Localizer(technique(name)) for name in [*FORMULAS, *costly]}
    tried = Counter()
    for step in range(steps):
        suite.step()
        if chance.random() < 0.2:  # another technique, before the evidence is looked at again
            name = chance.choice([*costly * 4, *FORMULAS])
            localizer.technique = technique(name, clone_failed=name in FORMULAS and chance.random() < 0.5)
        evidence, fresh = source.read(), RecordingSource(tmp_path, edges=edges).read()
        same_evidence(evidence, fresh)
        tried["changes"] += any(map(len, evidence.changed.values()))
        report, anew = ranked(lambda e=evidence: localizer.update(e)), Localizer(localizer.technique)
        same_ranking(report, ranked(lambda a=anew, e=fresh: a.update(e)))
        tried[localizer.technique.name] += 1
        if not isinstance(report, str):
            same_spectrum(localizer._spectrum, anew._spectrum)
            same_spectrum(report.spectrum, anew.report.spectrum)
            same_model(reader.read(report, localizer.program), DebuggingModel.from_report(anew.report, anew.program))
            assert editor.show(evidence, localizer) == Editor(tmp_path).show(fresh, anew)
        names = [FORMULAS[(step * 3 + i) % len(FORMULAS)] for i in range(3)]
        for name in [*names, costly[step % len(costly)]] if costly else names:
            tried[name] += 1
            other = Localizer(turns[name].technique)
            one = ranked(lambda n=name, e=evidence: turns[n].update(e))
            same_ranking(one, ranked(lambda o=other, e=fresh: o.update(e)))
    assert tried["changes"] > steps // 10
    assert min(tried[name] for name in turns) >= min(3 * steps // len(FORMULAS), steps // len(costly))


def technique(name, **options):
    return make_technique(name, **options, **({"walks": 20} if name == "sbbfl" else {}))


def test_one_change_shares_all_else(tmp_path):
    suite = Suite(tmp_path, 3)
    source, localizer = RecordingSource(tmp_path), Localizer(make_technique("ochiai"))
    before, report = source.read(), None
    report = localizer.update(before)
    rows = dict(zip((t.name for t in before.tests), before.rows, strict=True))
    name = suite.some()
    suite.record(name, "failed", suite.execute())
    after = source.read()
    assert after.files is before.files
    for test, row in zip(after.tests, after.rows, strict=True):
        assert (row is rows[test.name]) == (test.name != name)
    spectrum = localizer.update(after).spectrum
    assert spectrum.elements is report.spectrum.elements
    assert spectrum.candidates is report.spectrum.candidates
    assert Spectrum.pairs.peek(spectrum) is not None


def test_rows_of_other_files_are_moved_when_a_file_changes(tmp_path):
    suite = Suite(tmp_path, 5)
    source = RecordingSource(tmp_path)
    source.read()
    decoded = dict(source._decoded)
    path = sorted(suite.files)[-1]
    suite.write(path, suite.files[path] ^ 7)
    suite.new_run()
    suite.load(path) if path not in suite.number else None
    suite.record("test_all.py::new", "failed", suite.execute())
    source.read()
    # the last file changed, so nothing before it moves, and what does not touch it is the same object
    same = [key for key, value in source._decoded.items() if decoded.get(key) is value]
    assert same


def test_functions_of_other_files_are_not_solved_again_when_a_file_changes(tmp_path):
    suite = Suite(tmp_path, 7, sources_as_run=True)
    source, localizer = RecordingSource(tmp_path, edges=True), Localizer(make_technique("cp"))
    before = localizer.update(source.read())
    path = sorted(suite.files)[1]
    suite.write(path, suite.files[path] ^ 1)
    suite.new_run(path)
    report = localizer.update(source.read())
    after, elements = report.details, report.spectrum.elements
    again = Reuse(after.flow, after.counts, before.details).graphs.tolist()
    assert 0 < len(again) < len(after.flow)
    known = before.spectrum.elements.versions
    for graph in again:
        assert elements.versions[elements.file[after.flow.graph(graph).element[0]]] not in known

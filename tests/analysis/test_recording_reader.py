"""Reading recordings: what was written comes back, and what is damaged or hostile says so."""

import contextlib
import json
import os
import random
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from suspectra.base.errors import EvidenceError
from suspectra.evidence.recording import RecordingSource
from suspectra.selection.recorded_tests import recorded_tests
from suspectra_recorder.instrumentation.rewriting import instrument
from suspectra_recorder.log.compaction import compact
from suspectra_recorder.log.frames import FRAME, MAGIC, FrameKind, frame, frames, pack_rows, with_json
from suspectra_recorder.log.locks import is_locked, lock
from suspectra_recorder.log.writer import LogWriter

SOURCE = b"""\
def f(a):
    if a:
        b = 1
        return b
    return 2


def g():
    return 3
"""


class Log:
    """Writes a log as the recorder does, with rows given as line numbers."""

    def __init__(self, workspace, name="1", run="r", started=1):
        self.folder = Path(workspace) / ".suspectra" / "recording"
        self.folder.mkdir(parents=True, exist_ok=True)
        self.path = self.folder / f"{name}.log"
        self.writer = LogWriter(str(self.path))
        self.maps = []
        head = {"run": run, "worker": "", "started": started}
        self.writer.write(FrameKind.RUN, json.dumps(head).encode())

    def file(self, name, source=SOURCE, **changes):
        _, module_map = instrument(source, name, "__cells__")
        head = {"path": name, "digest": str(zlib.crc32(source)), "cells": 0, "is_test": False}
        head["cells"] = -(-module_map.cells // 8) * 8
        self.writer.write(FrameKind.FILE, with_json({**head, **changes}, module_map.to_bytes()))
        self.maps.append(module_map)

    def rows(self, lines):
        """Rows that set the cells of these (file number, lines)."""
        touched, bits = [], b""
        for number, wanted in lines.items():
            module_map = self.maps[number]
            cells = {p.cell for p in module_map.probes if p.kind == 0 and p.line in wanted}
            size = -(-module_map.cells // 8)
            value = sum(1 << (size * 8 - 1 - cell) for cell in cells)
            touched.append(number)
            bits += value.to_bytes(size, "big")
        return pack_rows(touched, bits)

    def test(self, name, verdict="passed", lines=None, time=1, **changes):
        head = {
            "name": name,
            "verdict": verdict,
            "phases": {"call": verdict},
            "message": "",
            "seconds": 0.5,
            "location": None,
            "flaky": False,
            "time": time,
        }
        self.writer.write(FrameKind.TEST, with_json({**head, **changes}, self.rows(lines or {})))

    def outside(self, lines):
        self.writer.write(FrameKind.OUTSIDE, self.rows(lines))

    def scope(self, time, **files):
        payload = {"files": {f"{name}.py": tests for name, tests in files.items()}, "time": time}
        self.writer.write(FrameKind.SCOPE, zlib.compress(json.dumps(payload).encode()))

    def raw(self, kind, payload):
        self.writer.write(kind, payload)

    def close(self):
        self.writer.close()


@pytest.fixture
def log(tmp_path):
    log = Log(tmp_path)
    yield log
    log.close()


def lines(evidence):
    elements = evidence.elements
    return {
        test.name: [(elements.files[elements.file[i]], int(elements.line[i])) for i in row]
        for test, row in zip(evidence.tests, evidence.rows, strict=True)
    }


def test_what_was_written_comes_back(tmp_path, log):
    log.file("b.py")
    log.file("a.py")
    log.outside({0: {1, 8}})
    log.test("t.py::one", lines={0: {2, 5}, 1: {9}}, location=["t.py", 7])
    log.test("t.py::two", "failed", lines={1: {2, 3}}, message="no", flaky=True)
    (tmp_path / "t.py").touch()
    evidence = RecordingSource(tmp_path).read()
    assert [f.path for f in evidence.files] == ["a.py", "b.py"]
    assert evidence.files[0].line.tolist() == [1, 2, 3, 4, 5, 8, 9]
    assert evidence.files[0].functions == (("f", 1, 5), ("g", 8, 9))
    # `return b` is reached whenever `b = 1` is: one cell stands for both
    assert lines(evidence) == {
        "t.py::one": [("a.py", 9), ("b.py", 2), ("b.py", 5)],
        "t.py::two": [("a.py", 2), ("a.py", 3), ("a.py", 4)],
    }
    assert [str(evidence.elements.location(i)) for i in evidence.at_import] == ["b.py:1", "b.py:8"]
    one, two = evidence.tests
    assert (str(one.location), one.seconds, one.flaky) == ("t.py:7", 0.5, False)
    assert (two.verdict.value, two.message, two.flaky) == ("failed", "no", True)
    assert all(row.dtype == np.int32 for row in evidence.rows)
    assert evidence.problems == ()


def test_edges_follow_the_arms(tmp_path, log):
    log.file("a.py")
    log.test("true", lines={0: {2, 3}})
    log.test("false", lines={0: {2, 5}})
    evidence = RecordingSource(tmp_path, edges=True).read()
    table = evidence.edges.edges
    arcs = [[(int(table.source[i]), int(table.target[i])) for i in row] for row in evidence.edges.rows]
    assert arcs == [[(-1, 2), (2, 3), (3, 4)], [(-1, 2), (2, 5)]]
    assert RecordingSource(tmp_path).read().edges is None


def test_reading_again_reads_what_was_appended_and_shares_the_rest(tmp_path, log):
    log.file("a.py")
    log.test("one", lines={0: {2}})
    log.test("two", lines={0: {9}})
    source = RecordingSource(tmp_path)
    first = source.read()
    again = source.read()
    assert all(a is b for a, b in zip(first.rows, again.rows, strict=True))
    log.test("two", "failed", lines={0: {2, 5}}, time=2)
    log.test("three", lines={0: {9}}, time=2)
    second = source.read()
    assert second.rows[0] is first.rows[0]
    assert second.elements is first.elements
    assert lines(second)["two"] == [("a.py", 2), ("a.py", 5)]
    assert {t.name: t.verdict.value for t in second.tests} == {"one": "passed", "two": "failed", "three": "passed"}


def test_two_runs_at_once_do_not_disturb_each_other(tmp_path, log):
    other = Log(tmp_path, "2", "s", 2)
    log.file("a.py")
    other.file("b.py")
    other.file("a.py")
    log.test("one", lines={0: {2}}, time=5)
    other.test("one", "failed", lines={1: {9}}, time=4)
    other.test("two", lines={0: {9}}, time=5)
    other.close()
    evidence = RecordingSource(tmp_path).read()
    assert lines(evidence) == {"one": [("a.py", 2)], "two": [("b.py", 9)]}


def test_a_collection_forgets_tests_it_did_not_see(tmp_path, log):
    log.file("a.py")
    for name in ("t.py::old", "t.py::kept", "u.py::other"):
        log.test(name, lines={0: {2}}, time=1)
    log.scope(2, t=["t.py::kept", "t.py::new"])
    log.test("t.py::new", time=3)
    assert set(lines(RecordingSource(tmp_path).read())) == {"t.py::kept", "t.py::new", "u.py::other"}


# merging


def test_merging_keeps_what_counts(tmp_path):
    for number in range(5):
        log = Log(tmp_path, str(number), f"run{number}", number)
        for path in ("a.py", "b.py") if number % 2 else ("b.py", "a.py"):
            log.file(path)
        log.outside({0: {1}})
        log.test("always", "failed" if number == 4 else "passed", lines={0: {2}}, time=number)
        log.test(f"only{number}", lines={0: {9}, 1: {2, 5}}, time=number)
        log.raw(FrameKind.PROBLEM, json.dumps({"file": "f", "place": "", "cause": "c", "cure": "d"}).encode())
        log.close()
    source = RecordingSource(tmp_path)
    before = source.read()
    compact(str(log.folder), max_logs=2)
    assert len(list(log.folder.iterdir())) == 1
    after = source.read()
    assert lines(after) == lines(before)
    assert {t.name: t for t in after.tests} == {t.name: t for t in before.tests}
    assert after.at_import.tolist() == before.at_import.tolist()
    assert after.files == before.files
    rows = {t.name: id(r) for t, r in zip(before.tests, before.rows, strict=True)}
    assert rows == {t.name: id(r) for t, r in zip(after.tests, after.rows, strict=True)}
    assert lines(RecordingSource(tmp_path).read()) == lines(before)
    assert len(after.problems) == 1


def test_a_source_that_was_changed_and_put_back_stays_as_it_is_now(tmp_path):
    for number, source in enumerate([SOURCE, b"changed = 1\n" + SOURCE, SOURCE]):
        log = Log(tmp_path, str(number), f"run{number}", number)
        log.file("a.py", source)
        log.test(f"test{number}", lines={0: {2 + (number == 1)}}, time=number)
        log.close()
    before = RecordingSource(tmp_path).read()
    compact(str(log.folder), max_logs=0)
    assert len(list(log.folder.iterdir())) == 1
    after = RecordingSource(tmp_path).read()
    assert [file.digest for file in after.files] == [str(zlib.crc32(SOURCE))]
    assert lines(after) == lines(before)


def test_a_log_that_later_runs_replaced_is_dropped(tmp_path):
    for number in range(2):
        log = Log(tmp_path, str(number), f"run{number}", number)
        log.file("a.py")
        log.test("one", lines={0: {2}}, time=number)
        log.close()
    compact(str(log.folder))
    assert [p.name for p in log.folder.iterdir()] == ["1.log"]


def test_a_log_that_is_being_written_is_left_alone(tmp_path, log):
    log.file("a.py")
    log.test("one", lines={0: {2}}, time=1)
    later = Log(tmp_path, "2", "s", 2)
    later.file("a.py")
    later.test("one", lines={0: {2}}, time=2)
    later.close()
    compact(str(log.folder), max_logs=0)
    assert log.path.exists()


def test_a_recording_grows_until_its_last_writer_lets_go(tmp_path, log):
    log.file("a.py")
    log.test("one", lines={0: {2}}, time=1)
    source = RecordingSource(tmp_path)
    assert not source.growing()  # not read yet
    source.read()
    assert source.growing()
    log.close()
    assert not source.growing()


def names(folder):
    return {test.name for test in RecordingSource(folder).read().tests}


@pytest.mark.parametrize("damaged", [False, True])
def test_a_test_that_was_deleted_stays_deleted_whatever_log_could_not_be_tidied(tmp_path, damaged):
    old = Log(tmp_path, "0", "old", 0)
    old.file("a.py")
    for name in ("t.py::gone", "t.py::renamed", "t.py::kept", "u.py::other"):
        old.test(name, "failed", lines={0: {2}}, time=1)
    if damaged:
        old.close()
        with old.path.open("ab") as stream:
            stream.write(FRAME.pack(1, 0, FrameKind.TEST))  # a wrong checksum
    for number, kept in enumerate((["t.py::kept"], ["t.py::kept", "t.py::renamed"], ["t.py::kept"]), 1):
        log = Log(tmp_path, str(number), f"run{number}", number)
        log.file("a.py")
        log.scope(10 * number, t=kept)
        log.test("t.py::kept", lines={0: {2}}, time=10 * number + 1)
        log.close()
    replaced = Log(tmp_path, "4", "run4", 4)
    replaced.file("a.py")
    replaced.test("t.py::kept", lines={0: {2}}, time=50)
    replaced.close()
    assert names(tmp_path) == {"t.py::kept", "u.py::other"}
    chosen_before = recorded_tests(old.folder).tests.keys()
    for _ in range(2):
        compact(str(old.folder), max_logs=0)
        assert len(list(old.folder.iterdir())) == 2
        assert names(tmp_path) == {"t.py::kept", "u.py::other"}
        assert recorded_tests(old.folder).tests.keys() == chosen_before == {"t.py::kept", "u.py::other"}
    merged = next(path for path in old.folder.iterdir() if "merged" in path.name)
    assert [f.kind for f in frames(merged.read_bytes())].count(FrameKind.SCOPE) == 1
    old.close()


def test_damaged_logs_survive_tidying(tmp_path, log):
    log.file("a.py")
    log.close()
    (log.folder / "2.log").write_bytes(b"something else")
    compact(str(log.folder), max_logs=0)
    assert (log.folder / "2.log").read_bytes() == b"something else"


# damage


def test_a_torn_tail_is_dropped_and_said(tmp_path, log):
    log.file("a.py")
    log.test("one", lines={0: {2}})
    whole = log.path.stat().st_size
    log.test("two", lines={0: {9}})
    log.close()
    data = log.path.read_bytes()
    for size in (whole + 1, whole + 8, len(data) - 1):
        log.path.write_bytes(data[:size])
        evidence = RecordingSource(tmp_path).read()
        assert list(lines(evidence)) == ["one"]
        [problem] = evidence.problems
        assert "cut off" in problem.cause
        assert problem.place == f"byte {whole}"


def test_a_torn_tail_that_is_completed_is_read(tmp_path, log):
    log.file("a.py")
    log.test("one", lines={0: {2}})
    log.close()
    data = log.path.read_bytes()
    source = RecordingSource(tmp_path)
    log.path.write_bytes(data[:-5])
    assert not source.read().tests
    with log.path.open("ab") as stream:
        stream.write(data[-5:])
    evidence = source.read()
    assert list(lines(evidence)) == ["one"]
    assert evidence.problems == ()


@pytest.mark.parametrize(
    ("data", "cause"),
    [
        (b"", "empty file"),
        (b"\0" * 100, "not a recording"),
        (b"SUSPECTRA LOG 9\n", "another version"),
        (MAGIC + b"\xff" * 50, "impossible length"),
        (MAGIC + struct.pack("<IIB", 10, 0, 1) + b"x" * 9, "wrong checksum"),
        (MAGIC + struct.pack("<IIB", 1 << 27, 0, 1) + b"x" * 9, "cut off"),
    ],
)
def test_a_log_that_is_none_is_an_error_alone_and_a_problem_among_others(tmp_path, log, data, cause):
    log.file("a.py")
    log.test("one", lines={0: {2}})
    bad = log.folder / "0.log"
    bad.write_bytes(data)
    [problem] = RecordingSource(tmp_path).read().problems
    assert problem.file == ".suspectra/recording/0.log"
    assert cause in problem.cause
    assert problem.cure
    log.close()
    log.path.unlink()
    with pytest.raises(EvidenceError, match=cause):
        RecordingSource(tmp_path).read()


@pytest.mark.parametrize("keep", [0, 9, -5], ids=["empty", "in the magic bytes", "in the last entry"])
def test_what_a_running_process_has_not_written_yet_is_no_problem(tmp_path, log, keep):
    log.file("a.py")
    log.test("one", lines={0: {2}})
    log.close()
    begun = log.folder / "9.log"
    data = log.path.read_bytes()
    source = RecordingSource(tmp_path)
    with begun.open("wb", buffering=0) as stream:
        assert lock(stream.fileno())
        stream.write(data[:keep])
        assert source.read().problems == ()
        stream.write(data[keep:])
        assert source.read().problems == ()
    begun.write_bytes(data[:keep])
    assert len(RecordingSource(tmp_path).read().problems) == 1


@pytest.mark.parametrize("keep", [0, 9, -5], ids=["empty", "in the magic bytes", "in the last entry"])
def test_what_a_process_writes_just_before_it_ends_is_read_and_not_reported(tmp_path, log, keep, monkeypatch):
    log.file("a.py")
    log.test("one", lines={0: {2}})
    log.close()
    data = log.path.read_bytes()
    log.path.write_bytes(data[:keep])

    def ended(path):
        log.path.write_bytes(data)
        return False

    monkeypatch.setattr("suspectra.evidence.recording.log.is_locked", ended)
    evidence = RecordingSource(tmp_path).read()
    assert list(lines(evidence)) == ["one"]
    assert evidence.problems == ()


def test_a_log_that_another_process_begins_is_not_found_before_it_is_locked(tmp_path, monkeypatch):
    seen = []
    path = tmp_path / "1.log"

    def locked(descriptor):
        seen.append(path.exists())
        return lock(descriptor)

    monkeypatch.setattr("suspectra_recorder.log.writer.lock", locked)
    writer = LogWriter(str(path))
    assert seen == [False]
    assert is_locked(path)
    assert path.read_bytes() == MAGIC
    assert os.listdir(tmp_path) == ["1.log"]
    writer.close()


def bomb():
    """Compressed zeros, 256 MiB of them; made by the test that reads them, and not whenever tests are collected."""
    return zlib.compress(bytes(1 << 28), 1)


@pytest.mark.parametrize(
    "path",
    ["../a.py", "/etc/passwd", "a/../../b.py", "", "c:\\x.py", "C:/x.py", "a\0.py", 7, ["a"], None],
)
def test_paths_out_of_the_workspace_are_refused(tmp_path, log, path):
    log.file("a.py", path=path)
    log.file("b.py")
    log.test("one", lines={1: {2}})
    log.test("two", lines={0: {2}})
    log.test("three", location=[path, 1])
    evidence = RecordingSource(tmp_path).read()
    assert [f.path for f in evidence.files] == ["b.py"]
    assert lines(evidence)["one"] == [("b.py", 2)]
    assert lines(evidence)["two"] == []
    assert len(evidence.problems) >= 2


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"\xff\xff\xff\xff",
        struct.pack("<I", 4) + b"\xff\xfe{}",
        struct.pack("<I", 2) + b"[]",
        struct.pack("<I", 2) + b"{}",
        with_json({"name": "x", "verdict": "exploded", "phases": {}, "message": "", "seconds": 0, "time": 1}),
        with_json({"name": "x", "verdict": "passed", "phases": 3, "message": "", "seconds": 0, "time": 1}),
        with_json({"name": "x", "verdict": "passed", "phases": {}, "message": "", "seconds": [], "time": "a"}),
    ],
)
@pytest.mark.parametrize("kind", list(FrameKind))
def test_frames_that_hold_something_else_are_problems(tmp_path, log, kind, payload):
    log.file("a.py")
    log.raw(kind, payload)
    log.test("one", lines={0: {2}})
    evidence = RecordingSource(tmp_path).read()
    assert lines(evidence)["one"] == [("a.py", 2)]
    assert evidence.problems


@pytest.mark.parametrize(
    "rows",
    [
        b"",
        b"junk",
        bomb,
        zlib.compress(struct.pack("<I", 1 << 31)),
        zlib.compress(struct.pack("<II", 1, 7)),
        zlib.compress(struct.pack("<II", 1, 0)),
        zlib.compress(struct.pack("<III", 2, 0, 0) + b"\0\0\0\0"),
        pack_rows([0], b"\0" * 10),
        pack_rows([0], b"\0\0")[:-3],
    ],
)
def test_damaged_rows_are_problems_and_the_verdict_stays(tmp_path, log, rows):
    log.file("a.py")
    head = {"name": "bad", "verdict": "failed", "phases": {}, "message": "", "seconds": 0, "time": 1, "flaky": 0}
    damaged = rows() if rows is bomb else rows
    log.raw(FrameKind.TEST, with_json(head, damaged))
    log.raw(FrameKind.OUTSIDE, damaged)
    log.test("one", lines={0: {2}})
    evidence = RecordingSource(tmp_path, edges=True).read()
    assert lines(evidence) == {"bad": [], "one": [("a.py", 2)]}
    assert evidence.tests[0].verdict.value == "failed"
    assert len(evidence.problems) == 2


@pytest.mark.parametrize("blob", [b"", b"junk", bomb, zlib.compress(with_json({"statements": -1}))])
def test_damaged_maps_are_problems(tmp_path, log, blob):
    head = {"path": "bad.py", "digest": "d", "is_test": False, "cells": 8}
    log.raw(FrameKind.FILE, with_json(head, blob() if blob is bomb else blob))
    log.maps.append(None)
    log.file("a.py")
    log.test("one", lines={1: {2}})
    evidence = RecordingSource(tmp_path).read()
    assert lines(evidence) == {"one": [("a.py", 2)]}
    assert len(evidence.problems) == 1


@settings(max_examples=60, deadline=None)
@given(st.randoms(use_true_random=False))
def test_any_damage_gives_evidence_or_an_evidence_error(tmp_path_factory, rnd: random.Random):
    workspace = tmp_path_factory.mktemp("fuzz")
    log = Log(workspace)
    log.file("a.py")
    log.outside({0: {1}})
    log.test("one", lines={0: {2}})
    log.scope(1, t=["t.py::x"])
    log.test("two", "failed", lines={0: {2, 9}})
    log.close()
    data = bytearray(log.path.read_bytes())
    for _ in range(rnd.randrange(1, 6)):
        action = rnd.randrange(3)
        at = rnd.randrange(len(data))
        if action == 0:
            data[at] = rnd.randrange(256)
        elif action == 1:
            del data[at : at + rnd.randrange(20)]
        else:
            data[at:at] = rnd.randbytes(rnd.randrange(20))
    log.path.write_bytes(data)
    with contextlib.suppress(EvidenceError):
        RecordingSource(workspace, edges=True).read()


def test_frames_repaired_after_damage_inside_are_still_checked(tmp_path, log):
    """A right checksum over wrong content is caught as well."""
    rnd = random.Random(1)
    log.file("a.py")
    log.close()
    data = log.path.read_bytes()
    for _ in range(100):
        payload = rnd.randbytes(rnd.randrange(60))
        log.path.write_bytes(data + frame(FrameKind(rnd.randrange(1, 7)), payload))
        assert RecordingSource(tmp_path).read().problems


# places


def test_no_recording_yet(tmp_path):
    with pytest.raises(EvidenceError, match="nothing has been recorded yet"):
        RecordingSource(tmp_path).read()
    (tmp_path / ".suspectra" / "recording").mkdir(parents=True)
    with pytest.raises(EvidenceError, match="nothing has been recorded yet"):
        RecordingSource(tmp_path).read()


def test_the_last_good_state_comes_back_with_the_log(tmp_path, log):
    log.file("a.py")
    log.test("one", lines={0: {2}})
    log.close()
    source = RecordingSource(tmp_path)
    source.read()
    data = log.path.read_bytes()
    log.path.unlink()
    with pytest.raises(EvidenceError):
        source.read()
    log.path.write_bytes(data)
    assert lines(source.read()) == {"one": [("a.py", 2)]}


def test_a_folder_that_leads_out_of_the_workspace_is_refused(tmp_path):
    Log(tmp_path / "elsewhere").close()
    work = tmp_path / "work"
    work.mkdir()
    (work / ".suspectra").symlink_to(tmp_path / "elsewhere" / ".suspectra")
    with pytest.raises(EvidenceError, match="outside the workspace"):
        RecordingSource(work).read()
    (work / ".suspectra").unlink()
    (work / ".suspectra").symlink_to(".suspectra")  # a loop
    with pytest.raises(EvidenceError):
        RecordingSource(work).read()


def test_logs_that_are_no_files_are_not_opened(tmp_path, log):
    log.file("a.py")
    log.test("one", lines={0: {2}})
    os.mkfifo(log.folder / "2.log")
    (log.folder / "3.log").symlink_to("/dev/zero")
    (log.folder / "4.log").mkdir()
    (log.folder / "notes.txt").write_text("not a log")
    evidence = RecordingSource(tmp_path).read()
    assert lines(evidence) == {"one": [("a.py", 2)]}
    assert [p.file[-5:] for p in evidence.problems] == ["2.log", "3.log", "4.log"]


def test_a_huge_log_is_not_read(tmp_path, log):
    log.file("a.py")
    log.test("one", lines={0: {2}})
    with (log.folder / "2.log").open("wb") as stream:
        stream.truncate((1 << 30) + 1)  # sparse
    [problem] = RecordingSource(tmp_path).read().problems
    assert "larger than" in problem.cause


def test_a_test_file_that_was_deleted_takes_its_tests_along(tmp_path, log):
    log.file("a.py")
    log.test("gone.py::one", lines={0: {2}}, location=["gone.py", 1])
    log.test("two", lines={0: {2}})
    evidence = RecordingSource(tmp_path).read()
    assert list(lines(evidence)) == ["two"]
    assert [(p.file, p.cause) for p in evidence.problems] == [
        ("gone.py", "was deleted, so 1 recorded test in it is left out")
    ]

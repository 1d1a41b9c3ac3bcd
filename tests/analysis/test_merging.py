"""Merging recordings: shards side by side, the newest record of each test, and what does not fit said."""

import json
import zlib
from pathlib import Path

import pytest
from click.testing import CliRunner

from suspectra.base.errors import EvidenceError, UsageError
from suspectra.cli.main import cli
from suspectra.evidence.recording import RecordingSource
from suspectra.recording.merging import merge
from suspectra_recorder.instrumentation.rewriting import instrument
from suspectra_recorder.log.frames import FrameKind, pack_rows, with_json
from suspectra_recorder.log.writer import LogWriter

SOURCE = b"def f(a):\n    if a:\n        return 1\n    return 2\n"
NEWER = b"# new\n" + SOURCE


class Shard:
    """A recording of a workspace, written as the recorder does."""

    def __init__(self, folder: Path, run: str, started: int):
        recording = folder / ".suspectra" / "recording"
        recording.mkdir(parents=True, exist_ok=True)
        self.folder, self.started, self.files = folder, started, 0
        self.log = LogWriter(str(recording / f"{started:05}-{run}.log"))
        head = {"run": run, "worker": "", "started": started}
        self.log.write(FrameKind.RUN, json.dumps(head).encode())
        self.sizes = []

    def file(self, path: str, source: bytes = SOURCE):
        _, module_map = instrument(source, path, "__cells__")
        cells = -(-module_map.cells // 8) * 8
        head = {"path": path, "digest": str(zlib.crc32(source)), "cells": cells, "is_test": False}
        self.log.write(FrameKind.FILE, with_json(head, module_map.to_bytes()))
        self.sizes.append(cells // 8)
        return self

    def test(self, name: str, verdict: str = "passed", file: int = 0, after: int = 1, bits: int = 0xFF):
        rows = pack_rows([file], bytes([bits]) * self.sizes[file])
        head = {"name": name, "verdict": verdict, "phases": {"call": verdict}, "message": "", "seconds": 0.1}
        head |= {"location": None, "flaky": False, "time": self.started + after}
        self.log.write(FrameKind.TEST, with_json(head, rows))
        return self

    def collected(self, after: int, **files: list[str]):
        names = {f"{file}.py": names for file, names in files.items()}
        payload = json.dumps({"time": self.started + after, "files": names}).encode()
        self.log.write(FrameKind.SCOPE, zlib.compress(payload))
        return self

    def end(self) -> Path:
        self.log.close()
        return self.folder


def verdicts(folder: Path) -> dict[str, str]:
    evidence = RecordingSource(folder.parent, folder).read()
    return {test.name: test.verdict.value for test in evidence.tests}


def test_shards_of_one_run_are_kept_side_by_side(tmp_path):
    one = Shard(tmp_path / "1", "run", 10).file("a.py").test("t.py::a", "failed").collected(2, t=["t.py::a"]).end()
    two = Shard(tmp_path / "2", "run", 20).file("b.py").file("a.py").test("t.py::b", file=1)
    two = two.collected(2, t=["t.py::b"]).end()
    merged = merge(tmp_path / "out", [one, two / ".suspectra" / "recording"])
    assert (merged.tests, merged.replaced, merged.runs, merged.problems) == (2, 0, 2, ())
    evidence = RecordingSource(tmp_path, tmp_path / "out").read()
    assert {test.name: test.verdict.value for test in evidence.tests} == {"t.py::a": "failed", "t.py::b": "passed"}
    assert [file.path for file in evidence.files] == ["a.py", "b.py"]
    assert not evidence.problems
    alone = RecordingSource(one).read()
    assert evidence.rows[0].tolist() == alone.rows[0].tolist() == evidence.rows[1].tolist()


@pytest.mark.parametrize("swapped", [False, True])
def test_the_newer_run_of_a_test_counts_whatever_the_order_of_the_inputs(tmp_path, swapped):
    old = Shard(tmp_path / "1", "old", 10).file("a.py").test("a", "failed").test("b", "failed").end()
    new = Shard(tmp_path / "2", "new", 20).file("a.py").test("a", "passed").end()
    merged = merge(tmp_path / "out", [new, old] if swapped else [old, new])
    assert (merged.tests, merged.replaced) == (2, 1)
    assert verdicts(tmp_path / "out") == {"a": "passed", "b": "failed"}


def test_records_of_one_moment_are_one_test(tmp_path):
    shards = [
        Shard(tmp_path / verdict, verdict, 10).file("a.py").test("a", verdict).end() for verdict in ("failed", "passed")
    ]
    assert merge(tmp_path / "out", shards).tests == 1
    assert verdicts(tmp_path / "out") == {"a": "passed"}  # of the input that was named last


def test_what_a_recording_itself_no_longer_found_is_gone(tmp_path):
    Shard(tmp_path / "1", "old", 10).file("a.py").test("t.py::a").test("t.py::gone").end()
    one = Shard(tmp_path / "1", "new", 20).file("a.py").collected(0, t=["t.py::a"]).test("t.py::a").end()
    two = Shard(tmp_path / "2", "other", 15).file("a.py").test("t.py::stays").end()
    merge(tmp_path / "out", [one, two])
    assert set(verdicts(tmp_path / "out")) == {"t.py::a", "t.py::stays"}


def test_versions_of_a_file_are_reported_and_the_newest_run_has_the_lines(tmp_path):
    old = Shard(tmp_path / "1", "old", 10).file("a.py", SOURCE).test("a").end()
    new = Shard(tmp_path / "2", "new", 20).file("a.py", NEWER).test("b", "failed").end()
    merged = merge(tmp_path / "out", [new, old])
    (problem,) = merged.problems
    assert problem.file == "a.py"
    assert "2 versions" in problem.cause
    evidence = RecordingSource(tmp_path, tmp_path / "out").read()
    assert evidence.files[0].digest == str(zlib.crc32(NEWER))
    assert [row.tolist() for row in evidence.rows] == [[0, 1, 2, 3]] * 2


def test_a_source_that_several_runs_loaded_is_in_the_merged_log_once(tmp_path):
    shards = [Shard(tmp_path / run, run, 10).file("a.py").test(run).end() for run in ("1", "2", "3")]
    merge(tmp_path / "out", shards)
    (log,) = (tmp_path / "out").glob("*.log")
    assert log.read_bytes().count(b'"a.py"') == 1
    evidence = RecordingSource(tmp_path, tmp_path / "out").read()
    assert [row.tolist() for row in evidence.rows] == [[0, 1, 2, 3]] * 3


def test_merging_into_an_input_replaces_its_logs(tmp_path):
    one = Shard(tmp_path / "1", "1", 10).file("a.py").test("a").end()
    Shard(tmp_path / "1", "2", 20).file("a.py").test("b").end()
    two = Shard(tmp_path / "2", "3", 30).file("a.py").test("c", "failed").end()
    out = one / ".suspectra" / "recording"
    merge(out, [one, two])
    assert set(verdicts(out)) == {"a", "b", "c"}
    assert len(list(out.glob("*.log"))) == 1


def test_another_recording_is_never_overwritten(tmp_path):
    one = Shard(tmp_path / "1", "1", 10).file("a.py").test("a").end()
    two = Shard(tmp_path / "2", "2", 20).file("a.py").test("b").end()
    with pytest.raises(UsageError, match="contains another recording"):
        merge(two / ".suspectra" / "recording", [one])


def test_a_recording_that_still_grows_is_refused(tmp_path):
    shard = Shard(tmp_path / "1", "1", 10).file("a.py").test("a")
    with pytest.raises(UsageError, match="still being recorded"):
        merge(tmp_path / "out", [shard.folder])
    shard.end()


def test_damage_is_reported_and_the_rest_is_merged(tmp_path):
    one = Shard(tmp_path / "1", "1", 10).file("a.py").test("a").test("b").end()
    (log,) = (one / ".suspectra" / "recording").iterdir()
    log.write_bytes(log.read_bytes()[:-3])
    merged = merge(tmp_path / "out", [one])
    assert verdicts(tmp_path / "out") == {"a": "passed"}
    assert "torn frame" in merged.problems[0].cause
    log.write_bytes(b"something else")
    with pytest.raises(EvidenceError, match="not a recording"):
        merge(tmp_path / "more", [one])
    with pytest.raises(EvidenceError, match="no recording"):
        merge(tmp_path / "more", [tmp_path / "nowhere"])


def test_the_command_says_what_it_did(tmp_path):
    old = Shard(tmp_path / "1", "1", 10).file("a.py").test("a", "failed").end()
    new = Shard(tmp_path / "2", "2", 20).file("a.py", NEWER).test("a").test("b", "failed").end()
    done = CliRunner().invoke(cli, ["merge", str(tmp_path / "out"), str(old), str(new)])
    assert done.exit_code == 0, done.output
    assert "merged 2 tests of 1 run, 1 older records left out" in done.output


def test_an_interrupt_leaves_nothing_half_written(tmp_path, monkeypatch):
    shard = Shard(tmp_path / "1", "run", 10).file("a.py").test("a").end()

    def interrupted(*paths):
        raise KeyboardInterrupt

    monkeypatch.setattr("suspectra_recorder.complete_file.os.replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        merge(tmp_path / "out", [shard])
    assert list((tmp_path / "out").iterdir()) == []

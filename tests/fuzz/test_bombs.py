"""Small files that unpack, nest or count beyond all bounds: each is refused, or read as far as it makes sense."""

import json
import struct
import zlib

import fuzz_targets
import pytest

from suspectra_recorder.log.frames import MAGIC, FrameKind, frame, with_json

DEEP = 100_000
DEEP_JSON = b"[" * DEEP
DEEP_VALUE = b'{"run": "r", "started": 1, "name": "t", "kind": "test", "x": ' + DEEP_JSON + b"]" * DEEP + b"}"
DEEP_XML = b"<testsuite>" * DEEP + b"<testcase name='a'/>" + b"</testsuite>" * DEEP
RUN = frame(FrameKind.RUN, b'{"run": "r", "started": 1}')
MAP = {"path": "a.py", "digest": "d", "is_test": False, "cells": 8}
TEST = {"name": "t", "verdict": "failed", "time": 2, "phases": {}, "message": "", "seconds": 0, "flaky": False}


def huge():
    """Compressed zeros, 300 MiB of them; made by the test that reads them, and not whenever tests are collected."""
    return zlib.compress(bytes(300 << 20), 1)


def log(*frames_):
    return MAGIC + RUN + b"".join(frames_)


def headed(head):
    return struct.pack("<I", len(head)) + head


LOGS = {
    "deep run": MAGIC + frame(FrameKind.RUN, DEEP_VALUE),
    "deep test": log(frame(FrameKind.TEST, headed(DEEP_VALUE))),
    "deep map": log(frame(FrameKind.FILE, with_json(MAP, zlib.compress(headed(DEEP_VALUE))))),
    "deep collection": log(frame(FrameKind.SCOPE, zlib.compress(DEEP_VALUE))),
    "deep problem": log(frame(FrameKind.PROBLEM, DEEP_VALUE)),
    "more cells than memory": log(frame(FrameKind.FILE, with_json(MAP | {"cells": 10**15}, b""))),
    "other types": log(frame(FrameKind.TEST, with_json({"name": [], "verdict": {}, "time": None}, b""))),
    "a run that is a list": MAGIC + frame(FrameKind.RUN, b"[]"),
    "times of two kinds": log(frame(FrameKind.RUN, b'{"run": "s", "started": "later"}')),
}

HUGE_FRAMES = {
    "map": lambda: [frame(FrameKind.FILE, with_json(MAP, huge()))],
    "rows": lambda: [frame(FrameKind.FILE, with_json(MAP, b"")), frame(FrameKind.TEST, with_json(TEST, huge()))],
    "import": lambda: [frame(FrameKind.OUTSIDE, huge())],
    "collection": lambda: [frame(FrameKind.SCOPE, huge())],
}


@pytest.mark.parametrize("what", LOGS)
@pytest.mark.parametrize("name", ["recording", "memory", "merged", "child"])
def test_logs(name, what, tmp_path):
    fuzz_targets.run(name, LOGS[what], tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("what", HUGE_FRAMES)
@pytest.mark.parametrize("name", ["recording", "memory"])
def test_huge_frames(name, what, tmp_path):
    fuzz_targets.run(name, log(*HUGE_FRAMES[what]()), tmp_path)


@pytest.mark.parametrize(
    "name", ["outcomes_json", "gcov_json", "gcovr", "settings", "learned", "recorder_settings", "corpus_index"]
)
@pytest.mark.parametrize(
    "data", [DEEP_JSON, DEEP_VALUE, b'{"jumps": ' + b"9" * 10_000 + b"}"], ids=["nested", "nested inside", "number"]
)
def test_json(name, data, tmp_path):
    fuzz_targets.run(name, data, tmp_path)


def test_a_deep_record_of_c(tmp_path):
    payload = struct.pack("<I", len(DEEP_VALUE)) + DEEP_VALUE
    head = fuzz_targets.seeds("recording_c")[0].partition(b"\n")[0] + b"\n"
    fuzz_targets.run("recording_c", head + struct.pack("<II", len(payload), zlib.crc32(payload)) + payload, tmp_path)


@pytest.mark.parametrize("name", ["junit", "outcomes_xml", "cobertura"])
def test_deep_xml(name, tmp_path):
    fuzz_targets.run(name, DEEP_XML, tmp_path)


@pytest.mark.parametrize(
    "text",
    ["(" * DEEP, "-" * DEEP + "1", "x" + ".x" * DEEP, "x" + "+x" * DEEP],
    ids=["brackets", "signs", "names", "sums"],
)
def test_deep_sources(text, tmp_path):
    fuzz_targets.run("python_source", text.encode(), tmp_path)


def test_a_deep_study(tmp_path):
    fuzz_targets.run("study", b"x = " + b"[" * DEEP, tmp_path)
    fuzz_targets.run("study", b"[" + b"a." * 5_000 + b"a]", tmp_path)  # takes the square of its depth


def test_deep_messages_are_refused_and_the_server_goes_on():
    import fuzz_lsp

    asked = json.dumps({"jsonrpc": "2.0", "id": "last", "method": "suspectra/techniques"}).encode()
    deep = b'{"jsonrpc": "2.0", "id": 1, "method": "suspectra/suspects", "params": ' + DEEP_JSON + b"]" * DEEP + b"}"
    answers = fuzz_lsp.run(b"\n".join([DEEP_JSON, deep, asked]))
    assert next(m for m in answers if m.get("id") == "last")["result"]

"""The one reader of logs: what is damaged is reported and costs nothing else."""

import json
import zlib

import pytest

from suspectra_recorder.log.frames import MAGIC, FrameKind, LogDamage, frame, pack_rows, with_json
from suspectra_recorder.log.reader import LogReader

RUN = frame(FrameKind.RUN, json.dumps({"run": "r", "started": 7, "python": "3.14"}).encode())
HEAD = {"path": "a.py", "digest": "d", "cells": 8, "is_test": False, "traced": True}
SOURCE = frame(FrameKind.FILE, with_json(HEAD, b"map"))
BROKEN_SOURCE = frame(FrameKind.FILE, b"\xff\xff\xff\xff")
IMPORT = frame(FrameKind.SHARED, with_json({"name": "", "module": "a.py"}, pack_rows([0], b"\1")))


def recorded(name):
    return frame(FrameKind.TEST, with_json({"name": name, "time": 1, "shares": ["s"]}, pack_rows([0], b"\1")))


class Listener(LogReader):
    """Notes all it is given."""

    def __init__(self):
        super().__init__()
        self.seen = []

    def on_run(self, run):
        self.seen.append(("run", run.name, run.started, run.python))

    def on_source(self, source):
        if source.path == "refused.py":
            raise ValueError("not this one")
        self.seen.append(("source", source.path, source.cells, source.traced, source.map))

    def on_lost_source(self, payload):
        self.seen.append(("lost", payload[:1]))

    def on_test(self, test):
        self.seen.append(("test", test.name, test.shares, frame(FrameKind.TEST, test.payload) == recorded(test.name)))

    def on_shared(self, shared):
        self.seen.append(("import", shared.module) if not shared.name else ("shared", shared.name))

    def on_unknown(self, kind):
        self.seen.append(("unknown", kind))

    def on_damage(self, end, error):
        self.seen.append(("damage", end, type(error).__name__))


def seen(data):
    reader = Listener()
    reader.read(data)
    return reader.seen


def test_records_come_in_order_and_whole():
    assert seen(MAGIC + RUN + SOURCE + IMPORT + recorded("t")) == [
        ("run", "r", 7, "3.14"),
        ("source", "a.py", 8, True, b"map"),
        ("import", "a.py"),
        ("test", "t", ("s",), True),
    ]


def test_a_source_that_is_damaged_keeps_its_number():
    refused = frame(FrameKind.FILE, with_json({**HEAD, "path": "refused.py"}, b""))
    found = seen(MAGIC + RUN + BROKEN_SOURCE + refused + SOURCE)
    assert [kind for kind, *_ in found] == ["run", "lost", "damage", "lost", "damage", "source"]
    assert found[2][1] == len(MAGIC + RUN + BROKEN_SOURCE)


def test_a_log_that_grows_is_read_on():
    reader = Listener()
    whole = MAGIC + RUN + SOURCE
    reader.read(whole)
    assert reader.offset == len(whole)
    more = BROKEN_SOURCE + recorded("t")
    with pytest.raises(LogDamage) as torn:
        reader.read(more + SOURCE[:-1])
    assert torn.value.offset == reader.offset == len(whole + more)
    assert reader.seen[3] == ("damage", len(whole + BROKEN_SOURCE), "ValueError")
    reader.read(SOURCE)
    assert [kind for kind, *_ in reader.seen] == ["run", "source", "lost", "damage", "test", "source"]


def test_what_belongs_to_no_run_is_damage_and_what_is_unknown_is_not():
    assert [kind for kind, *_ in seen(MAGIC + recorded("t") + RUN)] == ["damage", "run"]
    unknown = (1).to_bytes(4, "little") + zlib.crc32(b"\x63").to_bytes(4, "little") + b"\x63"
    assert seen(MAGIC + RUN + unknown)[1:] == [("unknown", 0x63)]

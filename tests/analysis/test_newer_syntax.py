"""Tests that ran in a newer Python than Suspectra: it is said what can't be known then, with the cure."""

import hashlib
import json

import pytest

from suspectra.base.newer_syntax import OWN, is_newer
from suspectra.cli.main import run
from suspectra.experiments.dependences import undecided
from suspectra_recorder.log.frames import MAGIC, FrameKind, frame, frames, split_json, with_json

STATS = """\
def largest(xs):
    best = xs[0]
    for x in xs:
        if x < best:
            best = x
    return best
"""
NEWER = STATS + "\nsyntax of a later Python\n"
TESTS = """\
from stats import largest

def test_one():
    assert largest([1]) == 1

def test_two():
    assert largest([1, 2]) == 2
"""
SAID = f"it uses syntax that is newer than Python {OWN}, under which Suspectra runs"
CURE = "install Suspectra under the Python of the tests"


@pytest.mark.parametrize(
    ("version", "newer"), [("3.99.0", True), ("4.0", True), (OWN, False), ("3.2", False), ("", False), ("x.y", False)]
)
def test_which_versions_are_newer(version, newer):
    assert is_newer(version) is newer


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """A recording as a later Python would have made it."""
    work = tmp_path_factory.mktemp("work")
    (work / "stats.py").write_text(STATS)
    (work / "test_stats.py").write_text(TESTS)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(work)
        assert run(["record", "--recorder", "probes", "--", "pytest", "-q", "-p", "no:cacheprovider"]) == 1
    (work / "stats.py").write_text(NEWER)
    for log in (work / ".suspectra" / "recording").glob("*.log"):
        log.write_bytes(MAGIC + b"".join(map(later, frames(log.read_bytes()))))
    return work


def later(one):
    kind, payload = FrameKind(one.kind), one.payload
    if kind == FrameKind.RUN:
        payload = json.dumps(json.loads(payload) | {"python": "3.99.0"}).encode()
    elif kind == FrameKind.FILE:
        head, rest = split_json(payload)
        if head["path"] == "stats.py":
            payload = with_json(head | {"digest": hashlib.sha256(NEWER.encode()).hexdigest()}, rest)
    return frame(kind, payload)


def test_flow_graphs_are_said_to_be_incomplete(recorded, monkeypatch, capsys):
    monkeypatch.chdir(recorded)
    assert run(["rank", "--technique", "cp"]) == 0
    said = " ".join(capsys.readouterr().err.split())
    assert "(stats.py)" in said
    assert f"{SAID}, so its flow graphs contain only the ways tests took. Fix: {CURE}" in said


def test_which_tests_are_affected_is_said_to_be_coarse(recorded, monkeypatch, capsys):
    monkeypatch.chdir(recorded)
    (recorded / "stats.py").write_text(NEWER.replace("best = xs[0]", "best = xs[-1]"))
    try:
        run(["affected"])
    finally:
        (recorded / "stats.py").write_text(NEWER)
    assert f"stats.py: {SAID}, so every test runs that uses any of it. Fix: {CURE}" in capsys.readouterr().out


def test_slices_say_whose_decisions_are_missing():
    sources = {"a.py": STATS.encode(), "stats.py": NEWER.encode()}
    said = [f"stats.py: {SAID}, so its decisions are left out. Fix: {CURE}."]
    assert list(undecided(["stats.py", "a.py", "gone.py"], sources.get)) == said

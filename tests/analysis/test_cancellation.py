"""Whatever takes long stops when it is cancelled, and what it was building stays as it was."""

from __future__ import annotations

import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from suspectra.base import cancellation
from suspectra.base.cancellation import Cancelled, Token, cancellable, check, checked
from suspectra.evidence.recording import RecordingSource
from suspectra.evidence.recording.log import Log
from suspectra.localizer import Localizer
from suspectra.markov import elimination
from suspectra.markov.debugging_model import DebuggingModel
from suspectra.program import calls, flow_readers
from suspectra.program.python import graphs
from suspectra.techniques import make_technique
from suspectra_recorder.log.frames import MAGIC

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
from large_recording import LINES, Project

TECHNIQUES = ["ochiai", "evidence", "cp", "branch", "cbi", "sober", "nn-perm", "sbbfl", "ochiai+cp"]


class Countdown(Token):
    """A token that is cancelled when it has been looked at so many times."""

    def __init__(self, looks: int):
        self.looks = self.left = looks

    @property
    def cancelled(self) -> bool:  # type: ignore[override]
        self.left -= 1
        return self.left < 0


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    project = Project(tmp_path_factory.mktemp("large"), 70, 3000 // LINES, counts=True)
    project.make()
    return project


@pytest.fixture(autouse=True)
def _nothing_known():
    """Every test reads the sources anew."""
    _forget_flows()


def _forget_flows() -> None:
    graphs._flows.cache_clear()
    graphs._read_flow._known.clear()


def rank(folder: Path, name: str, token: Token, localizer: Localizer | None = None, source=None):
    with cancellable(token):
        evidence = (source or RecordingSource(folder, edges=True)).read()
        return (localizer or Localizer(make_technique(name))).update(evidence)


def test_nobody_is_stopped_by_what_is_cancelled_elsewhere():
    token = Token()
    with cancellable(token):
        token.cancelled = True
    check()
    with cancellable(token), pytest.raises(Cancelled):
        check()
    with cancellable(token), pytest.raises(Cancelled):
        list(checked([1]))


@pytest.fixture
def helper(monkeypatch: pytest.MonkeyPatch) -> list[subprocess.Popen[bytes]]:
    """A process helps to read control flow, however little there is."""
    monkeypatch.setattr(flow_readers, "MIN_BYTES", 0)
    monkeypatch.setattr(flow_readers, "_processors", lambda: 2)
    start, started = flow_readers._start, []
    monkeypatch.setattr(flow_readers, "_start", lambda *files: started.append(start(*files)) or started[-1])
    return started


def test_control_flow_is_read_while_the_recording_is(project, helper, monkeypatch):
    expected = rank(project.folder, "cp", Token())
    _forget_flows()
    helper.clear()
    source = RecordingSource(project.folder, edges=True, flow=True)
    evidence = source.read()
    assert helper[0].wait(60) == 0  # it has read all of it before anybody asks
    monkeypatch.setattr(flow_readers, "read_flow", None)
    found = Localizer(make_technique("cp")).update(evidence)
    np.testing.assert_array_equal(found.scores, expected.scores)
    assert source.read().reading is evidence.reading
    assert len(helper) == 1  # nothing is new


def test_who_stops_reading_a_recording_stops_the_processes_that_help(project, helper):
    class Impatient(Token):
        cancelled = property(lambda _: bool(helper), lambda _, value: None)

    with pytest.raises(Cancelled), cancellable(Impatient()):
        RecordingSource(project.folder, edges=True, flow=True).read()
    assert helper[0].returncode is not None


def test_reading_a_large_log_can_be_stopped(tmp_path):
    """Even where there is nothing in it to look at: the disk may be slow."""
    path = tmp_path / "0.log"
    path.write_bytes(MAGIC + bytes(8 << 20))
    log, looks = Log(lambda source: None), Countdown(sys.maxsize)
    with cancellable(looks):
        log.update(path, "0.log")
    assert sys.maxsize - looks.left >= 8
    assert log.problems
    with pytest.raises(Cancelled), cancellable(Countdown(3)):
        Log(lambda source: None).update(path, "0.log")


@pytest.mark.slow
@pytest.mark.parametrize("name", TECHNIQUES)
def test_a_technique_can_be_stopped_wherever_it_looks(project, name):
    """Stopped at any of many moments, the same localizer and source then give the ranking that a fresh one gives."""
    expected = rank(project.folder, name, Token())
    looks = Countdown(sys.maxsize)
    rank(project.folder, name, looks)  # the flow of sources is known by now, as it is whenever it was read
    total = looks.looks - looks.left
    assert total > 70  # at least once a test
    localizer, source = Localizer(make_technique(name)), RecordingSource(project.folder, edges=True)
    stops = sorted({*range(0, 40, 5), *range(0, total, max(1, total // 12)), total - 1})
    for stop in stops:
        with pytest.raises(Cancelled):
            rank(project.folder, name, Countdown(stop))
    with pytest.raises(Cancelled):
        rank(project.folder, name, Countdown(total // 2), localizer, source)
    report = rank(project.folder, name, Token(), localizer, source)
    assert report.level.tolist() == expected.level.tolist()
    assert report.level_score.tolist() == expected.level_score.tolist()


@pytest.mark.slow
def test_the_debugging_model_can_be_stopped_wherever_it_looks(project):
    """While the chain is made, while it is eliminated, and while expected steps are found."""
    evidence = RecordingSource(project.folder, edges=True).read()
    localizer = Localizer(make_technique("ochiai"))
    report = localizer.update(evidence)

    def steps(token: Token) -> list[float]:
        calls._callers._known.clear()
        with cancellable(token):
            return DebuggingModel.from_report(report, localizer.program).ht_rank.tolist()

    expected, looks = steps(Token()), Countdown(sys.maxsize)  # what the spectrum counts, it counts once
    assert steps(looks) == expected
    total = looks.looks - looks.left
    assert total - len(report.spectrum.elements.files) > 10  # each file, and each level of the elimination
    for stop in sorted({*range(0, total, max(1, total // 15)), *range(total - 8, total)}):
        with pytest.raises(Cancelled):
            steps(Countdown(stop))


def test_large_products_are_made_some_rows_at_a_time():
    """One of them takes seconds, in which nobody could be heard."""
    random = np.random.default_rng(1)
    a, b = random.random((64, 30)), random.random((30, 1))
    looks = Countdown(sys.maxsize)
    wide = np.broadcast_to(b, (30, elimination.PRODUCT // (16 * 30)))
    with cancellable(looks):
        found = elimination._product(a, wide[:, :1])
        assert elimination.rows_at_a_time(wide) == 16
    np.testing.assert_allclose(found, a @ b)
    assert looks.left < looks.looks


def test_reading_goes_on_after_it_was_stopped(project):
    looks = Countdown(sys.maxsize)
    with cancellable(looks):
        whole = RecordingSource(project.folder, edges=True).read()
    source = RecordingSource(project.folder, edges=True)
    for stop in range(0, looks.looks - looks.left, 17):
        with cancellable(Countdown(stop)), suppress(Cancelled):
            source.read()
    found = source.read()
    assert [row.tolist() for row in found.rows] == [row.tolist() for row in whole.rows]
    assert [row.tolist() for row in found.edges.rows] == [row.tolist() for row in whole.edges.rows]


def test_a_change_that_was_stopped_comes_with_the_next_reading(tmp_path):
    project = Project(tmp_path, 40, 1000 // LINES)
    project.make()
    source, localizer = RecordingSource(tmp_path, edges=True), Localizer(make_technique("cp"))
    rank(tmp_path, "cp", Token(), localizer, source)
    project.edit(2)
    for stop in range(0, 60, 4):
        with suppress(Cancelled):
            rank(tmp_path, "cp", Countdown(stop), localizer, source)
    report, fresh = rank(tmp_path, "cp", Token(), localizer, source), rank(tmp_path, "cp", Token())
    assert report.level.tolist() == fresh.level.tolist()
    assert report.level_score.tolist() == fresh.level_score.tolist()


def test_the_token_of_before_is_back_behind_a_block():
    outer = Token()
    with cancellable(outer):
        with cancellable(Token()):
            pass
        assert cancellation._token.get() is outer

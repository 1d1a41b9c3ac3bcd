"""Watching files, waiting until they are complete, and working one job at a time."""

import asyncio
import os
import shutil
import threading
import time

import pytest

from suspectra.evidence.boundary import Boundary
from suspectra_recorder.log.frames import FrameKind
from suspectra_recorder.log.writer import LogWriter
from suspectra_server.session.jobs import Cancelled, Jobs
from suspectra_server.session.ranking import watching
from suspectra_server.session.ranking.evidence_files import EvidenceFiles
from suspectra_server.session.ranking.ranker import Ranked
from suspectra_server.session.ranking.watching import Debouncer, Watcher, state_of
from suspectra_server.timing import EVIDENCE_DEBOUNCE_S, PUBLISH_S

TIMEOUT_S = 60  # seconds; never reached but by a failure


class Notified:
    """A watcher, and the keys that it notified of."""

    def __init__(self, act=lambda key: None):
        self.keys = []
        self._act = act
        self._notified = asyncio.Event()
        self.watcher = Watcher(asyncio.get_running_loop(), self._notify)

    def _notify(self, key):
        self.keys.append(key)
        self._act(key)
        self._notified.set()

    async def has(self, key):
        """Wait until there was a notification of a key."""
        while key not in self.keys:
            self._notified.clear()
            await asyncio.wait_for(self._notified.wait(), TIMEOUT_S)

    async def mark(self, marker):
        """Change another file beside the watched ones; its notification comes after all that happened before."""
        self.keys = [key for key in self.keys if key != "marker"]
        marker.write_bytes(os.urandom(8))
        await self.has("marker")


def refuse_watches():
    raise OSError(28, "inotify watch limit reached")


@pytest.fixture(params=["events", "looking"])
def watch(request, monkeypatch, tmp_path):
    """A watcher that the system notifies, and one that finds out by itself."""
    if request.param == "looking":
        monkeypatch.setattr(watching, "Observer", refuse_watches)
    monkeypatch.setattr(watching, "WATCH_POLL_S", 0.05 if request.param == "looking" else 3600)

    async def run(paths, steps):
        notified, marker = Notified(), tmp_path / "marker"
        notified.watcher.watch("key", [str(path) for path in paths], {str(path): state_of(str(path)) for path in paths})
        notified.watcher.watch("marker", [str(marker)], {str(marker): None})
        try:
            for step in steps:
                await notified.mark(marker)
                notified.keys.clear()
                step()
                await notified.has("key")
        finally:
            notified.watcher.stop()

    return lambda paths, *steps: asyncio.run(run(paths, steps))


def test_a_file_that_changes_appears_or_goes_is_reported(watch, tmp_path):
    file = tmp_path / "evidence"
    watch([file], lambda: file.write_text("a"), lambda: file.write_text("bb"), file.unlink)


def test_a_file_that_is_replaced_is_reported(watch, tmp_path):
    file, new = tmp_path / "evidence", tmp_path / "new"
    file.write_text("a")
    new.write_text("b")
    watch([file], lambda: os.replace(new, file))


def test_a_folder_that_appears_later_is_watched(watch, tmp_path):
    folder = tmp_path / "not" / "yet" / "there"
    log = folder / "log"

    def make():
        folder.mkdir(parents=True)
        log.write_text("a")

    def grow():
        with open(log, "a") as file:
            file.write("b")

    watch([folder], make, grow, grow)


def test_other_files_and_reading_are_not_reported(tmp_path):
    async def run():
        file, marker = tmp_path / "evidence", tmp_path / "marker"
        file.write_text("a")
        notified = Notified()
        notified.watcher.watch("key", [str(file)])
        notified.watcher.watch("marker", [str(marker)], {str(marker): None})
        await notified.mark(marker)  # the watch is in place
        (tmp_path / "other").write_text("x")
        file.read_text()
        await notified.mark(marker)
        notified.watcher.stop()
        return notified.keys

    assert set(asyncio.run(run())) == {"marker"}


def test_the_state_of_what_is_not_there_or_not_finite(tmp_path):
    assert state_of(str(tmp_path / "missing")) is None
    (tmp_path / "loop").symlink_to(tmp_path)
    assert state_of(str(tmp_path)) is not None


class Clock(asyncio.SelectorEventLoop):
    """A loop whose time passes when a test says so, however long that takes on a busy machine."""

    now = 0.0

    def time(self):
        return self.now

    async def pass_by(self, seconds):
        self.now += seconds
        for _ in range(5):  # what was due, and what that brought about
            await asyncio.sleep(0)


def run_on_clock(test):
    """Run a test with a clock of its own. Threads know nothing of that clock, so it bounds no waiting."""
    clock = Clock()
    try:
        clock.run_until_complete(test(clock))
    finally:
        clock.close()


def test_settling_waits_until_nothing_happens():
    async def test(clock):
        acted = asyncio.Event()
        settling = Debouncer(clock, acted.set)
        for _ in range(8):
            settling.trigger(0.1)
            await clock.pass_by(0.09)
            assert not acted.is_set()
        await clock.pass_by(0.02)
        assert acted.is_set()
        assert not settling.waiting

    run_on_clock(test)


def test_a_state_that_is_given_is_what_later_ones_are_compared_with(tmp_path):
    file = tmp_path / "evidence"
    file.write_text("as it was read")
    read = {str(file): state_of(str(file))}
    file.write_text("changed before the watch was in place")

    async def run():
        notified = asyncio.Queue()
        watcher = Watcher(asyncio.get_running_loop(), notified.put_nowait)
        watcher.watch("key", [str(file)], read)
        assert await asyncio.wait_for(notified.get(), TIMEOUT_S) == "key"
        watcher.stop()

    asyncio.run(run())


def test_a_state_that_is_given_while_files_are_compared_is_what_they_are_compared_with(monkeypatch, tmp_path):
    """The file was missing when its state was read, and is there before a comparison ends that began earlier."""
    monkeypatch.setattr(watching, "WATCH_POLL_S", 0.05)
    monkeypatch.setattr(watching, "Observer", refuse_watches)
    file = tmp_path / "evidence"
    comparing, given = threading.Event(), threading.Event()

    class SlowBoundary(Boundary):
        looks = 0

        def may_look(self, path):
            self.looks += path == str(file)
            if self.looks == 2:  # the first is for the folder to watch
                comparing.set()
                assert given.wait(TIMEOUT_S)
            return super().may_look(path)

    async def run():
        notified, boundary = Notified(), SlowBoundary(tmp_path)
        notified.watcher.watch("key", [str(file)], boundary=boundary)
        assert await asyncio.to_thread(comparing.wait, TIMEOUT_S)
        notified.watcher.watch("key", [str(file)], {str(file): None}, boundary)
        file.write_text("it is here")
        given.set()
        await notified.has("key")
        notified.watcher.stop()

    asyncio.run(run())


class Watched:
    """Evidence files that are watched by the system, ranked from by the clock."""

    def __init__(self, clock, *paths):
        self.clock, self.paths = clock, list(map(str, paths))
        self.notified = Notified(lambda key: key == "marker" or self.evidence.changed())
        self.ranked = asyncio.Event()
        self.jobs = Jobs(clock)
        self.evidence = EvidenceFiles("folder", self.jobs, self.notified.watcher, self._rank)

    def _rank(self, states):
        self.evidence.cancel_waiting()
        self.ranked.set()

    def states(self):
        return {path: state_of(path) for path in self.paths}

    async def looked(self):
        """Wait until the files were looked at, if somebody wanted that before."""
        await self.jobs.run(lambda: None)

    async def is_ranked(self):
        """Let time pass until a ranking is wanted."""
        end = time.monotonic() + TIMEOUT_S
        while not self.ranked.is_set():
            assert time.monotonic() < end, "no ranking is wanted"
            await self.clock.pass_by(0.1)
            await self.looked()

    def close(self):
        self.evidence.close()
        self.notified.watcher.stop()
        self.jobs.stop()


def test_evidence_is_ranked_once_it_rests(tmp_path):
    file = tmp_path / "evidence"
    file.write_text("")

    async def test(clock):
        watched = Watched(clock, file)
        watched.evidence.watch(watched.paths, watched.states())
        for _ in range(10):
            watched.notified.keys.clear()
            with open(file, "a") as growing:
                growing.write("x")
            await watched.notified.has(("evidence", "folder"))
            await watched.looked()
            await clock.pass_by(EVIDENCE_DEBOUNCE_S * 0.9)
            await watched.looked()
            assert not watched.ranked.is_set()
        await watched.is_ranked()
        watched.close()

    run_on_clock(test)


def test_a_recording_that_grows_is_looked_at_by_the_clock_and_not_with_each_test(tmp_path):
    folder = tmp_path / "recording"
    folder.mkdir()
    log = LogWriter(str(folder / "0.log"))
    key = ("evidence", "folder")

    async def test(clock):
        watched, marker = Watched(clock, folder), folder / "marker"
        notified, evidence = watched.notified, watched.evidence
        before = watched.states()
        evidence.watch(watched.paths, before)
        evidence.ranked(Ranked(None, states=before, recorded_by="record", growing=True))
        evidence.watch(watched.paths, before)
        notified.watcher.watch("marker", [str(marker)], {str(marker): None})
        await notified.mark(marker)
        notified.keys.clear()
        for _ in range(20):
            log.write(FrameKind.TEST, b"")
        await notified.mark(marker)
        assert key not in notified.keys
        assert not watched.ranked.is_set()
        log.close()
        await watched.is_ranked()
        assert notified.keys.count(key) < 5  # not of each of the 20 tests, but when the run has ended
        evidence.ranked(Ranked(None, states=watched.states(), recorded_by="record"))
        evidence.watch(watched.paths)
        watched.ranked.clear()
        LogWriter(str(folder / "1.log")).close()
        await notified.has(key)  # the next run is noticed again
        await watched.is_ranked()
        watched.close()

    run_on_clock(test)


@pytest.mark.parametrize("hurries", [False, True])
def test_a_test_that_fails_first_in_a_run_is_ranked_early(tmp_path, hurries):
    folder = tmp_path / "recording"
    folder.mkdir()
    log = LogWriter(str(folder / "0.log"))

    async def test(clock):
        watched = Watched(clock, folder)
        before = watched.states()
        watched.evidence.cancel_waiting()  # a ranking begins, which costs little
        watched.evidence.ranked(Ranked(None, states=before, recorded_by="record", growing=True))
        watched.evidence.watch(watched.paths, before)
        log.write(FrameKind.TEST, b"")
        for _ in range(2):  # the second one comes while the ranking is due
            if hurries:
                watched.evidence.hurry()
            await watched.looked()
        await clock.pass_by(PUBLISH_S * 1.1)
        await watched.looked()
        assert watched.ranked.is_set() == hurries
        await watched.is_ranked()
        watched.close()

    run_on_clock(test)


# jobs


def in_loop(test):
    async def run():
        jobs = Jobs(asyncio.get_running_loop())
        try:
            await asyncio.wait_for(test(jobs), TIMEOUT_S)
        finally:
            jobs.stop()

    asyncio.run(run())


def test_of_waiting_jobs_only_the_newest_runs():
    async def test(jobs):
        go, done, ran = threading.Event(), asyncio.Event(), []
        jobs.submit("rank", lambda token: go.wait(TIMEOUT_S), lambda result: None)
        for n in range(100):
            jobs.submit("rank", lambda token, n=n: ran.append(n), lambda result: None)
        jobs.submit("other", lambda token: ran.append("other"), lambda result: done.set())
        assert jobs.busy("rank")
        go.set()
        await done.wait()
        assert ran == [99, "other"]

    in_loop(test)


def test_a_cancelled_job_stops_and_delivers_nothing():
    async def test(jobs):
        running, done, results = threading.Event(), asyncio.Event(), []

        def work(token):
            running.set()
            while True:
                token.check()

        jobs.submit("rank", work, results.append)
        await asyncio.to_thread(running.wait)
        jobs.cancel("rank")
        jobs.submit("rank", lambda token: 7, lambda result: (results.append(result), done.set()))
        await done.wait()
        assert results == [7]

    in_loop(test)


def test_a_job_that_fails_hands_over_its_error_and_the_next_one_runs():
    async def test(jobs):
        results, done = [], asyncio.Event()

        def fail(token):
            raise ZeroDivisionError("no")

        def give_up(token):
            raise Cancelled

        jobs.submit("a", fail, results.append)
        jobs.submit("b", give_up, results.append)
        jobs.submit("c", lambda token: 1, lambda result: (results.append(result), done.set()))
        await done.wait()
        assert [type(result) for result in results] == [ZeroDivisionError, int]

    in_loop(test)


def test_nothing_is_left_of_a_recording_that_is_deleted(client, shop):
    client.start(shop)
    client.wait(lambda: client.marks(shop))
    shutil.rmtree(shop / ".suspectra")
    client.wait_for_state("noEvidence")
    client.wait(lambda: not client.marks(shop))
    assert client.suspects()["suspects"] == []

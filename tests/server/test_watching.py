"""Watching files, waiting until they are complete, and working one job at a time."""

import asyncio
import os
import threading

import pytest

from suspectra_recorder.log.frames import FrameKind, LogWriter
from suspectra_server.session import watching
from suspectra_server.session.evidence_files import EvidenceFiles
from suspectra_server.session.jobs import Cancelled, Jobs
from suspectra_server.session.ranker import Ranked
from suspectra_server.session.watching import Debouncer, Watcher, state_of

PATIENCE = 20


@pytest.fixture(params=["events", "looking"])
def watch(request, monkeypatch):
    """A watcher that is told by the system, and one that finds out by itself."""
    if request.param == "looking":

        def refuse(*arguments, **how):
            raise OSError(28, "inotify watch limit reached")

        monkeypatch.setattr(watching, "Observer", refuse)
    monkeypatch.setattr(watching, "WATCH_POLL_S", 0.05 if request.param == "looking" else 3600)

    async def run(paths, act, wanted=1):
        told = asyncio.Queue()
        watcher = Watcher(asyncio.get_running_loop(), told.put_nowait)
        watcher.watch("key", [str(path) for path in paths])
        try:
            await asyncio.sleep(0.2)
            while not told.empty():
                told.get_nowait()
            for step in act if isinstance(act, list) else [act]:
                step()
                assert await asyncio.wait_for(told.get(), PATIENCE) == "key"
                await asyncio.sleep(0.2)
                while not told.empty():
                    told.get_nowait()
        finally:
            watcher.stop()

    return lambda paths, act: asyncio.run(run(paths, act))


def test_a_file_that_changes_appears_or_goes_is_told(watch, tmp_path):
    file = tmp_path / "evidence"
    watch([file], [lambda: file.write_text("a"), lambda: file.write_text("bb"), file.unlink])


def test_a_file_that_is_replaced_is_told(watch, tmp_path):
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

    watch([folder], [make, grow, grow])


def test_other_files_and_reading_are_not_told(tmp_path):
    async def run():
        file = tmp_path / "evidence"
        file.write_text("a")
        told = []
        watcher = Watcher(asyncio.get_running_loop(), told.append)
        watcher.watch("key", [str(file)])
        await asyncio.sleep(0.3)
        (tmp_path / "other").write_text("x")
        file.read_text()
        await asyncio.sleep(0.3)
        watcher.stop()
        return told

    assert asyncio.run(run()) == []


def test_the_state_of_what_is_not_there_or_not_finite(tmp_path):
    assert state_of(str(tmp_path / "missing")) is None
    (tmp_path / "loop").symlink_to(tmp_path)
    assert state_of(str(tmp_path)) is not None


def test_settling_waits_until_nothing_happens():
    async def run():
        acted = asyncio.Event()
        settling = Debouncer(asyncio.get_running_loop(), acted.set)
        for _ in range(8):
            settling.trigger(0.1)
            await asyncio.sleep(0.03)
        assert not acted.is_set()
        await asyncio.wait_for(acted.wait(), PATIENCE)
        assert not settling.waiting

    asyncio.run(run())


def test_a_state_that_is_given_is_what_later_ones_are_compared_with(tmp_path):
    file = tmp_path / "evidence"
    file.write_text("as it was read")
    read = {str(file): state_of(str(file))}
    file.write_text("changed before the watch was in place")

    async def run():
        told = asyncio.Queue()
        watcher = Watcher(asyncio.get_running_loop(), told.put_nowait)
        watcher.watch("key", [str(file)], read)
        assert await asyncio.wait_for(told.get(), PATIENCE) == "key"
        watcher.stop()

    asyncio.run(run())


def test_evidence_is_ranked_once_it_rests(tmp_path):
    file = tmp_path / "evidence"
    file.write_text("")

    async def run():
        loop, ranked = asyncio.get_running_loop(), asyncio.Event()
        jobs = Jobs(loop)
        watcher = Watcher(loop, lambda key: evidence.changed())
        evidence = EvidenceFiles("folder", jobs, watcher, ranked.set)
        evidence.watch([str(file)], {str(file): state_of(str(file))})
        for _ in range(10):
            # the system may tell of the first change only
            with open(file, "a") as growing:
                growing.write("x")
            await asyncio.sleep(0.05)
            assert not ranked.is_set()
        await asyncio.wait_for(ranked.wait(), PATIENCE)
        evidence.close()
        watcher.stop()
        jobs.stop()

    asyncio.run(run())


def test_a_recording_that_grows_is_looked_at_by_the_clock_and_not_with_each_test(tmp_path):
    log = LogWriter(str(tmp_path / "0.log"))
    told = []

    async def run():
        loop, ranked = asyncio.get_running_loop(), asyncio.Event()
        jobs = Jobs(loop)

        def changed(key):
            told.append(key)
            evidence.changed()

        def rank():
            evidence.wait_no_more()
            ranked.set()

        watcher = Watcher(loop, changed)
        evidence = EvidenceFiles("folder", jobs, watcher, rank)
        before = {str(tmp_path): state_of(str(tmp_path))}
        evidence.watch([str(tmp_path)], before)
        evidence.ranked(Ranked(None, states=before, recorded_by="record", growing=True))
        evidence.watch([str(tmp_path)], before)
        for _ in range(20):
            log.write(FrameKind.TEST, b"")
            await asyncio.sleep(0.02)
        log.close()
        await asyncio.wait_for(ranked.wait(), PATIENCE)
        assert len(told) <= 1  # of all that came meanwhile, when the run has ended
        evidence.ranked(Ranked(None, states={str(tmp_path): state_of(str(tmp_path))}, recorded_by="record"))
        evidence.watch([str(tmp_path)])
        ranked.clear()
        LogWriter(str(tmp_path / "1.log")).close()
        await asyncio.wait_for(ranked.wait(), PATIENCE)  # the next run is noticed again
        evidence.close()
        watcher.stop()
        jobs.stop()

    asyncio.run(run())


# jobs


def in_loop(test):
    async def run():
        jobs = Jobs(asyncio.get_running_loop())
        try:
            await asyncio.wait_for(test(jobs), PATIENCE)
        finally:
            jobs.stop()

    asyncio.run(run())


def test_of_waiting_jobs_only_the_newest_runs():
    async def test(jobs):
        go, done, ran = threading.Event(), asyncio.Event(), []
        jobs.submit("rank", lambda token: go.wait(PATIENCE), lambda result: None)
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

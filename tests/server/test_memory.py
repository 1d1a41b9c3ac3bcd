"""A session of any length takes no more memory than a short one."""

import asyncio
import gc
import threading
import weakref

import pytest
from scipy.sparse import linalg

from suspectra.evidence.recording import RecordingSource
from suspectra.localizer import Localizer
from suspectra_server.session import jobs
from suspectra_server.session.jobs import Jobs, Token
from suspectra_server.session.ranking import freed_memory
from suspectra_server.settings import Settings
from suspectra_server.state.navigation import NavigationBasis, NavigationModels
from suspectra_server.state.ranking import Ranking


def test_memory_is_released_after_a_rest_and_at_times_without_one(monkeypatch):
    released = []
    monkeypatch.setattr(jobs, "release_memory", lambda: released.append(threading.current_thread().name))
    monkeypatch.setattr(jobs, "MEMORY_RELEASE_S", 0.01)
    monkeypatch.setattr(jobs, "MEMORY_RELEASE_MAX_S", 10)

    async def session():
        loop, jobs_done = asyncio.get_running_loop(), []
        real = loop.time
        monkeypatch.setattr(loop, "time", lambda: real() + len(jobs_done))  # one job in each second
        work = Jobs(loop)
        for _ in range(200):
            jobs_done.append(await work.run(lambda: None))
        without_rest = len(released)
        while len(released) == without_rest:
            await asyncio.sleep(0.01)
        work.stop()
        return without_rest

    assert 15 <= asyncio.run(session()) <= 30
    assert set(released) == {"suspectra-jobs"}


@pytest.mark.slow
def test_giving_back_collects_cycles():
    class Node:
        pass

    gc.collect()
    node = Node()
    node.itself, gone = node, weakref.ref(node)
    del node
    freed_memory.release_memory()
    assert gone() is None


def test_a_navigation_model_has_nothing_that_only_its_own_thread_can_free(shop):
    settings = Settings()
    source, localizer = RecordingSource(shop), Localizer(settings.make_technique())
    evidence = source.read()
    report = localizer.update(evidence)
    ranking = Ranking.from_report(localizer.technique, evidence, report, (), settings.top)
    navigation_models = NavigationModels(lambda: RecordingSource(shop, edges=True))
    navigation = navigation_models.make(NavigationBasis(ranking, frozenset(), settings.jump_model(None)), Token())
    navigation_models.solve(navigation, Token())
    assert navigation.next  # for which the way through the ranking was solved
    assert not any(isinstance(one, linalg.SuperLU) for one in vars(navigation.model).values())


def test_records_that_are_replaced_unread_are_not_kept(shop):
    from suspectra_recorder.log.frames import FrameKind, frame, frames, split_json, with_json

    source = RecordingSource(shop)
    tests = len(source.read().tests)
    (log,) = (shop / ".suspectra/recording").glob("*.log")
    head, rows = split_json(next(one.payload for one in frames(log.read_bytes()) if one.kind == FrameKind.TEST))
    for number in range(10):
        with open(log, "ab") as file:
            for again in range(5):
                later = head | {"time": head["time"] + 10**9 * (10 * number + again + 1)}
                file.write(frame(FrameKind.TEST, with_json(later, rows)))
        source.read()
    assert len(source._decoded) == tests

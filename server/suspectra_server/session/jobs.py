"""Work outside the loop: one worker thread, and for each kind of job only the newest request waits."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Hashable
from contextlib import suppress
from typing import Any, Generic, TypeVar

from suspectra.base.cancellation import Cancelled, Token, cancellable
from suspectra_server.session.ranking.freed_memory import release_memory
from suspectra_server.timing import MEMORY_RELEASE_MAX_S, MEMORY_RELEASE_S

_RELEASE = "release memory"

log = logging.getLogger(__name__)

NICE = 5  # leaves a third of a busy processor to this thread, so that the loop never waits long for it
LONG_NICE = 10  # for work that rankings must not wait for
Result = TypeVar("Result")


class Job(Token, Generic[Result]):
    """A job: the token that cancels it, its work, and the callback for its results."""

    def __init__(
        self,
        key: Hashable,
        publish: Callable[[Job[Result], Result], None],
        work: Callable[[Job[Result]], Result],
        done: Callable[[Result | Exception], None],
    ):
        super().__init__()
        self.key, self.work, self.done = key, work, done
        self._publish = publish

    def publish(self, result: Result) -> None:
        """Deliver a result, to be followed by a better one."""
        self.check()
        self._publish(self, result)


class Jobs:
    """Runs jobs one at a time in a thread of its own.

    All methods are called in the loop's thread, and results are delivered there. The thread is a daemon: a job that
    hangs in a slow file system does not keep the process alive.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, name: str = "suspectra-jobs", nice: int = NICE):
        self._loop = loop
        self._name = name
        self._nice = nice
        self._waiting: dict[Hashable, Job[Any]] = {}
        self._running: Job[Any] | None = None
        self._awaited: set[asyncio.Future[Any]] = set()
        self._wanted = threading.Semaphore(0)
        self._next: Job[Any] | None = None
        self._thread: threading.Thread | None = None
        self._ending: threading.Thread | None = None
        self._released = loop.time()
        self._release: asyncio.TimerHandle | None = None

    def submit(
        self, key: Hashable, work: Callable[[Job[Result]], Result], done: Callable[[Result | Exception], None]
    ) -> None:
        """Run `work` and hand its result to `done`; a waiting job of the same kind is replaced.

        A job may publish results before its last one: `done` gets them all, in order, until it is cancelled.
        """
        self._end_rest()
        self._waiting[key] = Job(key, self._publish, work, done)
        self._start_next()

    async def run(self, work: Callable[[], Result]) -> Result:
        """Run a function in its turn, and return its result.

        Raises asyncio.CancelledError when all jobs are dropped before it has run. Raises Exception: whatever the
        function raises.
        """
        answer: asyncio.Future[Result] = self._loop.create_future()

        def done(result: Result | Exception) -> None:
            if answer.done():
                return
            if isinstance(result, Exception):
                answer.set_exception(result)
            else:
                answer.set_result(result)

        self._awaited.add(answer)
        answer.add_done_callback(self._awaited.discard)
        self.submit(("run", id(answer)), lambda token: work(), done)
        return await answer

    def cancel(self, key: Hashable | None = None) -> None:
        """Drop a kind of job, waiting and running, or every job: none of them will deliver a result."""
        for waiting in [key] if key is not None else list(self._waiting):
            self._waiting.pop(waiting, None)
        if self._running and key in (None, self._running.key):
            self._running.cancelled = True

    def busy(self, key: Hashable) -> bool:
        """Whether a job of that kind waits or runs; one that was cancelled will deliver nothing."""
        running = self._running
        return key in self._waiting or (running is not None and running.key == key and not running.cancelled)

    def stop(self) -> None:
        """Drop every job and let the thread end."""
        self.cancel()
        self._end_rest()
        for answer in list(self._awaited):
            answer.cancel()
        if self._thread:
            self._next = None
            self._wanted.release()
            self._ending, self._thread = self._thread, None

    def join(self, deadline: float) -> None:
        """Wait for the thread to end, after `stop`.

        Python ends a thread where it next takes the interpreter, once the program is over. In C++ code that can't be
        ended there, such as that of `numpy.unique`, this aborts the process.
        """
        if self._ending:
            self._ending.join(max(0.0, deadline - time.monotonic()))

    def _start_next(self) -> None:
        if self._running or not self._waiting:
            return
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name=self._name, daemon=True)
            self._thread.start()
        self._running = self._next = self._waiting.pop(next(iter(self._waiting)))
        self._wanted.release()

    def _work(self) -> None:
        _lower_priority(self._nice)
        while True:
            self._wanted.acquire()
            job = self._next
            if job is None:
                return
            result: Any = None
            try:
                job.check()
                with cancellable(job):
                    result = job.work(job)
            except Cancelled:
                job.cancelled = True
            except Exception as error:  # a job reports what it expects; this is a defect, and must not end the thread
                log.error("a job failed: %s: %s", type(error).__name__, error, exc_info=True)
                result = error
            try:
                self._loop.call_soon_threadsafe(self._finished, job, result)
            except RuntimeError:  # the loop has ended
                return

    def _publish(self, job: Job[Result], result: Result) -> None:
        with suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(self._deliver, job, result)

    def _deliver(self, job: Job[Result], result: Result | Exception) -> None:
        if not job.cancelled:
            job.done(result)

    def _finished(self, job: Job[Result], result: Result | Exception) -> None:
        self._running = None
        self._start_next()
        self._deliver(job, result)
        if job.key != _RELEASE and not self._waiting and not self._running:
            self._release_later()

    def _release_later(self) -> None:
        """Release memory after a rest, and now if there has been none for long."""
        self._end_rest()
        now = self._loop.time()
        if now >= self._released + MEMORY_RELEASE_MAX_S:
            self._release_now()
        else:
            self._release = self._loop.call_later(MEMORY_RELEASE_S, self._release_now)

    def _release_now(self) -> None:
        self._released = self._loop.time()
        self.submit(_RELEASE, lambda token: release_memory(), lambda result: None)

    def _end_rest(self) -> None:
        if self._release is not None:
            self._release.cancel()
            self._release = None


def _lower_priority(nice: int = NICE) -> None:
    """Lower the priority of this thread, where the system has that: other processes, such as tests, come first."""
    if sys.platform == "linux":
        try:
            own = os.getpriority(os.PRIO_PROCESS, threading.get_native_id())
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), max(own, nice))  # root could also raise it
        except OSError as error:
            log.debug("the priority stays: %s", error)

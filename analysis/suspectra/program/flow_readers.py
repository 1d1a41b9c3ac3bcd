"""Reading the control flow of many sources, with the help of other processes.

Python parses one source at a time in a process, however many threads there are. So for many sources, helper processes
are started, which read a part of them and then end. Such a process runs this module and nothing of the workspace: it
reads sources from its standard input, and writes tables. It ends when its input ends, so it does not outlive this
process. Its pipes are polled between two sources that this process reads itself. A thread for them would wait for the
interpreter lock at each call, and the helper with it.
"""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress

from suspectra.cancellation import check
from suspectra.program.python_flow import PythonFlow

MIN_BYTES = 2 << 20
"""Sources of a smaller total size are read before a process would have started, in bytes."""

MAX_PROCESSES = 3
"""More processes would save little: this one must still hand out the sources and read the tables."""

_PORTION = 128 << 10  # bytes of sources in one portion
_AHEAD = 2  # portions a helper has at a time, so that it never waits for the next one
_CHUNK = 1 << 20
_SIZE_BYTES = 8
_START = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]);"
    " from suspectra.program import flow_readers; flow_readers._serve()"
)


def read_flow(data: bytes) -> PythonFlow | None:
    """Read the flow of one source.

    Parameters
    ----------
    data : bytes
        The whole file.

    Returns
    -------
    PythonFlow or None
        None if it is not valid Python.

    Examples
    --------
    >>> read_flow(b"def f(): pass").scopes[1].line, read_flow(b"def")
    (1, None)
    """
    try:
        return PythonFlow.parse(data)
    except SyntaxError:
        return None


def read_flows(sources: Sequence[bytes]) -> Iterator[tuple[bytes, PythonFlow | None]]:
    """Read the flows of several sources.

    Parameters
    ----------
    sources : sequence of bytes
        Whole files.

    Yields
    ------
    source : bytes
        Each of `sources`, in any order.
    flow : PythonFlow or None
        None if it is not valid Python.

    Raises
    ------
    Cancelled
        When the current work was cancelled; the helper processes have then ended.

    Examples
    --------
    >>> [flow and len(flow.scopes) for _, flow in read_flows([b"def f(): pass", b"def"])]
    [2, None]
    """
    count = 0
    if sum(map(len, sources)) >= MIN_BYTES and _can_help():
        count = min(MAX_PROCESSES, _processors() - 1)
    helpers: list[_Helper] = []
    try:
        for _ in range(count):
            with suppress(OSError):
                helpers.append(_Helper(sources))
        yield from _read_together(sources, helpers)
    finally:
        for helper in helpers:
            helper.stop()


_Flow = tuple[bytes, "PythonFlow | None"]


def _can_help() -> bool:
    """Whether a helper can be started, and its pipes polled without blocking (not on Windows)."""
    return bool(sys.executable) and not getattr(sys, "frozen", False) and os.name == "posix"


def _read_together(sources: Sequence[bytes], helpers: Sequence[_Helper]) -> Iterator[_Flow]:
    """Helpers take portions from the front, and this process takes them from the back.

    When they meet, it reads what the helpers have not answered yet itself, instead of waiting.
    """
    waiting = deque(_portions(sources) if helpers else [range(len(sources))])
    while waiting or any(helper.portions for helper in helpers):
        for helper in helpers:
            yield from helper.answers()
            waiting.extend(helper.take_back(all_of_them=not waiting))
            while helper.works and len(waiting) > 1 and len(helper.portions) < _AHEAD:
                helper.give(waiting.popleft())
        for number in waiting.pop() if waiting else ():
            check()
            yield sources[number], read_flow(sources[number])
            for helper in helpers:
                yield from helper.answers()


class _Helper:
    """A process that reads portions of sources.

    This process never waits for it. If the helper fails, its portions are read here.
    """

    def __init__(self, sources: Sequence[bytes]):
        self.portions: deque[range] = deque()  # given, and not answered yet
        self.works = True
        self._sources = sources
        self._process = _start()
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._asking, self._answering = self._process.stdin.fileno(), self._process.stdout.fileno()
        os.set_blocking(self._asking, False)
        os.set_blocking(self._answering, False)
        self._unsent, self._received = bytearray(), bytearray()

    def give(self, portion: range) -> None:
        """Ask it to read a portion."""
        self.portions.append(portion)
        self._unsent += pickle.dumps(self._of(portion))

    def answers(self) -> list[_Flow]:
        """The flows that it has sent by now."""
        found: list[_Flow] = []
        try:
            self._exchange()
            while (answer := self._next_answer()) is not None:
                found += zip(self._of(self.portions[0]), answer, strict=True)
                self.portions.popleft()
        except Exception:  # whatever it sent, or however it ended
            self.works = False
        return found

    def take_back(self, all_of_them: bool) -> list[range]:
        """Take back portions that it has not answered: all of them, or only those of a helper that failed."""
        if self.works and not all_of_them:
            return []
        self.works = False  # a later answer would have no portion
        left = list(self.portions)
        self.portions.clear()
        return left

    def stop(self) -> None:
        """Kill it."""
        self._process.kill()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with suppress(OSError):
                    stream.close()
        self._process.wait()

    def _exchange(self) -> None:
        """Send and receive what fits into the pipes."""
        with suppress(BlockingIOError):
            while self._unsent:
                del self._unsent[: os.write(self._asking, self._unsent)]
        with suppress(BlockingIOError):
            while self.portions:
                data = os.read(self._answering, _CHUNK)
                if not data:
                    raise EOFError
                self._received += data

    def _next_answer(self) -> list[PythonFlow | None] | None:
        end = _SIZE_BYTES + int.from_bytes(self._received[:_SIZE_BYTES], "big")
        if not self.portions or len(self._received) < max(end, _SIZE_BYTES):
            return None
        answer: list[PythonFlow | None] = pickle.loads(self._received[_SIZE_BYTES:end])
        del self._received[:end]
        return answer

    def _of(self, portion: range) -> Sequence[bytes]:
        return self._sources[portion.start : portion.stop]


def _serve() -> None:
    """Answer portions of sources on standard input with their flows on standard output, until the input ends."""
    while True:
        try:
            sources = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        answer = pickle.dumps([read_flow(data) for data in sources], pickle.HIGHEST_PROTOCOL)
        sys.stdout.buffer.write(len(answer).to_bytes(_SIZE_BYTES, "big") + answer)
        sys.stdout.buffer.flush()


def _start() -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-I", "-c", _START, json.dumps([place for place in sys.path if place])],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        bufsize=0,
    )


def _portions(sources: Sequence[bytes]) -> list[range]:
    """Split the sources into portions of consecutive ones, by size."""
    portions = []
    first = size = 0
    for number, data in enumerate(sources):
        size += len(data)
        if size >= _PORTION or number == len(sources) - 1:
            portions.append(range(first, number + 1))
            first, size = number + 1, 0
    return portions


def _processors() -> int:
    """The number of processors that this process may use."""
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1

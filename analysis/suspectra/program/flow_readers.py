"""Reading the control flow of many sources, with the help of other processes.

Python parses one source at a time in a process, however many threads there are. So for many sources, helper processes
are started, which read a part of them and then end. Such a process runs this module and nothing of the workspace. It
reads sources from one temporary file and writes tables to another: unlike a pipe, a file never blocks the helper while
this process is busy with other work. Before each source the helper checks that its parent still runs, so it does not
outlive this process.

The helpers begin at the front of the list and this process at the back, so it waits for nobody, and reads itself what a
helper does not answer. `multiprocessing` would run the program's main module again in each process, and leave them
behind if their parent is killed.
"""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
import tempfile
import weakref
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import IO

from suspectra.base.cancellation import check, checked
from suspectra.program.python.flow import PythonFlow

MIN_BYTES = 2 << 20
"""Sources of a smaller total size are read before a process would have started, in bytes."""

MAX_PROCESSES = 3
"""More processes would save little: this one must still read the tables."""

_PORTION = 128 << 10  # bytes of sources in one portion
_SIZE_BYTES = 8
_START = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]);"
    " from suspectra.program import flow_readers; flow_readers._serve(int(sys.argv[2]))"
)


def read_flow(data: bytes) -> PythonFlow | None:
    """Read the flow of one source.

    None if it is not valid Python.
    """
    try:
        return PythonFlow.parse(data)
    except SyntaxError:
        return None


class FlowReading:
    """The reading of several sources, which helper processes begin at once if the sources are many.

    The helpers end when all is read, or when this object is deleted.
    """

    def __init__(self, sources: Sequence[bytes]):
        self._sources = sources
        self._portions = dict(enumerate(_portions(sources)))
        self._helpers: list[_Helper] = []
        if sum(map(len, sources)) < MIN_BYTES or not _can_help():
            return
        count = min(MAX_PROCESSES, _processors() - 1, len(self._portions))
        for number in range(count):
            share = {n: sources[p.start : p.stop] for n, p in self._portions.items() if n % count == number}
            with suppress(OSError):
                self._helpers.append(_Helper(share))

    def flows(self) -> Iterator[tuple[bytes, PythonFlow | None]]:
        """Yield each flow once, and read here what no helper has read yet.

        Helpers begin at the front, and this process at the back. When they meet, it reads what the helpers have not
        answered yet itself, instead of waiting. After the first call there is nothing left to yield.

        Each of the sources, in any order.

        None if it is not valid Python.

        Raises Cancelled when the current work was cancelled; the helper processes have then ended.
        """
        try:
            while self._portions:
                for helper in self._helpers:
                    for number, flows in checked(helper.answers()):
                        portion = self._portions.pop(number, None)
                        if portion is not None:
                            yield from zip(self._sources[portion.start : portion.stop], flows, strict=True)
                for data in self._last_portion():
                    check()
                    yield data, read_flow(data)
        finally:
            self.stop()

    def stop(self) -> None:
        """Kill the helpers. Sources that were not read yet are left out."""
        for helper in self._helpers:
            helper.stop()
        self._portions.clear()
        self._helpers, self._sources = [], ()

    def _last_portion(self) -> Sequence[bytes]:
        if not self._portions:
            return ()
        _, portion = self._portions.popitem()
        return self._sources[portion.start : portion.stop]


class _Helper:
    """A process that reads portions of sources.

    This process never waits for it. If the helper fails, its portions are read here.
    """

    def __init__(self, portions: dict[int, Sequence[bytes]]):
        self._sizes = deque((number, len(sources)) for number, sources in portions.items())
        self._offset = 0
        self._answers = tempfile.TemporaryFile()  # noqa: SIM115 - closed when the helper ends
        try:
            with tempfile.TemporaryFile() as asked:
                for sources in portions.values():
                    pickle.dump(sources, asked, pickle.HIGHEST_PROTOCOL)
                asked.seek(0)
                process = _start(asked, self._answers)
        except OSError:
            self._answers.close()
            raise
        self.stop = weakref.finalize(self, _end, process, self._answers)

    def answers(self) -> Iterator[tuple[int, list[PythonFlow | None]]]:
        """Yield the portions that it has read since the last call, each with its number."""
        while self._sizes:
            try:
                answer = self._next_answer()
            except Exception:  # whatever the helper wrote
                self._sizes.clear()
                return
            if answer is None:
                return
            number, size = self._sizes.popleft()
            if len(answer) == size:
                yield number, answer

    def _next_answer(self) -> list[PythonFlow | None] | None:
        """The next portion; None if it is not complete yet."""
        file = self._answers.fileno()
        head = os.pread(file, _SIZE_BYTES, self._offset)
        size = int.from_bytes(head, "big")
        start = self._offset + _SIZE_BYTES
        if len(head) < _SIZE_BYTES or os.fstat(file).st_size < start + size:
            return None
        self._offset = start + size
        answer: list[PythonFlow | None] = pickle.loads(os.pread(file, size, start))
        return answer


def _serve(parent: int) -> None:
    """Read portions of sources from standard input and write their flows to standard output, while the parent runs."""
    with suppress(EOFError):
        while True:
            flows = []
            for data in pickle.load(sys.stdin.buffer):
                if os.getppid() != parent:
                    return
                flows.append(read_flow(data))
            answer = pickle.dumps(flows, pickle.HIGHEST_PROTOCOL)
            sys.stdout.buffer.write(len(answer).to_bytes(_SIZE_BYTES, "big") + answer)
            sys.stdout.buffer.flush()


def _start(asked: IO[bytes], answers: IO[bytes]) -> subprocess.Popen[bytes]:
    path = json.dumps([place for place in sys.path if place])
    return subprocess.Popen(
        [sys.executable, "-I", "-c", _START, path, str(os.getpid())],
        stdin=asked,
        stdout=answers,
        stderr=subprocess.DEVNULL,
    )


def _end(process: subprocess.Popen[bytes], answers: IO[bytes]) -> None:
    process.kill()
    process.wait()
    answers.close()


def _can_help() -> bool:
    """Whether a helper can be started, and its answers read while it writes (not on Windows)."""
    return bool(sys.executable) and not getattr(sys, "frozen", False) and os.name == "posix"


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

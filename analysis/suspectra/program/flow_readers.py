"""Reading control flow from many sources at once, with the help of other processes.

Python parses one source at a time in a process, however many threads there are. So where there is much to read,
processes are started that take a part of it, and end with it. Such a process runs this module and nothing of the
workspace: it is given the text of sources on its standard input, and answers with tables. It ends when its input does,
so it outlives nobody.
"""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from threading import Event, Thread

from suspectra.cancellation import check, checked
from suspectra.program.python_flow import PythonFlow

MIN_BYTES = 2 << 20
"""Sources below this size altogether are read before a process would have started."""

MAX_PROCESSES = 3
"""More would save little beside what one process has to do: hand out sources and take over tables."""

_PORTION = 128 << 10  # bytes of sources that are handed out together
_POLL_S = 0.02
_START = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]);"
    " from suspectra.program import flow_readers; flow_readers._serve()"
)


def read_flow(data: bytes) -> PythonFlow | None:
    """The flow of one source.

    Parameters
    ----------
    data : bytes
        The whole file.

    Returns
    -------
    PythonFlow or None
        None where it is no Python.

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
    """The flows of some sources.

    Parameters
    ----------
    sources : sequence of bytes
        Whole files.

    Yields
    ------
    source : bytes
        Each of `sources`, in any order.
    flow : PythonFlow or None
        None where it is no Python.

    Raises
    ------
    Cancelled
        When the work at hand was cancelled; processes that were started have then ended.

    Examples
    --------
    >>> [flow and len(flow.scopes) for _, flow in read_flows([b"def f(): pass", b"def"])]
    [2, None]
    """
    helpers = 0
    if sum(map(len, sources)) >= MIN_BYTES and sys.executable and not getattr(sys, "frozen", False):
        helpers = min(MAX_PROCESSES, _processors() - 1)
    yield from _read(sources) if helpers < 1 else _Together(sources).read(helpers)


_Flows = Iterable[tuple[bytes, PythonFlow | None]]


def _read(sources: Sequence[bytes]) -> Iterator[tuple[bytes, PythonFlow | None]]:
    return ((data, read_flow(data)) for data in checked(sources))


class _Together:
    """Sources in portions, which processes take from the front while this one takes them from the back."""

    def __init__(self, sources: Sequence[bytes]):
        self.sources = sources
        self.waiting = deque(_portions(sources))
        self.answered: deque[_Flows] = deque()
        self.changed = Event()
        self.processes: list[subprocess.Popen[bytes]] = []

    def read(self, helpers: int) -> Iterator[tuple[bytes, PythonFlow | None]]:
        """All flows."""
        threads = [Thread(target=self._with_help, daemon=True) for _ in range(helpers)]
        left = len(self.sources)
        try:
            for thread in threads:
                thread.start()
            while left:
                for data, flow in self._next():
                    left -= 1
                    yield data, flow
        finally:
            self.waiting.clear()
            for process in self.processes:
                process.kill()
            for thread in threads:
                thread.join()

    def _next(self) -> _Flows:
        """What was answered, or what is read here meanwhile; nothing while processes have all that is left."""
        check()
        self.changed.clear()
        if self.answered:
            return self.answered.popleft()
        try:
            return _read(self._of(self.waiting.pop()))
        except IndexError:
            self.changed.wait(_POLL_S)
            return ()

    def _of(self, portion: range) -> Sequence[bytes]:
        return self.sources[portion.start : portion.stop]

    def _with_help(self) -> None:
        """Hand portions to a process, one after the other; one that it does not answer is read here."""
        with suppress(OSError), _start() as process:
            self.processes.append(process)
            while self.waiting:
                try:
                    portion = self.waiting.popleft()
                except IndexError:
                    break
                try:
                    self.answered.append(_answer(process, self._of(portion)))
                except Exception:  # whatever is wrong with that process
                    self.waiting.append(portion)
                    break
                finally:
                    self.changed.set()
            process.kill()  # all that it was given is answered


def _answer(process: subprocess.Popen[bytes], sources: Sequence[bytes]) -> _Flows:
    assert process.stdin is not None
    assert process.stdout is not None
    pickle.dump(sources, process.stdin)
    process.stdin.flush()
    return list(zip(sources, pickle.load(process.stdout), strict=True))


def _serve() -> None:
    """Answer portions of sources on standard input with their flows on standard output, until the input ends."""
    while True:
        try:
            sources = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        pickle.dump([read_flow(data) for data in sources], sys.stdout.buffer, pickle.HIGHEST_PROTOCOL)
        sys.stdout.buffer.flush()


def _start() -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-I", "-c", _START, json.dumps([place for place in sys.path if place])],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),  # on Windows a console would appear
    )


def _portions(sources: Sequence[bytes]) -> list[range]:
    """Neighbours together, until they are large enough."""
    portions = []
    first = size = 0
    for number, data in enumerate(sources):
        size += len(data)
        if size >= _PORTION or number == len(sources) - 1:
            portions.append(range(first, number + 1))
            first, size = number + 1, 0
    return portions


def _processors() -> int:
    """How many processors this process may use."""
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1

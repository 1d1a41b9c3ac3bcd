"""Distributed computation, through the scheduler of a dask.distributed cluster.

The workers need the same version of Suspectra. When a worker is lost, its tasks run again on other workers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from types import TracebackType
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np

from suspectra.base.arrays import Bools, Ints, Row
from suspectra.base.errors import Problem, UsageError
from suspectra.spectrum import Counts, Spectrum

if TYPE_CHECKING:
    from distributed import Future

Task = TypeVar("Task")
Result = TypeVar("Result")
_CONNECT_TIMEOUT_S = 30
"""For the scheduler to answer: as long as dask itself waits for a connection."""

_RETRIES = 3  # of a task whose worker was lost, besides dask's own retries
_CHUNK = 4_000_000  # the least number of row indices in one task


class Lost(Exception):
    """A task failed because its workers were lost on every attempt."""


class Cluster:
    """The workers behind one scheduler; a context manager.

    Raises UsageError when dask.distributed is not installed, or no scheduler answers.
    """

    def __init__(self, address: str):
        try:
            import distributed
        except ImportError:
            cure = "pip install suspectra[cluster]"
            raise UsageError(Problem("", address, "dask.distributed is not installed", cure)) from None
        self._distributed, self._address = distributed, address
        try:
            self._client = distributed.Client(address, timeout=_CONNECT_TIMEOUT_S, set_as_default=False)
        except (OSError, ValueError) as error:
            cause = f"no scheduler can be reached there: {type(error).__name__}"
            cure = "start one with `dask scheduler`, and name its address"
            raise UsageError(Problem("", address, cause, cure)) from None

    def __enter__(self) -> Cluster:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._client.close()

    def outcomes(self, work: Callable[[Task], Result], tasks: Iterable[Task]) -> Iterator[tuple[int, Result | Lost]]:
        """Run tasks, and yield each result when it is ready, with the task's index.

        The index and the result of a task; a Lost when its workers were lost on every attempt.
        """
        waiting = enumerate(tasks)
        width = 2 * max(1, sum(self._client.nthreads().values()))
        number = {self._submit(work, task): index for index, task in islice(waiting, width)}
        done = self._distributed.as_completed(list(number), loop=self._client.loop)
        for future in done:
            index = number.pop(future)
            result: Result | Lost
            try:
                result = future.result()
            except self._distributed.scheduler.KilledWorker as error:
                result = Lost(str(error))
            yield index, result
            for more, task in islice(waiting, 1):
                following = self._submit(work, task)
                number[following] = more
                done.add(following)

    def count(self, spectrum: Spectrum) -> Counts:
        """Compute :attr:`Spectrum.counts` on the workers.

        Raises UsageError when the workers are lost on every attempt.
        """
        columns = len(spectrum.elements)
        ef, ep = np.zeros(columns, np.int32), np.zeros(columns, np.int32)
        for _, part in self.outcomes(count_part, _parts(spectrum, columns)):
            if isinstance(part, Lost):
                cause = "the workers were lost on every attempt, perhaps because they ran out of memory"
                raise UsageError(Problem("", self._address, cause, "rank without --scheduler"))
            ef += part.ef
            ep += part.ep
        failed = int(np.count_nonzero(spectrum.failed))
        return Counts(ef, ep, failed, len(spectrum.rows) - failed)

    def _submit(self, work: Callable[[Task], Result], task: Task) -> Future[Result]:
        return self._client.submit(work, task, pure=False, retries=_RETRIES)


class RowPart(NamedTuple):
    """Some consecutive rows of a spectrum, joined into one array for sending."""

    joined: Row  # the concatenated rows; shape (sum of sizes,)
    sizes: Ints  # the length of each row; shape (tests,)
    failed: Bools  # whether each test failed; shape (tests,)
    columns: int  # the number of columns of the whole spectrum


def count_part(part: RowPart) -> Counts:
    """The counts of some rows."""
    return Counts.from_rows(np.split(part.joined, np.cumsum(part.sizes)[:-1]), part.failed, part.columns)


def _parts(spectrum: Spectrum, columns: int) -> Iterator[RowPart]:
    rows: list[Row] = []
    start = size = 0
    for end, row in enumerate(spectrum.rows, 1):
        rows.append(row)
        size += len(row)
        if size >= _CHUNK or end == len(spectrum.rows):
            sizes = np.array([len(row) for row in rows])
            yield RowPart(np.concatenate(rows), sizes, spectrum.failed[start:end], columns)
            rows, start, size = [], end, 0

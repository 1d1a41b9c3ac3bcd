"""Distributed computation, through the scheduler of a dask.distributed cluster.

The workers need the same version of Suspectra. When a worker is lost, its tasks run again on other workers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from types import TracebackType
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np

from suspectra.arrays import Bools, Ints, Row
from suspectra.errors import Problem, UsageError
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
    """A task failed because its workers were lost on every attempt.

    Examples
    --------
    >>> str(Lost("the worker died three times"))
    'the worker died three times'
    """


class Cluster:
    """The workers behind one scheduler; a context manager.

    Parameters
    ----------
    address : str
        Such as ``tcp://host:8786``.

    Raises
    ------
    UsageError
        When dask.distributed is not installed, or no scheduler answers.

    Examples
    --------
    >>> from distributed import LocalCluster
    >>> spectrum = Spectrum.from_matrix([[1, 1, 0], [1, 0, 1]], failed=[True, False])
    >>> workers = LocalCluster(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None)
    >>> with workers, Cluster(workers.scheduler_address) as cluster:
    ...     sorted(cluster.outcomes(abs, [-1, 2])), cluster.count(spectrum).ef.tolist()
    ([(0, 1), (1, 2)], [1, 1, 0])
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

        Parameters
        ----------
        work : callable
            A module-level function, since the workers import it.
        tasks : iterable
            The argument of each call. They are consumed lazily: only enough of them to keep the workers busy.

        Yields
        ------
        (int, object)
            The index and the result of a task; a :class:`Lost` when its workers were lost on every attempt.
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

        Parameters
        ----------
        spectrum : Spectrum
            Its rows are sent in parts.

        Returns
        -------
        Counts
            Equal to a local count, independent of how the work was distributed.

        Raises
        ------
        UsageError
            When the workers are lost on every attempt.
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
    """Some consecutive rows of a spectrum, joined into one array for sending.

    Parameters
    ----------
    joined : ndarray of int32, shape (sum of sizes,)
        The concatenated rows.
    sizes : ndarray of int, shape (tests,)
        The length of each row.
    failed : ndarray of bool, shape (tests,)
        Whether each test failed.
    columns : int
        The number of columns of the whole spectrum.

    Examples
    --------
    >>> RowPart(np.array([0, 1, 0]), np.array([2, 1]), np.array([True, False]), columns=2).sizes.tolist()
    [2, 1]
    """

    joined: Row
    sizes: Ints
    failed: Bools
    columns: int


def count_part(part: RowPart) -> Counts:
    """The counts of some rows.

    Parameters
    ----------
    part : RowPart
        The rows.

    Returns
    -------
    Counts
        Over the columns of the whole spectrum.

    Examples
    --------
    >>> part = RowPart(np.array([0, 1, 0]), np.array([2, 1]), np.array([True, False]), columns=2)
    >>> count_part(part).ef.tolist(), count_part(part).ep.tolist()
    ([1, 1], [1, 0])
    """
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

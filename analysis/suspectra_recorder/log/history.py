"""Finding the current records of tests among any number of logs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from suspectra_recorder.instrumentation import own
from suspectra_recorder.instrumentation.own import json, zlib
from suspectra_recorder.log.collection import CollectionError
from suspectra_recorder.log.frames import read_json

__builtins__ = own.builtins

MAX_SCOPE = 1 << 26
MAX_PASSED_RUNS = 8
"""Of how many runs, the newest ones, a recording keeps the last passes of tests that do not pass now."""


@dataclass(frozen=True)
class WholeFiles:
    """The test files that a run collected completely. Tests of these files that it did not find no longer exist.

    Parameters
    ----------
    time : int
        Time of the collection, in nanoseconds since the epoch.
    files : dict of str to frozenset of str
        Names of the tests by test file.
    tried : frozenset of str
        Node ids of everything that the run tried to collect, successfully or not: files and folders, and ``""`` for the
        whole run. For partly collected files ``file::``, and the collected classes and tests. For folders in which all
        files were looked for ``folder/``, and ``/`` for the workspace.
    run : str
        Identifies the run.

    Examples
    --------
    >>> collected = WholeFiles(20, {"test_cart.py": frozenset({"test_cart.py::test_total"})})
    >>> collected.forgets("test_cart.py::test_old", time=10)
    True
    >>> collected.forgets("test_tax.py::test_rate", time=10)
    False
    >>> WholeFiles.from_payload(collected.payload()) == collected
    True
    """

    time: int
    files: dict[str, frozenset[str]]
    tried: frozenset[str] = frozenset()
    run: str = ""

    @classmethod
    def from_payload(cls, payload: bytes, run: str = "") -> WholeFiles:
        """Parse the payload of a ``SCOPE`` frame.

        Parameters
        ----------
        payload : bytes
            Not trusted.
        run : str, optional
            The run of its section.

        Returns
        -------
        WholeFiles
            What the run collected.

        Raises
        ------
        ValueError
            When the payload has another form.
        """
        data = read_json(inflate(payload, MAX_SCOPE))
        if not isinstance(data, dict) or not isinstance(data.get("files"), dict):
            raise ValueError("no list of collected files")
        files = {str(file): frozenset(map(str, names)) for file, names in data["files"].items()}
        return cls(int(data["time"]), files, frozenset(map(str, data.get("tried", ()))), run)

    def payload(self) -> bytes:
        """Encode the payload of a ``SCOPE`` frame, without the run, which is that of its section.

        Returns
        -------
        bytes
            Compressed JSON.
        """
        files = {file: sorted(names) for file, names in self.files.items()}
        data = {"files": files, "tried": sorted(self.tried), "time": self.time}
        return zlib.compress(json.dumps(data).encode(), 1)

    def forgets(self, name: str, time: int) -> bool:
        """Whether a test recorded at `time` no longer exists according to this collection.

        Parameters
        ----------
        name : str
            The test's id.
        time : int
            In nanoseconds since the epoch.

        Returns
        -------
        bool
            False for a test of a file that was not collected completely.
        """
        names = self.files.get(name.partition("::")[0])
        return names is not None and time < self.time and name not in names

    def looked_for(self, file: str, time: int) -> bool:
        """Whether a file would have been collected, or left out on purpose, if it had been there.

        Parameters
        ----------
        file : str
            Relative to the workspace.
        time : int
            Of what is known of it, in nanoseconds since the epoch.

        Returns
        -------
        bool
            False where the collection is older.

        Examples
        --------
        >>> collected = WholeFiles(20, {}, frozenset({"tests/"}))
        >>> collected.looked_for("tests/unit/test_cart.py", time=10), collected.looked_for("test_tax.py", time=10)
        (True, False)
        """
        parts = file.split("/")
        folders = {"/", *("/".join(parts[:count]) + "/" for count in range(1, len(parts)))}
        return time < self.time and not folders.isdisjoint(self.tried)


def current(collections: Iterable[WholeFiles]) -> list[WholeFiles]:
    """Select the current parts of collections: for each file and each tried node the last collection.

    Parameters
    ----------
    collections : iterable of WholeFiles
        In any order.

    Returns
    -------
    list of WholeFiles
        Collections with current parts, oldest first.

    Examples
    --------
    >>> both = WholeFiles(10, {"test_cart.py": frozenset(), "test_tax.py": frozenset()})
    >>> later = WholeFiles(20, {"test_cart.py": frozenset()})
    >>> [(part.time, *part.files) for part in current([later, both])]
    [(10, 'test_tax.py'), (20, 'test_cart.py')]
    """
    by_file: dict[str, WholeFiles] = {}
    by_try: dict[str, WholeFiles] = {}
    ordered = sorted(collections, key=lambda collection: collection.time)
    for collection in ordered:
        by_file.update(dict.fromkeys(collection.files, collection))
        by_try.update(dict.fromkeys(collection.tried, collection))
    found = []
    for collection in ordered:
        files = {file: names for file, names in collection.files.items() if by_file[file] is collection}
        tried = frozenset(node for node in collection.tried if by_try[node] is collection)
        if files or tried:
            found.append(replace(collection, files=files, tried=tried))
    return found


def newest(times: Iterable[tuple[str, int]], collections: Iterable[WholeFiles]) -> Mapping[str, int]:
    """Find the time of each test's last record, without tests that a later collection did not find.

    Parameters
    ----------
    times : iterable of (str, int)
        Name and time of each record, in nanoseconds since the epoch.
    collections : iterable of WholeFiles
        In any order.

    Returns
    -------
    mapping of str to int
        Times by the name of the test.

    Examples
    --------
    >>> collected = WholeFiles(30, {"test_cart.py": frozenset({"test_cart.py::test_total"})})
    >>> times = [("test_cart.py::test_total", 10), ("test_cart.py::test_old", 10), ("test_cart.py::test_total", 40)]
    >>> newest(times, [collected])
    {'test_cart.py::test_total': 40}
    """
    last: dict[str, int] = {}
    for name, time in times:
        if time >= last.get(name, -1):
            last[name] = time
    by_file = {file: collection for collection in current(collections) for file in collection.files}
    return {
        name: time
        for name, time in last.items()
        if (collection := by_file.get(name.partition("::")[0])) is None or not collection.forgets(name, time)
    }


class Ended(NamedTuple):
    """That a test ended, as far as its last pass is looked for.

    Parameters
    ----------
    name : str
        The test's id.
    time : int
        In nanoseconds since the epoch.
    passed : bool
        Whether it passed at its first attempt. One that failed before it passed says nothing of the sources.
    run : str
        What tells its run from others.

    Examples
    --------
    >>> Ended("test_total", time=20, passed=passes("passed", flaky=True), run="second").passed
    False
    """

    name: str
    time: int
    passed: bool
    run: str


def passes(verdict: str, *, flaky: bool) -> bool:
    """Whether a record tells that the sources it was made with are right, as far as the test can say.

    Parameters
    ----------
    verdict : str
        As it is recorded.
    flaky : bool
        Whether an earlier attempt in the same run ended differently.

    Returns
    -------
    bool
        False for a test that passed only when it was run again.

    Examples
    --------
    >>> passes("xpassed", flaky=False), passes("passed", flaky=True), passes("skipped", flaky=False)
    (True, False, False)
    """
    return verdict in ("passed", "xpassed") and not flaky


def last_passes(records: Iterable[Ended], live: Mapping[str, int]) -> dict[str, int]:
    """The time of the last pass of each test that does not pass now.

    Parameters
    ----------
    records : iterable of Ended
        All there are.
    live : mapping of str to int
        The time of the record that counts of each test, as `newest` gives it.

    Returns
    -------
    dict of str to int
        By name. Passes in other than the last `MAX_PASSED_RUNS` runs that have any are left out.

    Examples
    --------
    >>> records = [Ended("test_total", 10, True, "first"), Ended("test_total", 20, False, "second")]
    >>> last_passes(records, live={"test_total": 20})
    {'test_total': 10}
    """
    return {record.name: record.time for record in from_newest_runs(passes_before(records, live))}


def passes_before(records: Iterable[Ended], live: Mapping[str, int]) -> list[Ended]:
    """The last pass of each test that does not pass now, in whatever run.

    Parameters
    ----------
    records : iterable of Ended
        All there are.
    live : mapping of str to int
        The time of the record that counts of each test.

    Returns
    -------
    list of Ended
        One a test at most.

    Examples
    --------
    >>> total = [Ended("test_total", 10, True, "first"), Ended("test_total", 20, False, "second")]
    >>> rate = [Ended("test_rate", 11, True, "first"), Ended("test_rate", 21, True, "second")]
    >>> passed = passes_before([*total, *rate], {"test_total": 20, "test_rate": 21})
    >>> [(record.name, record.run) for record in passed]
    [('test_total', 'first')]
    """
    last: dict[str, Ended] = {}
    for record in records:
        now = live.get(record.name)
        if now is None or not record.passed or record.time > now:
            continue
        if record.name not in last or record.time >= last[record.name].time:
            last[record.name] = record
    return [record for record in last.values() if record.time != live[record.name]]


def from_newest_runs(records: Iterable[Ended]) -> list[Ended]:
    """Those of the last `MAX_PASSED_RUNS` runs.

    Parameters
    ----------
    records : iterable of Ended
        In any order.

    Returns
    -------
    list of Ended
        In the same order. A run is as old as its newest record.

    Examples
    --------
    >>> records = [Ended("test_total", time, True, f"run {time}") for time in range(20)]
    >>> [record.time for record in from_newest_runs(records)]
    [12, 13, 14, 15, 16, 17, 18, 19]
    """
    records = list(records)
    runs: dict[str, int] = {}
    for record in records:
        runs[record.run] = max(record.time, runs.get(record.run, 0))
    kept = set(sorted(runs, key=lambda run: (runs[run], run))[-MAX_PASSED_RUNS:])
    return [record for record in records if record.run in kept]


def newest_errors(
    errors: Iterable[tuple[str, CollectionError]], collections: Iterable[WholeFiles]
) -> list[CollectionError]:
    """Select the collection errors that are still current: those of the last run that tried each node.

    Parameters
    ----------
    errors : iterable of (str, CollectionError)
        Each error with its run; all workers of pytest-xdist report the same errors.
    collections : iterable of WholeFiles
        In any order.

    Returns
    -------
    list of CollectionError
        Oldest first, without duplicates.

    Examples
    --------
    The first error counts no more, since the second run tried the same file:

    >>> errors = [("first", CollectionError("test_cart.py", "NameError", "total", time=10))]
    >>> newest_errors(errors, [WholeFiles(20, {}, frozenset({"test_cart.py"}), "second")])
    []
    >>> newest_errors(errors, [WholeFiles(20, {}, frozenset({"test_tax.py"}), "second")]) == [errors[0][1]]
    True
    """
    errors = sorted(errors, key=lambda pair: pair[1].time)
    tries: dict[str, tuple[int, str]] = {}  # time and run of the last one, by node id
    for run, error in errors:
        tries[error.collector] = error.time, run
    for collection in collections:
        for collector in collection.tried:
            tries[collector] = max(tries.get(collector, (0, "")), (collection.time, collection.run))
    last: dict[str, CollectionError] = {}
    for run, error in errors:
        file, _, inner = error.collector.partition("::")
        later = [error.collector, file, *([] if inner else [f"{file}::"])]
        if max(tries.get(collector, (0, "")) for collector in later)[1] == run:
            last.setdefault(error.collector, error)
    return list(last.values())


def inflate(data: bytes, limit: int) -> bytes:
    """Decompress at most `limit` bytes.

    Parameters
    ----------
    data : bytes
        A zlib stream, not trusted.
    limit : int
        A size in bytes.

    Returns
    -------
    bytes
        The content.

    Raises
    ------
    ValueError
        When the data is damaged or too large.

    Examples
    --------
    >>> inflate(zlib.compress(b"rows"), limit=10)
    b'rows'
    >>> inflate(zlib.compress(bytes(1_000_000)), limit=10)
    Traceback (most recent call last):
    ValueError: more data than there can be
    """
    stream = zlib.decompressobj()
    try:
        out = stream.decompress(data, limit + 1)
    except zlib.error as error:
        raise ValueError(f"damaged compression ({error})") from None
    if len(out) > limit or not stream.eof:
        raise ValueError("more data than there can be" if len(out) > limit else "compression cut off")
    return out


def inflate_head(data: bytes, size: int) -> bytes:
    """Decompress the first `size` bytes, or all if there are fewer.

    Parameters
    ----------
    data : bytes
        A zlib stream, not trusted.
    size : int
        A size in bytes.

    Returns
    -------
    bytes
        The start of the content.

    Raises
    ------
    ValueError
        When the data is damaged.

    Examples
    --------
    >>> inflate_head(zlib.compress(b"head and the rest"), 4)
    b'head'
    """
    try:
        return zlib.decompressobj().decompress(data, size)
    except zlib.error as error:
        raise ValueError(f"damaged compression ({error})") from None

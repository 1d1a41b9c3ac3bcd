"""Finding the current records of tests among any number of logs.

The newest record of a test counts, also if nothing changed and its outcome is the same, but it executed other
statements. The reason may be that another test filled a cache, or a data file, the environment, the clock or the order
of threads. A recording can't tell these apart, since what a test reads can't be listed completely; an older record in
place of the newer one would show what a test did with data that is no longer there.

The last pass of a test that does not pass now counts, too, since it says what changed since. It is a record like
others, so both are kept wherever logs are rewritten. Of a test that never passed, the first failure is kept in the same
way: it says that no later change broke the test. Both are limited to those of `MAX_PASSED_RUNS` runs, as each run has a
section of its own to read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from suspectra_recorder.instrumentation import library_references
from suspectra_recorder.instrumentation.library_references import json, zlib
from suspectra_recorder.log.collection import CollectionError
from suspectra_recorder.log.frames import read_json

__builtins__ = library_references.builtins

MAX_SCOPE = 1 << 26
MAX_PASSED_RUNS = 8
"""Of how many runs, the newest ones, a recording keeps what is older than the present outcomes."""


@dataclass(frozen=True)
class WholeFiles:
    """The test files that a run collected completely. Tests of these files that it did not find no longer exist."""

    time: int  # time of the collection, in nanoseconds since the epoch
    files: dict[str, frozenset[str]]  # names of the tests by test file
    # node ids of everything that the run tried to collect, successfully or not: files and folders, and `""` for the
    # whole run. For partly collected files `file::`, and the collected classes and tests. For folders in which all
    # files were looked for `folder/`, and `/` for the workspace
    tried: frozenset[str] = frozenset()
    run: str = ""  # identifies the run

    @classmethod
    def from_payload(cls, payload: bytes, run: str = "") -> WholeFiles:
        """Parse the payload of a ``SCOPE`` frame.

        Raises ValueError when the payload has another form.
        """
        data = read_json(inflate(payload, MAX_SCOPE))
        if not isinstance(data, dict) or not isinstance(data.get("files"), dict):
            raise ValueError("no list of collected files")
        files = {str(file): frozenset(map(str, names)) for file, names in data["files"].items()}
        return cls(int(data["time"]), files, frozenset(map(str, data.get("tried", ()))), run)

    def payload(self) -> bytes:
        """Encode the payload of a ``SCOPE`` frame, without the run, which is that of its section."""
        files = {file: sorted(names) for file, names in self.files.items()}
        data = {"files": files, "tried": sorted(self.tried), "time": self.time}
        return zlib.compress(json.dumps(data).encode(), 1)

    def forgets(self, name: str, time: int) -> bool:
        """Whether a test recorded at `time` no longer exists according to this collection.

        False for a test of a file that was not collected completely.
        """
        names = self.files.get(name.partition("::")[0])
        return names is not None and time < self.time and name not in names

    def looked_for(self, file: str, time: int) -> bool:
        """Whether a file would have been collected, or left out on purpose, if it had been there.

        False where the collection is older.
        """
        parts = file.split("/")
        folders = {"/", *("/".join(parts[:count]) + "/" for count in range(1, len(parts)))}
        return time < self.time and not folders.isdisjoint(self.tried)


def current(collections: Iterable[WholeFiles]) -> list[WholeFiles]:
    """Select the current parts of collections: for each file and each tried node the last collection.

    Collections with current parts, oldest first.
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
    """Find the time of each test's last record, without tests that a later collection did not find."""
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


class EndedTest(NamedTuple):
    """That a test ended, as far as its last pass is looked for."""

    name: str  # the test's id
    time: int  # in nanoseconds since the epoch
    passed: bool  # whether it passed at its first attempt. One that failed before it passed says nothing of the sources
    run: str  # what tells its run from others
    failed: bool = False  # whether it failed. One that was skipped did not pass either


def passes(verdict: str, *, flaky: bool) -> bool:
    """Whether a record tells that the sources it was made with are right, as far as the test can say.

    False for a test that passed only when it was run again.
    """
    return verdict in ("passed", "xpassed") and not flaky


def last_passes(records: Iterable[EndedTest], live: Mapping[str, int]) -> dict[str, int]:
    """The time of the last pass of each test that does not pass now.

    By name. Passes in other than the last `MAX_PASSED_RUNS` runs that have any are left out.
    """
    return {record.name: record.time for record in from_newest_runs(passes_before(records, live))}


def passes_before(records: Iterable[EndedTest], live: Mapping[str, int]) -> list[EndedTest]:
    """The last pass of each test that does not pass now, in whatever run.

    One a test at most.
    """
    last: dict[str, EndedTest] = {}
    for record in records:
        now = live.get(record.name)
        # a pass is of use only for a test that there still is, and only if it is older than the failure
        if now is None or not record.passed or record.time > now:
            continue
        if record.name not in last or record.time >= last[record.name].time:
            last[record.name] = record
    return [record for record in last.values() if record.time != live[record.name]]


def first_failures(records: Iterable[EndedTest], live: Mapping[str, int]) -> list[EndedTest]:
    """The first failure of each test that fails now and never passed, as far as that is known.

    One a test at most, older than the present outcome.
    """
    first: dict[str, EndedTest] = {}
    passed = set()
    for record in records:
        now = live.get(record.name)
        if now is None or record.time > now:
            continue
        if record.passed:
            passed.add(record.name)
        elif record.failed and (record.name not in first or record.time < first[record.name].time):
            first[record.name] = record
    return [record for name, record in first.items() if name not in passed and record.time != live[name]]


def from_newest_runs(records: Iterable[EndedTest]) -> list[EndedTest]:
    """Those of the last `MAX_PASSED_RUNS` runs.

    In the same order. A run is as old as its newest record.
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

    Oldest first, without duplicates.
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
        # a later run that collected the file, or a part of it if all of it failed, shows whether that is still so
        later = [error.collector, file, *([] if inner else [f"{file}::"])]
        if max(tries.get(collector, (0, "")) for collector in later)[1] == run:
            last.setdefault(error.collector, error)
    return list(last.values())


def inflate(data: bytes, limit: int) -> bytes:
    """Decompress at most `limit` bytes.

    Raises ValueError when the data is damaged or too large.
    """
    stream = zlib.decompressobj()
    try:
        # a small payload may unpack to any size
        out = stream.decompress(data, limit + 1)
    except zlib.error as error:
        raise ValueError(f"damaged compression ({error})") from None
    if len(out) > limit or not stream.eof:
        raise ValueError("more data than there can be" if len(out) > limit else "compression cut off")
    return out


def inflate_head(data: bytes, size: int) -> bytes:
    """Decompress the first `size` bytes, or all if there are fewer.

    Raises ValueError when the data is damaged.
    """
    try:
        return zlib.decompressobj().decompress(data, size)
    except zlib.error as error:
        raise ValueError(f"damaged compression ({error})") from None

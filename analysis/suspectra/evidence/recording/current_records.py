"""The current records of a recording, updated while logs grow.

The newest run of a test counts, also where an older one with the same sources and outcome executed something else. The
reason may be a cache, a data file, the environment or the clock, which a recording can't tell apart; to keep the older
one would show what a test did with data that no longer exists.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from operator import attrgetter

from suspectra.evidence.recording.log import Log
from suspectra.evidence.recording.records import Record, Section
from suspectra.spectrum.chunks import Chunks
from suspectra_recorder.log.history import (
    EndedTest,
    current,
    first_failures,
    from_newest_runs,
    newest,
    passes_before,
)

_TIME = attrgetter("time")
_MANY = 100  # above so many replaced records, it is no slower to go through all


class LiveRecords:
    """The last record of each test, oldest first, unless a later collection did not find the test."""

    def __init__(self) -> None:
        self.records: dict[str, Record] = {}
        self.ordered: Chunks[Record] = Chunks()  # the same, in the same order
        self.sections: Counter[Section] = Counter()
        self.files: Counter[str] = Counter()  # numbers of records by section, and by the file of the test
        self._passes: dict[str, Record] = {}
        self._failures: dict[str, Record] = {}
        self.fresh: list[Record] = []
        # new records, and name and time of removed ones, since the caller last emptied the lists
        self.gone: list[tuple[str, int]] = []
        self._seen: dict[object, tuple[int, int]] = {}  # numbers of records and collections of each log
        self._latest = 0

    @property
    def passes(self) -> dict[str, Record]:
        """The last pass of each test that does not pass now, as far as a recording keeps them."""
        return _from_newest_runs(self._passes)

    @property
    def first_failures(self) -> dict[str, Record]:
        """The first failure of each test that failed again and never passed, as far as a recording keeps them."""
        return _from_newest_runs(self._failures)

    def update(self, logs: Iterable[Log]) -> None:
        """Add what was appended to the logs; read all records again only if logs changed in another way."""
        logs = list(logs)
        previous_sizes, self._seen = self._seen, {log.reading: (len(log.records), len(log.collections)) for log in logs}
        appended = [record for log in logs for record in log.records[previous_sizes.get(log.reading, (0, 0))[0] :]]
        appended.sort(key=lambda record: record.time)
        grown = previous_sizes.keys() <= self._seen.keys()
        collected = sum(len(log.collections) for log in logs) != sum(n for _, n in previous_sizes.values())
        if not grown or collected or (appended and appended[0].time < self._latest):
            self._start_over(logs)
            return
        # what was last collected of each file, or a deleted test would come back with an older log
        collections = current(c for log in logs for c in log.collections)
        known = self.records.keys()
        new = {record.result.name for record in appended if record.result.name not in known}
        kept = [r for r in appended if not any(c.forgets(r.result.name, r.time) for c in collections)]
        replaced = [self.records[name] for name in {record.result.name for record in kept} & known]
        for record in kept:
            self._add(record)
        self._order(replaced, kept)
        self._find_earlier(logs, new)

    def _order(self, replaced: Sequence[Record], added: Sequence[Record]) -> None:
        """Bring the sequence of records up to date, without touching those that stay."""
        if len(replaced) > _MANY:
            self.ordered = Chunks.from_items(self.records.values())
            return
        last = [record for record in added if self.records.get(record.result.name) is record]
        self.ordered = self.ordered.without(sorted(map(self._place, replaced))).with_more(last)

    def _place(self, record: Record) -> int:
        place = bisect_left(self.ordered, record.time, key=_TIME)
        while self.ordered[place] is not record:
            place += 1
        return place

    def _start_over(self, logs: Sequence[Log]) -> None:
        everything = [record for log in logs for record in log.records]
        live = newest(((r.result.name, r.time) for r in everything), [c for log in logs for c in log.collections])
        chosen = {r.result.name: r for r in everything if live.get(r.result.name) == r.time}
        last = {name: record.time for name, record in chosen.items()}
        self.gone += [(name, record.time) for name, record in self.records.items() if last.get(name) != record.time]
        self.records, self.sections, self.files, self.fresh = {}, Counter(), Counter(), []
        for record in sorted(chosen.values(), key=lambda record: (record.time, record.result.name)):
            self._add(record)
        self.ordered = Chunks.from_items(self.records.values())
        self._passes, self._failures = {}, {}
        self._find_earlier(logs, self.records.keys())

    def _find_earlier(self, logs: Iterable[Log], names: Collection[str]) -> None:
        """Look in all logs for the last passes and first failures of tests that were not known before."""
        wanted = {n: r.time for n in names if (r := self.records.get(n)) is not None and not r.ended.passed}
        if wanted:
            records = [record for log in logs for record in log.records if record.result.name in wanted]
            by_key = {record.key: record for record in records}

            def found(earlier: Iterable[EndedTest]) -> dict[str, Record]:
                return {ended.name: by_key[ended.name, ended.time] for ended in earlier}

            ended = [record.ended for record in records]
            self._passes |= found(passes_before(ended, wanted))
            self._failures |= found(first_failures(ended, wanted))

    def _add(self, record: Record) -> None:
        name = record.result.name
        before = self.records.get(name)
        if record.ended.passed:
            self._passes.pop(name, None)
            self._failures.pop(name, None)
        elif before is not None and before.ended.passed:
            self._passes[name] = before
        elif before is not None and before.ended.failed and name not in self._passes:
            self._failures.setdefault(name, before)
        if before is not None:
            self._drop(before)
        self.records[name] = record
        self.sections[record.section] += 1
        if record.result.location is not None:
            self.files[record.result.location.file] += 1
        if record.decoded is None:
            self.fresh.append(record)
        self._latest = max(self._latest, record.time)

    def _drop(self, record: Record) -> None:
        del self.records[record.result.name]
        self.gone.append((record.result.name, record.time))
        record.decoded = None  # the log keeps the record itself, so free its decoded rows
        self.sections -= Counter([record.section])
        if record.result.location is not None:
            self.files -= Counter([record.result.location.file])


def _from_newest_runs(records: Mapping[str, Record]) -> dict[str, Record]:
    return {ended.name: records[ended.name] for ended in from_newest_runs(one.ended for one in records.values())}

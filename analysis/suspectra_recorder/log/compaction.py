"""Keeping the folder of logs small: outdated records are dropped, and many logs are merged into one.

A log that a process still writes is locked by it, and is not touched. The merged log is complete under its final name
before the old logs are removed. In between the same records exist twice; readers count them once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from suspectra_recorder.complete_file import complete_file
from suspectra_recorder.instrumentation import library_references
from suspectra_recorder.instrumentation.library_references import os, time
from suspectra_recorder.log.frames import DAMAGE, SUFFIX, LogDamage
from suspectra_recorder.log.history import WholeFiles, current, newest, newest_errors
from suspectra_recorder.log.locks import lock
from suspectra_recorder.log.sections import LogSection, SectionReader, log_of, part_passes

__builtins__ = library_references.builtins

MAX_LOGS = 16
MIN_WASTE = 1 << 20


class _Log(SectionReader):
    """A log that nobody writes, locked, as it is copied."""

    def __init__(self, path: str, descriptor: int):
        super().__init__()
        self.path = path
        self.descriptor = descriptor

    @property
    def collections(self) -> list[WholeFiles]:
        """Those of all sections."""
        return [collection for section in self.sections for collection in section.collections]

    def on_damage(self, end: int, error: Exception) -> None:
        raise LogDamage(end, "damaged record") from error


def compact(folder: str, *, max_logs: int = MAX_LOGS, min_waste: int = MIN_WASTE) -> None:
    """Drop logs without current records, and merge the others if there are many or they are mostly outdated.

    If anything fails, the logs are not changed.
    """
    logs: list[_Log] = []
    try:
        for name in sorted(os.listdir(folder)):
            if name.endswith(SUFFIX) and not os.path.islink(os.path.join(folder, name)):
                log = _open(os.path.join(folder, name))
                if log is not None:
                    logs.append(log)
        _tidy(folder, logs, max_logs, min_waste)
    except (OSError, *DAMAGE):
        return
    finally:
        for log in logs:
            os.close(log.descriptor)


def _open(path: str) -> _Log | None:
    """Open and lock a log that no process writes; None for other logs and for damaged ones."""
    descriptor = os.open(path, os.O_RDWR)
    # its process still writes it
    if not lock(descriptor, wait=False):
        os.close(descriptor)
        return None
    log = _Log(path, descriptor)
    try:
        with open(path, "rb") as stream:
            log.read(stream.read())
    except LogDamage as damage:
        # a process that was killed leaves a torn frame at the end, and all before it counts
        if "torn" not in damage.cause:
            os.close(descriptor)
            return None
    except (OSError, *DAMAGE):
        os.close(descriptor)
        return None
    return log


def _tidy(folder: str, logs: list[_Log], max_logs: int, min_waste: int) -> None:
    sections = [section for log in logs for section in log.sections]
    if not sections:
        return
    collections = [collection for log in logs for collection in log.collections]
    live = newest(((test.name, test.time) for section in sections for test in section.tests), collections)
    part_passes(sections, live)
    latest = max(map(_order, sections))[1]
    _drop_old_errors(sections, collections)
    _drop_old_collections(sections, collections)
    kept: list[_Log] = []
    waste = 0
    for log in logs:
        dropped = _drop_old_tests(log.sections, live)
        if any(s.tests or s.passes or s.errors or s.collections or s.run.name == latest for s in log.sections):
            kept.append(log)
            waste += dropped
        else:
            os.unlink(log.path)
    if len(kept) > max_logs or waste > min_waste:
        _merge(folder, kept)


def _drop_old_errors(sections: list[LogSection], collections: list[WholeFiles]) -> None:
    live = set(
        newest_errors([(section.run.name, error) for section in sections for error in section.errors], collections)
    )
    for section in sections:
        section.errors = [error for error in section.errors if error in live]


def _drop_old_collections(sections: list[LogSection], collections: list[WholeFiles]) -> None:
    """Keep what counts of collections: a log that can't be tidied now may contain tests that they found no more."""
    live = {(c.time, c.run): c for c in current(collections)}
    for section in sections:
        section.collections = [live[c.time, c.run] for c in section.collections if (c.time, c.run) in live]


def _drop_old_tests(sections: list[LogSection], live: Mapping[str, int]) -> int:
    """Keep the newest record of each test; return the size of the others in bytes."""
    dropped = 0
    for section in sections:
        tests, section.tests = section.tests, [test for test in section.tests if live.get(test.name) == test.time]
        dropped += sum(len(test.payload) for test in tests) - sum(len(test.payload) for test in section.tests)
    return dropped


def _merge(folder: str, logs: list[_Log]) -> None:
    """Replace several logs by one."""
    sections = sorted((section for log in logs for section in log.sections), key=_order)
    latest = _order(sections[-1])
    kept = []
    for section in sections:
        if section.tests or section.passes or section.errors or _order(section) == latest:
            kept.append(section)
        elif section.collections:  # which alone still count
            kept.append(LogSection(section.run, collections=section.collections))
    _replace(folder, logs, log_of(kept))


def _order(section: LogSection) -> tuple[int, str]:
    return section.run.started, section.run.name


def _replace(folder: str, logs: list[_Log], parts: Iterable[bytes]) -> None:
    with complete_file(os.path.join(folder, f"{time.time_ns():020d}-{os.getpid()}-merged{SUFFIX}")) as stream:
        stream.writelines(parts)
        # so that its time, which is set next, is not that of a later write
        stream.flush()
        newest = max(os.stat(log.path).st_mtime_ns for log in logs)
        if newest > time.time_ns():  # the clock was set back, but a log's time must not be older than its records
            os.utime(stream.name, ns=(newest, newest))
    for log in logs:
        os.unlink(log.path)

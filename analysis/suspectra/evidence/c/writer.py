"""Writing recordings of C and C++ tests, which :mod:`suspectra.evidence.c.store` reads."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import time
import zlib
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from suspectra.base.errors import EvidenceError, Problem, UsageError
from suspectra.evidence.c.exclusions import NO_EXCLUSIONS, Exclusions
from suspectra.evidence.c.store import FOLDER, FRAME, HEAD, MAGIC, CRecording, LastPass, StoredObject, StoredTest
from suspectra.evidence.source_changes import SourceLines
from suspectra_recorder.complete_file import complete_file
from suspectra_recorder.folders import make_recording_folder, refuse_links
from suspectra_recorder.log.locks import lock


class CRecorder:
    """Appends to a recording; only one process at a time may do so.

    Raises UsageError when another process is recording.
    """

    def __init__(self, workspace: str | os.PathLike[str], fields: Mapping[str, object]):
        self.workspace, self.folder = Path(workspace), Path(workspace, FOLDER)
        for name in ("objects", "sources"):
            make_recording_folder(str(workspace), FOLDER.name, name)
        for name in ("lock", "tests.log"):
            refuse_links(str(self.folder / name))
        file = os.open(self.folder / "lock", os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
        self._lock = os.fdopen(file, "w")  # open, and so locked, as long as the recorder exists
        if not lock(self._lock.fileno(), wait=False):
            self._lock.close()
            problem = Problem(str(self.folder), "", "another recording is under way", "wait until it has ended")
            raise UsageError(problem)
        self.recording = CRecording(self.folder, self.workspace)
        self._open()
        self._numbers = {(o.path, o.digest): n for n, o in self.recording.objects.items()}
        self._next = max(self.recording.objects, default=-1) + 1
        self._run = time.time_ns()
        self._kept_sources: set[str] = set()
        self._write({"kind": "run", **fields})

    def __enter__(self) -> CRecorder:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._log)
        self._lock.close()

    def _open(self) -> None:
        """Read the log, remove an incomplete last record and, if most records are outdated, the outdated ones."""
        log = self.recording.log
        if not log.exists():
            _replace(log, MAGIC)
        try:
            self.recording.update()
        except EvidenceError:  # this version can't read it, so it is useless
            _replace(log, MAGIC)
            self.recording.update()
        live = sum(test.key[0] for test in self.recording.tests.values())
        if self.recording.offset > 2 * live + (1 << 20):
            self._compact()
        self._drop_sources()
        self._log = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW)
        os.ftruncate(self._log, self.recording.offset)

    def _compact(self) -> None:
        recording = self.recording
        last_passes = recording.last_passes()
        runs: list[StoredTest | LastPass] = [*recording.tests.values(), *last_passes.values()]
        used = {number for ran in runs for number in ran.objects}
        used = (used & set(recording.objects)) | set(recording.newest.values())
        parts = [MAGIC]
        parts += [_framed(_object_fields(number, recording.objects[number])) for number in sorted(used)]
        for test in recording.tests.values():
            fields = _test_fields(test.name, test.objects, test.fields, test.table, test.sources)
            parts.append(_framed(fields, test.table + test.counters))
            if (last := last_passes.get(test.name)) is not None:
                sources = dict(last.sources)
                before = {
                    "kind": "pass",
                    "name": test.name,
                    "run": last.run,
                    "objects": last.objects,
                    "sources": sources,
                }
                parts.append(_framed(before))
        if recording.exclusions != NO_EXCLUSIONS:
            parts.append(_framed({"kind": "exclusions", **recording.exclusions.fields()}))
        _replace(recording.log, b"".join(parts))
        recording.update()
        used_digests = {recording.objects[number].digest for number in used}
        for path in (self.folder / "objects").glob("*.gcno.z"):
            if path.name.partition(".")[0] not in used_digests:
                with contextlib.suppress(OSError):
                    path.unlink()

    def add_object(self, compiled: StoredObject, notes: bytes) -> int:
        """Store an object and its notes, unless they are stored already."""
        path, digest, sources = compiled.path, compiled.digest, compiled.sources
        self._keep_lines(sources)
        number = self._numbers.get((path, digest))
        newest, objects = self.recording.newest.get(path), self.recording.objects
        if number is not None:
            sources = {**objects[number].sources, **sources}
        whole = replace(compiled, sources=dict(sources))
        if number is not None and number == newest and objects[number] == whole:
            return number  # not if only the sources differ: notes contain no constants
        stored = self.folder / "objects" / f"{digest}.gcno.z"
        if not stored.exists():
            _replace(stored, zlib.compress(notes))
        number, self._next = self._next, self._next + 1
        self._numbers[path, digest] = number
        self.recording.objects[number] = whole
        self._write(_object_fields(number, self.recording.objects[number]))
        return number

    def add_test(
        self,
        name: str,
        fields: Mapping[str, object],
        objects: Sequence[int],
        counters: Sequence[bytes],
        table: bytes = b"",
        sources: Mapping[str, str] | None = None,
    ) -> None:
        """Store one test."""
        packed = zlib.compress(table) if table else b""
        self._keep_lines(sources or {})
        whole = _test_fields(name, objects, {"run": self._run, **fields}, packed, sources or {})
        self._write(whole, packed + zlib.compress(b"".join(counters)))

    def _keep_lines(self, sources: Mapping[str, str]) -> None:
        """Store digests of the lines of sources, by which it will be known what changed since a test passed."""
        for path, digest in sources.items():
            if digest in self._kept_sources:
                continue
            self._kept_sources.add(digest)
            stored = self._lines_of(digest)
            if stored.exists():
                continue
            with contextlib.suppress(OSError):  # a source that was removed meanwhile can't be compared
                text = (self.workspace / path).read_bytes()
                if hashlib.sha256(text).hexdigest() == digest:
                    _replace(stored, zlib.compress(SourceLines.from_text(path, text).to_bytes()))

    def _drop_sources(self) -> None:
        """Remove the digests of sources with which no test ran that is recorded, nor passed last."""
        recording = self.recording
        runs: list[StoredTest | LastPass] = [*recording.tests.values(), *recording.last_passes().values()]
        alike: dict[Hashable, StoredTest | LastPass]
        alike = {(run.objects, frozenset(run.sources.items())): run for run in runs}
        needed = {digest for run in alike.values() for digest in recording.digests_of(run).values()}
        for path in (self.folder / "sources").glob("*.z"):
            if path.name.partition(".")[0] not in needed:
                with contextlib.suppress(OSError):
                    path.unlink()

    def _lines_of(self, digest: str) -> Path:
        return self.folder / "sources" / f"{digest}.z"

    def exclude(self, exclusions: Exclusions) -> None:
        """Store which lines are excluded from now on."""
        if exclusions != self.recording.exclusions:
            self.recording.exclusions = exclusions
            self._write({"kind": "exclusions", **exclusions.fields()})

    def end(self, tests: Sequence[str]) -> None:
        """Store that the whole suite was run, and which tests it has."""
        self._write({"kind": "end", "tests": list(tests)})

    def _write(self, fields: Mapping[str, object], blob: bytes = b"") -> None:
        """Append a record in a single write; the next recorder removes one that is incomplete."""
        data = _framed(fields, blob)
        try:
            if os.write(self._log, data) < len(data):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        except OSError as error:
            cause = f"the recording can't be written: {error.strerror}"
            cure = "make room for it; the tests recorded so far are kept"
            raise UsageError(Problem(self.recording.name, "", cause, cure)) from None


def _test_fields(
    name: str, objects: Sequence[int], fields: Mapping[str, object], table: bytes, sources: Mapping[str, str]
) -> dict[str, object]:
    by_gcovr = {"table": len(table), "sources": dict(sources)} if table else {}
    return {"kind": "test", "name": name, "objects": list(objects), **fields, **by_gcovr}


def _pass_fields(name: str, last: LastPass) -> dict[str, object]:
    fields = {"run": last.run, "objects": last.objects, "sources": dict(last.sources)}
    return {"kind": "pass", "name": name, **fields}


def _object_fields(number: int, stored: StoredObject) -> dict[str, object]:
    fields = {"id": number, "path": stored.path, "digest": stored.digest, "sources": dict(stored.sources)}
    lines: dict[str, dict[str, list[int]]] = {"foreign": {}, "operands": {}}
    for name, of in lines.items():
        for file, line in sorted(getattr(stored, name)):
            of.setdefault(file, []).append(line)
    more = {"folder": stored.folder, "optimised": stored.optimised, **lines}
    return {"kind": "object", **fields, **{name: value for name, value in more.items() if value}}


def _framed(fields: Mapping[str, object], blob: bytes = b"") -> bytes:
    head = json.dumps(fields, separators=(",", ":")).encode()
    payload = HEAD.pack(len(head)) + head + blob
    return FRAME.pack(len(payload), zlib.crc32(payload)) + payload


def _replace(path: Path, content: bytes) -> None:
    """Write a file atomically."""
    try:
        with complete_file(path) as file:
            file.write(content)
    except OSError as error:
        problem = Problem(str(path), "", f"it can't be written: {error.strerror}", "make room for it")
        raise UsageError(problem) from None

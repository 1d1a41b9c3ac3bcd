"""What the reader of a workspace folder marked as examined or innocent."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Literal

from suspectra.runs.measured_file import MeasuredFile
from suspectra_server.session.jobs import Jobs
from suspectra_server.state.documents import Texts
from suspectra_server.state.marks_file import FileMarks, Fingerprint, MarksFile
from suspectra_server.state.ranking import Ranking, RecordedLine

Reason = Literal["examined", "innocent"]  # why a line is excluded from the suspects that are left


class ReaderMarks:
    """The marks of one workspace folder. It belongs to the loop; the files thread reads and writes the file.

    Marks refer to the text that was run. When a ranking is of another text, they follow their lines into it as soon as
    that text was read; until then they are kept and not shown.
    """

    def __init__(self, key: str, file: MarksFile, jobs: Jobs, restored: Callable[[], None]):
        # both in the ranking that was last passed to `update`
        self.examined: frozenset[RecordedLine] = frozenset()
        self.innocent: frozenset[RecordedLine] = frozenset()
        self._key = key
        self._file = file
        self._jobs = jobs
        self._restored = restored
        self._files: dict[str, FileMarks] = {}
        self._unsaved: dict[str, FileMarks | None] = {}
        self._cleared = False
        jobs.submit(("load marks", key), lambda token: file.load(), self._loaded)

    @property
    def files(self) -> tuple[str, ...]:
        """The files with marks."""
        return tuple(self._files)

    @property
    def unsaved(self) -> bool:
        """Whether some marks are not in the file yet."""
        return bool(self._unsaved or self._cleared)

    def exclude(self, excluded: Iterable[RecordedLine], reason: Reason, ranking: Ranking, texts: Texts) -> None:
        """Mark lines of a ranking as examined or innocent."""
        by_file: dict[str, set[int]] = {}
        for path, line in excluded:
            by_file.setdefault(path, set()).add(line)
        for path, lines in by_file.items():
            marks = self._marks_in(ranking.files[path], texts)
            if reason == "examined":
                marks = replace(marks, examined=marks.examined | lines)
            else:
                marks = replace(marks, innocent=marks.innocent | lines)
            self._put(path, marks)

    def clear(self) -> None:
        """Remove all marks, including those of other servers in the file."""
        self._files.clear()
        self._unsaved.clear()
        self._cleared = True
        self._save()

    def update(self, ranking: Ranking, texts: Texts) -> bool:
        """Move the marks to the texts that a ranking is of; True if other lines are marked afterwards."""
        shown: list[tuple[str, FileMarks]] = []
        for path, marks in list(self._files.items()):
            file = ranking.files.get(path)
            if file is None:
                continue
            fingerprint = _fingerprint(file, texts)
            if fingerprint.source is not None and fingerprint.digest != marks.fingerprint.digest:
                marks = marks.moved(fingerprint)
                self._put(path, marks)
            if fingerprint.digest == marks.fingerprint.digest:
                shown.append((path, marks))
        previous = self.examined, self.innocent
        self.examined = frozenset((path, line) for path, marks in shown for line in marks.examined)
        self.innocent = frozenset((path, line) for path, marks in shown for line in marks.innocent)
        return previous != (self.examined, self.innocent)

    def _marks_in(self, file: MeasuredFile, texts: Texts) -> FileMarks:
        fingerprint = _fingerprint(file, texts)
        known = self._files.get(file.path)
        return known if known and known.fingerprint.digest == fingerprint.digest else FileMarks(fingerprint)

    def _put(self, path: str, marks: FileMarks) -> None:
        self._files.pop(path, None)
        if marks:
            self._files[path] = marks
        self._unsaved.pop(path, None)
        self._unsaved[path] = marks or None
        self._save()

    def _loaded(self, found: object) -> None:
        if isinstance(found, dict) and not self._cleared and found:
            self._files = {**found, **self._files}
            self._restored()

    def _save(self) -> None:
        """Write the changes to the file, together with those of failed attempts."""
        changes, cleared = dict(self._unsaved), self._cleared

        def saved(done: object) -> None:
            if done is not True:
                return  # they are written with the next change
            for path, marks in changes.items():
                if path in self._unsaved and self._unsaved[path] is marks:
                    del self._unsaved[path]
            if cleared:
                self._cleared = False

        self._jobs.submit(("save marks", self._key), lambda token: self._file.write(changes, cleared=cleared), saved)


def _fingerprint(file: MeasuredFile, texts: Texts) -> Fingerprint:
    """The fingerprint of a file as it was run; without lines if its text was never read."""
    source = texts.source(file)
    return Fingerprint(file.digest or (source.digest if source else ""), source)

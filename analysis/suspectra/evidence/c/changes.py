"""What changed since each failing C or C++ test passed for the last time.

A recording keeps digests of the lines of each source, and with which sources a test passed last.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

import numpy as np

from suspectra.base.arrays import Ints, Row
from suspectra.base.cancellation import checked
from suspectra.evidence.c.store import CRecording, LastPass
from suspectra.evidence.evidence import Verdict
from suspectra.evidence.source_changes import SourceLines, statements_with
from suspectra.runs.measured_file import MeasuredFile

_NOTHING = SourceLines(())


class CChangesSincePass:
    """Compares the sources of last passes with the present ones."""

    def __init__(self) -> None:
        self._rows: dict[frozenset[tuple[str, str]], Row] = {}

    def update(
        self,
        recording: CRecording,
        digests: Mapping[str, str],
        files: Sequence[MeasuredFile],  # their order is that of the columns
        sources_of: Callable[[LastPass], Collection[str]],
    ) -> dict[str, Row]:
        """Find what changed for each failing test.

        Of shape (k,). For each failing test with an earlier pass the sorted columns of what changed since. Tests for
        which the same changed have the same object, which is that of before where nothing changed.
        """
        found: dict[str, Row] = {}
        previous, self._rows = self._rows, {}
        for name, last_pass in checked(recording.last_passes().items()):
            if not Verdict(recording.tests[name].fields["verdict"]).failing:
                continue
            then = recording.digests_of(last_pass)
            key = frozenset(then.items())
            if key not in self._rows:
                row = _changed(recording, then, digests, files, last_pass, sources_of)
                before = previous.get(key)
                self._rows[key] = before if before is not None and np.array_equal(before, row) else row
            found[name] = self._rows[key]
        return found


def _changed(
    recording: CRecording,
    then: Mapping[str, str],
    digests: Mapping[str, str],
    files: Sequence[MeasuredFile],
    last_pass: LastPass,
    sources_of: Callable[[LastPass], Collection[str]],
) -> Row:
    """The columns that changed since a pass.

    A source that was not compiled then is new. One of which the text then or now is not known is left out.
    """
    columns: list[Ints] = [np.zeros(0, np.int64)]
    start = 0
    compiled: Collection[str] | None = None
    for file in files:
        now = digests.get(file.path)
        if now is not None and now != then.get(file.path):
            old = recording.lines(then[file.path]) if file.path in then else None
            if file.path not in then and last_pass.objects:
                compiled = sources_of(last_pass) if compiled is None else compiled
                old = None if file.path in compiled else _NOTHING
            new = recording.lines(now)
            if old is not None and new is not None:
                columns.append(start + statements_with(new.changed_since(old), file))
        start += len(file.line)
    return np.concatenate(columns).astype(np.int32)

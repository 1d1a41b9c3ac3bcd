"""Lines that a project excludes, according to gcovr when its tests were recorded."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from suspectra.base.english import are, many
from suspectra.base.errors import Problem


@dataclass(frozen=True)
class Exclusions:
    """Lines and files that are excluded from rankings."""

    # excluded lines by path relative to the workspace
    lines: Mapping[str, frozenset[int]] = field(default_factory=dict)
    files: frozenset[str] = frozenset()  # files that are excluded completely
    why: str = ""  # the reason, for messages

    def contains(self, path: str, line: int) -> bool:
        """Whether a line is excluded.

        Also True if the whole file is excluded.
        """
        return path in self.files or line in self.lines.get(path, ())

    def replaced(self, paths: Collection[str], others: Exclusions) -> Exclusions:
        """Replace the exclusions of some files."""
        lines = {path: numbers for path, numbers in self.lines.items() if path not in paths}
        files = frozenset(path for path in self.files if path not in paths)
        return Exclusions({**lines, **others.lines}, files | others.files, others.why or self.why)

    def problem(self, source: str) -> Problem | None:
        """Describe what is excluded and why.

        None if nothing is excluded.
        """
        parts = [many(len(self.files), "file")] if self.files else []
        if count := sum(map(len, self.lines.values())):
            parts.append(f"{many(count, 'line')} of {many(len(self.lines), 'file')}")
        if not parts:
            return None
        cause = f"{' and '.join(parts)} {are(len(self.files) + count)} not ranked: {self.why}"
        return Problem(source, "", cause, "to have them ranked, take the markers or settings away and record again")

    def fields(self) -> dict[str, object]:
        """Return the fields for :meth:`from_fields`."""
        lines = {path: sorted(numbers) for path, numbers in sorted(self.lines.items())}
        return {"lines": lines, "files": sorted(self.files), "why": self.why}

    @classmethod
    def from_fields(cls, fields: Mapping[str, Any]) -> Exclusions:
        """Make exclusions from the result of :meth:`fields`.

        Raises KeyError, TypeError, ValueError, AttributeError when the fields have another form.
        """
        lines = {str(path): frozenset(map(int, numbers)) for path, numbers in fields["lines"].items()}
        return cls(lines, frozenset(map(str, fields["files"])), str(fields["why"]))


NO_EXCLUSIONS = Exclusions()

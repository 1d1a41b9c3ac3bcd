"""Sources that are still as they were when the tests ran."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from suspectra.program import Program

if TYPE_CHECKING:
    from suspectra.measured_file import MeasuredFile

SourceOf = Callable[[str], bytes | None]
"""The bytes of a file as it was when the tests ran, None when they are not at hand."""


@dataclass(frozen=True)
class SourcesAsRun:
    """Sources that are still as they were when the tests ran.

    Parameters
    ----------
    files : tuple of MeasuredFile
        With their digests.
    read : SourceOf or None
        Given a path, the bytes of the file now, or None.

    Examples
    --------
    >>> import numpy as np
    >>> from suspectra.measured_file import MeasuredFile
    >>> file = MeasuredFile("f.py", "60303ae2", np.zeros(0), np.zeros(0), np.zeros(0), ())
    >>> print(SourcesAsRun((file,), lambda path: b"changed since")("f.py"))
    None
    """

    files: tuple[MeasuredFile, ...]
    read: SourceOf | None

    @classmethod
    def for_program(cls, program: Program | None) -> SourcesAsRun:
        """The sources of a program.

        Parameters
        ----------
        program : Program or None
            What the evidence says of it.

        Returns
        -------
        SourcesAsRun
            None of them at hand where nothing is known of the program.

        Examples
        --------
        >>> print(SourcesAsRun.for_program(None)("f.py"))
        None
        """
        return cls((), None) if program is None else cls(program.files, program.source_of)

    def __call__(self, path: str) -> bytes | None:
        """The bytes of a file, None where it can't be read or has changed."""
        data = self.read(path) if self.read else None
        digest = self._digests.get(path)
        changed = data is not None and digest is not None and hashlib.sha256(data).hexdigest() != digest
        return None if changed else data

    @cached_property
    def _digests(self) -> dict[str, str | None]:
        return {file.path: file.digest for file in self.files}

"""The files of a copy of the workspace, in which any of the changes since a baseline can be made."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from suspectra.evidence.sources import SourceReader
from suspectra.program.languages import is_python

_FIRST_TIME = 1_000_000_000
"""From here on each text of a module has a second of its own: by that, Python knows whether it has compiled it."""


class MixedFiles:
    """The files that are not as in the workspace. What is there already is not written again."""

    def __init__(self, workspace: Path, folder: Path):
        self.folder = folder  # the copy
        self._present = SourceReader(workspace)
        self._written: dict[str, bytes | None] = {}  # by path
        self._time = _FIRST_TIME

    def write(self, contents: dict[str, bytes | None]) -> None:
        """Give files these contents, None for no file, and all others those of the workspace."""
        for path in sorted({*contents, *self._written}):
            content = contents[path] if path in contents else self._present(path)
            if path in self._written and self._written[path] == content:
                continue
            target = self.folder / path
            if content is None:
                with suppress(FileNotFoundError):
                    target.unlink()
            else:
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(content)
                if is_python(path):
                    self._time += 1
                    os.utime(target, (self._time, self._time))
            self._written[path] = content

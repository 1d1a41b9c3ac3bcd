"""Which of some files this process opens."""

from __future__ import annotations

from collections.abc import Iterable

from suspectra_recorder.instrumentation import library_references
from suspectra_recorder.instrumentation.library_references import os, sys

__builtins__ = library_references.builtins


class OpenedFiles:
    """Those that are opened from now on, until the process ends."""

    def __init__(self, workspace: str, files: Iterable[str]):
        self._files = {os.path.join(workspace, file): file for file in files}
        self.names: set[str] = set()
        if self._files:
            sys.addaudithook(self._opened)

    def _opened(self, event: str, arguments: tuple[object, ...]) -> None:
        """Python tells what happens."""
        if event == "open" and type(arguments[0]) is str:
            path = os.path.normpath(os.path.join(os.getcwd(), arguments[0]))
            if path in self._files:
                self.names.add(self._files[path])

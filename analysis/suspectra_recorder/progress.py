"""Reporting the progress of a run to another program, as a line of JSON for each event."""

from __future__ import annotations

from suspectra_recorder.instrumentation import library_references
from suspectra_recorder.instrumentation.library_references import json, os

__builtins__ = library_references.builtins

_FLAGS = os.O_WRONLY | os.O_APPEND | getattr(os, "O_CLOEXEC", 0)


class ProgressWriter:
    """Appends lines to a file: ``{"tests": 817}`` after collection, ``{"failed": false}`` when a test ends.

    ``{"trouble": "no tests were found"}`` says why the tests will not complete. Every process of a run appends its own
    lines. Errors of writing are ignored.
    """

    def __init__(self, path: str):
        self._path = path

    def collected(self, tests: int) -> None:
        """Report how many tests will run."""
        self._add({"tests": tests})

    def ended(self, failed: bool) -> None:
        """Report that a test ended."""
        self._add({"failed": failed})

    def trouble(self, text: str) -> None:
        """Report that the tests will not complete."""
        self._add({"trouble": text})

    def _add(self, event: dict[str, int | bool | str]) -> None:
        if not self._path:
            return
        try:
            descriptor = os.open(self._path, _FLAGS)
            try:
                os.write(descriptor, json.dumps(event).encode() + b"\n")
            finally:
                os.close(descriptor)
        except OSError:
            pass

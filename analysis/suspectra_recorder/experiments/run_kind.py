"""A kind of run: what it does to the program before a test, and takes back after it."""

from __future__ import annotations

from suspectra_recorder.experiments.loading import Instrument
from suspectra_recorder.experiments.messages import Findings, RunRequest
from suspectra_recorder.instrumentation import library_references

__builtins__ = library_references.builtins


class RunKind:
    """A kind of run. This one leaves the program as it is."""

    # what is inserted into the sources of the workspace when jobs of this kind will be asked for
    instrument: Instrument | None = None
    plugin: object = None  # what pytest calls besides

    def begin(self) -> None:
        """Watch what is imported from now on, if runs need that."""

    def prepare(self) -> None:
        """Look up what runs need. The tests are collected, and the process will now be frozen and forked."""

    def apply(self, job: RunRequest) -> None:
        """Alter the program. The board already counts its steps."""

    def take_back(self) -> Findings:
        """Make the program what it was, as another run may follow in this process."""
        return {}

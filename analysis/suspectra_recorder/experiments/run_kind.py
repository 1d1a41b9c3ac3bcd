"""A kind of run: what it does to the program before a test, and takes back after it.

On the other side `suspectra/experiments/altered_runs.py` has an alteration for each kind, which knows how it is asked
for. A kind that needs more than decisions in the code brings an `Instrument`, which is inserted only if such runs will
be asked for. What a kind does is taken back, since the next run may be in the same process.
"""

from __future__ import annotations

from collections.abc import Sequence

from suspectra_recorder.experiments.loading import Instrument
from suspectra_recorder.experiments.messages import Findings, RunRequest
from suspectra_recorder.instrumentation import library_references

__builtins__ = library_references.builtins


class RunKind:
    """A kind of run. This one leaves the program as it is."""

    # what is inserted into the sources of the workspace when jobs of this kind will be asked for
    instrument: Instrument | None = None
    plugin: object = None  # what pytest calls besides
    alters = True  # whether it changes what the program does, so that it has to be contained

    def begin(self) -> None:
        """Watch what is imported from now on, if runs need that."""

    def prepare(self) -> None:
        """Look up what runs need. The tests are collected, and the process will now be frozen and forked."""

    def foresee(self, jobs: Sequence[RunRequest]) -> None:
        """Know what the next runs are about; called before each of them."""

    def apply(self, job: RunRequest) -> None:
        """Alter the program. The board already counts its steps."""

    def take_back(self) -> Findings:
        """Make the program what it was, as another run may follow in this process."""
        return {}

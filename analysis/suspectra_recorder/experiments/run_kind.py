"""A kind of run: what it does to the program before a test, and takes back after it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from suspectra_recorder.experiments.loading import Instrument
from suspectra_recorder.instrumentation import own

__builtins__ = own.builtins

Job = Mapping[str, Any]
"""One run, as JSON has it: its ``"kind"``, and what this kind needs to know."""


class RunKind:
    """A kind of run. This one leaves the program as it is.

    Attributes
    ----------
    instrument : Instrument or None
        What is inserted into the sources of the workspace when jobs of this kind will be asked for.
    plugin : object or None
        What pytest calls besides.
    """

    instrument: Instrument | None = None
    plugin: object = None

    def prepare(self) -> None:
        """Look up what runs need. The tests are collected, and the process will now be frozen and forked."""

    def apply(self, job: Job) -> None:
        """Alter the program. The board already counts its steps.

        Parameters
        ----------
        job : mapping
            What was asked for.
        """

    def take_back(self) -> dict[str, Any]:
        """Make the program what it was, as another run may follow in this process.

        Returns
        -------
        dict
            What is added to the answer. ``"reached"`` is how often the altered place was reached.
        """
        return {}

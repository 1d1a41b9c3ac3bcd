"""What keeps a ranking from singling out the fault."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from suspectra.base.arrays import Ints
from suspectra.base.english import many, some
from suspectra.base.errors import Problem
from suspectra.spectrum import Spectrum


def caveats_of(spectrum: Spectrum, first: Ints, explained: Collection[str] = ()) -> list[Problem]:
    """Say what a ranking can't tell apart, and what would help."""
    counts = spectrum.counts
    found = []
    if not counts.passed:
        cause = "no test passed, so lines that only failing tests execute can't be distinguished from the others"
        found.append(Problem("", "", cause, "run passing tests too, best those near the failing ones"))
    suspected = spectrum.suspected
    tied = int(np.count_nonzero(counts.ef[first]))
    if counts.passed and tied > 20 and tied > suspected / 2:
        of_all = f"{tied} of the {suspected} that failing tests execute"
        cause = f"the evidence can't tell lines apart: {of_all} share the first rank"
        found.append(Problem("", "", cause, "add passing tests that execute some of these lines and not the others"))
    failing, known = spectrum.failing_index, set(explained)
    silent = [name for name in silent_failures(spectrum) if name not in known]
    if len(failing) / 2 < len(silent) < len(failing):  # a few may fail while they are set up
        of_all = f"{len(silent):,} of {many(len(failing), 'failing test')}"
        cause = f"no recorded statement is executed by {of_all}: {some(silent)}"
        found.append(Problem("", "", cause, "if they run the program in another process, record that one too"))
    return found


def silent_failures(spectrum: Spectrum) -> list[str]:
    """List the failing tests that execute nothing that is recorded."""
    return [name for name, row in spectrum.failing_index.items() if not len(spectrum.rows[row])]

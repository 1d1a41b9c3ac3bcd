"""The technique that ranks if the user has chosen none."""

from __future__ import annotations

from collections.abc import Collection

from suspectra.base.options import TECHNIQUE
from suspectra.runs.experiment import COMBINATION, KINDS, UNDO, Experiment
from suspectra.techniques import make_technique
from suspectra.techniques.technique import Technique


def default_technique(experiments: Collection[Experiment] = ()) -> Technique:
    """All evidence; with what experiments showed, once there are any of these sources."""
    made = any(one.kind in (*KINDS[COMBINATION], UNDO) for one in experiments)
    return make_technique(COMBINATION if made else TECHNIQUE.default)

"""Spectra: which elements and control-flow edges each test executes, and the counts over all tests."""

from suspectra.spectrum.changed_rows import ChangedRows, changes_by_git
from suspectra.spectrum.chunks import Chunks, PerChunk, chosen
from suspectra.spectrum.counts import Counts
from suspectra.spectrum.edges import FIRST_OUTCOME, EdgeKind, Edges
from suspectra.spectrum.elements import Elements, Function
from suspectra.spectrum.pairs import Pairs, distinct_pairs, pair_key
from suspectra.spectrum.per_test import PerTest, Tally, batches
from suspectra.spectrum.rows import Derived, DerivedRows, IntsT, common
from suspectra.spectrum.some_failing import some_failing
from suspectra.spectrum.spectrum import Spectrum
from suspectra.spectrum.uses import SpectrumWithUses, is_only_read, without_uses

__all__ = [
    "FIRST_OUTCOME",
    "ChangedRows",
    "Chunks",
    "Counts",
    "Derived",
    "DerivedRows",
    "EdgeKind",
    "Edges",
    "Elements",
    "Function",
    "IntsT",
    "Pairs",
    "PerChunk",
    "PerTest",
    "Spectrum",
    "SpectrumWithUses",
    "Tally",
    "batches",
    "changes_by_git",
    "chosen",
    "common",
    "distinct_pairs",
    "is_only_read",
    "pair_key",
    "some_failing",
    "without_uses",
]

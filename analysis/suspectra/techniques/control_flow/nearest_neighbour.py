"""NN/Perm: what distinguishes a failed run from the passed run most like it (Renieris & Reiss 2003)."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from suspectra.base.arrays import IntMatrix, Ints
from suspectra.base.cancellation import check, checked
from suspectra.base.errors import Problem, UsageError
from suspectra.program import Program
from suspectra.program.control_flow import ControlFlow, control_flow
from suspectra.report import Explanation, RankedReport
from suspectra.spectrum import Spectrum, batches
from suspectra.techniques.catalogue import NEAREST_NEIGHBOUR as INFO
from suspectra.techniques.control_flow.flow_report import (
    FlowReport,
    by_distance,
    details_of,
    hits_of_edges,
    require_counts,
)
from suspectra.techniques.effort import MAX_GB, MAX_SECONDS, Effort
from suspectra.techniques.formulas import in_words, require_failure
from suspectra.techniques.staged_technique import Staged
from suspectra.techniques.technique import headline

# Measured by benchmarks/effort.py on a busy processor: per block of a distance; per edge that a test traversed, for the
# matrix of profiles; and per such edge again, for each failed run that is looked up in the matrix.
_BLOCK_SECONDS, _PROFILE_SECONDS, _HIT_SECONDS, _HIT_BYTES = 5e-7, 1.5e-7, 1e-8, 60.0
_LOOK = 1 << 16  # check for cancellation after this many blocks of a distance


@dataclass(frozen=True)
class NearestRuns:
    """The passed runs with which failed runs were compared."""

    # for each failed run the nearest passed run, and how many blocks must be moved to reach it
    of_run: dict[int, tuple[int, int]]


@dataclass(frozen=True)
class NearestNeighbour(Staged):
    """Sort the blocks of each run by how often they were executed, and compare the orders.

    The distance of two runs is the number of blocks that must be moved to turn one order into the other (Ulam's
    distance). The report of a failed run is the set of blocks that must be moved to reach its nearest passed run
    (NN/Perm of Renieris & Reiss 2003, which paper 001 compares with in its Table 4).
    """

    # how many passed runs to compare, starting with those that execute the most similar sets of blocks; 0 for all
    candidates: int = 100
    info = INFO

    def __post_init__(self) -> None:
        if not isinstance(self.candidates, int) or self.candidates < 0:
            raise UsageError(Problem("", "nn-perm", "candidates is not a number of runs", "use 0 for all, or more"))

    def localize(
        self, spectrum: Spectrum, program: Program | None = None, previous: RankedReport | None = None
    ) -> RankedReport:
        """Rank the statements of the reports first, then the others by their distance from these."""
        require_failure(spectrum)
        require_counts(INFO.title, spectrum)
        self.require_bearable(spectrum)
        spectrum, flow = control_flow(INFO.title, spectrum, program)
        profiles = block_counts(flow, spectrum)
        executed = sparse.csr_array(profiles.astype(bool).astype(np.int32))
        failed = np.flatnonzero(spectrum.failed)
        reported = np.zeros(flow.blocks)
        nearest: dict[int, tuple[int, int]] = {}
        for run in failed.tolist():
            check()
            found = self._nearest(profiles, executed, run, np.flatnonzero(~spectrum.failed))
            if found is not None:
                other, moved = found
                nearest[run] = other, len(moved)
                reported[moved] += 1 / len(failed)
        share = np.nan_to_num(flow.over_elements(reported, len(spectrum.elements)))
        around = by_distance(flow, np.flatnonzero(share > 0), len(spectrum.elements))
        notes = list(flow.problems)
        if not nearest:
            notes.append(Problem("", "", "NN/Perm has no passed run to compare with", "run passing tests too"))
        scores = np.where(share > 0, share, around)
        return FlowReport.from_flow_scores(self, spectrum, scores, tuple(notes), NearestRuns(nearest))

    def effort(self, spectrum: Spectrum) -> Effort:
        """Estimate the effort of all distances: each looks at every block, and there are nearly as many blocks as
        statements.
        """
        counts, hits = spectrum.counts, hits_of_edges(spectrum)
        compared = min(self.candidates or counts.passed, counts.passed)
        each = compared * len(spectrum.elements) * _BLOCK_SECONDS + hits * _HIT_SECONDS
        return Effort(counts.failed * each + hits * _PROFILE_SECONDS, hits * _HIT_BYTES / 2**30)

    def require_bearable(self, spectrum: Spectrum) -> None:
        """Refuse suites for which this would take too long.

        Raises NothingToRank when it would take too long or too much memory; the cure says how many candidates would be
        quick enough.
        """
        effort, counts = self.effort(spectrum), spectrum.counts
        hits = hits_of_edges(spectrum)
        each = (MAX_SECONDS - hits * _PROFILE_SECONDS) / counts.failed - hits * _HIT_SECONDS
        few = int(each / (len(spectrum.elements) * _BLOCK_SECONDS))
        fewer = f"compare fewer passed runs (candidates {few}), or " if 0 < few and effort.gb <= MAX_GB else ""
        effort.require(
            INFO.title,
            f"it compares each of {counts.failed:,} failed runs with up to {self.candidates or counts.passed:,} passed"
            f" ones, statement by statement ({len(spectrum.elements):,})",
            f"{fewer}take Branch or CBI, which look at control flow too, or a formula; or record fewer tests",
        )

    def _nearest(self, profiles: IntMatrix, executed: IntMatrix, run: int, passed: Ints) -> tuple[int, Ints] | None:
        """Return the nearest passed run, and the blocks that must be moved."""
        size = np.diff(profiles.indptr)
        common = np.asarray((executed[passed] @ executed[[run]].T).todense()).ravel()
        unlike = size[passed] + size[run] - 2 * common
        chosen = passed[np.argsort(unlike, kind="stable")]
        chosen = chosen[: self.candidates] if self.candidates else chosen
        order = _order(profiles, run)
        best: tuple[int, Ints] | None = None
        compared_orders: set[bytes] = set()
        for other in checked(chosen.tolist()):
            candidate = _order(profiles, other)
            if (key := candidate.tobytes()) in compared_orders:
                continue
            compared_orders.add(key)
            moved = moved_blocks(order, candidate)
            if best is None or len(moved) < len(best[1]):
                best = other, moved
        return best

    def explain(self, report: RankedReport, position: int) -> Explanation:
        """How many failed runs report the statement, and one of the comparisons."""
        suspect, spectrum = report.suspect(position), report.spectrum
        sentences = [in_words(suspect.ef, suspect.ep, spectrum.counts)]
        if suspect.score > 0:
            count = round(suspect.score * spectrum.counts.failed)
            sentences.append(
                f"In {count} of {spectrum.counts.failed} failing tests it is executed at another place in the order of"
                " frequency than in the passing test most like them."
            )
            run, (other, moved) = next(iter(details_of(report, NearestRuns).of_run.items()))
            sentences.append(
                f"{spectrum.tests[run]} was compared with {spectrum.tests[other]}, {moved} moved blocks away."
            )
        else:
            sentences.append(
                "No report contains it; it is ranked by its distance in the control flow from those that are in one."
            )
        return Explanation(headline(report, suspect), tuple(sentences), INFO.formula, f"{suspect.score:.6g}")


def block_counts(flow: ControlFlow, spectrum: Spectrum) -> IntMatrix:
    """Count how often each run entered each block.

    Of shape (runs, blocks). Zeros are not stored.

    Only edges into a block count, so the count of the entry block is 0.
    """
    known = np.flatnonzero(flow.edge >= 0)
    edges, all_rows = spectrum.require_edges()
    all_times = require_counts(INFO.title, spectrum)
    into = sparse.csr_array(
        (np.ones(len(known), np.int64), (flow.edge[known], flow.target[known])),
        shape=(len(edges), flow.blocks),
    )
    parts = [sparse.csr_array((0, flow.blocks), dtype=np.int64)]
    for tests in batches(spectrum):
        rows, times = all_rows[tests], all_times[tests]
        starts = np.concatenate([[0], np.cumsum([len(row) for row in rows])])
        taken = sparse.csr_array(
            (np.concatenate(times).astype(np.int64), np.concatenate(rows), starts),
            shape=(len(rows), len(edges)),
        )
        parts.append((taken @ into).tocsr())
    return sparse.vstack(parts, format="csr")


def _order(profiles: IntMatrix, run: int) -> Ints:
    """The blocks sorted by how often a run executed them, then by number."""
    return np.argsort(profiles[[run]].todense().ravel(), kind="stable")


def moved_blocks(order: Ints, other: Ints) -> Ints:
    """Return the fewest blocks to move so that one order becomes the other (Renieris & Reiss 2003).

    These are all blocks outside a longest common subsequence.

    Of shape (moved,).
    """
    position = np.empty(len(other), np.int64)
    position[other] = np.arange(len(other))
    sequence = position[order].tolist()
    tails: list[int] = []  # smallest last position of an increasing subsequence, by its length
    at_length: list[int] = []
    predecessor = [-1] * len(sequence)
    for i, value in enumerate(sequence):
        if i % _LOOK == 0:
            check()
        length = bisect_left(tails, value)
        predecessor[i] = at_length[length - 1] if length else -1
        if length == len(tails):
            tails.append(value)
            at_length.append(i)
        else:
            tails[length], at_length[length] = value, i
    is_common = np.zeros(len(sequence), bool)
    i = at_length[-1] if at_length else -1
    while i >= 0:
        is_common[i] = True
        i = predecessor[i]
    return np.sort(order[~is_common])

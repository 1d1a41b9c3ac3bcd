"""The evaluation scores of the literature for rankings, given the faults.

Ranks are computed for all elements at once from their suspiciousness (higher is more suspicious; NaN is the lowest).
Equal scores are ties, so pass scores without rounding errors, such as the negated levels of a report. To rank by
expected steps, pass the negated HT_Rank; all formulas apply to it, too (paper 003 recommends Steimann's form of it for
faults in several places).

With several faults, a rank score is one number per fault; :func:`over_faults` summarizes them. Scores of a whole
report, such as LIL, take all faults at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from scipy import sparse, stats

from suspectra.base.arrays import Floats, Ints
from suspectra.base.errors import Problem, UsageError

Scores = Sequence[float] | Floats | Ints
Indices = Sequence[int] | Ints
NumberT = TypeVar("NumberT", float, Floats)


def tarantula_rank(scores: Scores) -> Ints:
    """#{s(x) ≥ s(l)}: the last place of the tie (Jones & Harrold 2005; paper 003, Definition 14).

    Of shape (n,).
    """
    higher, equal = _ties(scores)
    return higher + equal


def best_rank(scores: Scores) -> Ints:
    """#{s(x) > s(l)} + 1: the first place of the tie (paper 004's Min, §3.2.2).

    Of shape (n,).
    """
    return _ties(scores)[0] + 1


def standard_rank(scores: Scores) -> Floats:
    """#{s(x) > s(l)} + #{s(x) = s(l)}/2 (Ali et al. 2009; paper 003, Definition 17).

    Of shape (n,).
    """
    higher, equal = _ties(scores)
    return higher + equal / 2


def middle_rank(scores: Scores) -> Ints:
    """⌊#{s(x) > s(l)} + ½ + #{s(x) = s(l)}/2⌋: the middle one of the tie (paper 004, Definition 2.2).

    Of shape (n,).
    """
    higher, equal = _ties(scores)
    return higher + (1 + equal) // 2


def steimann_rank(scores: Scores, faulty: Indices) -> Floats:
    """#{>} + (#{=} + 1)/(#{= and faulty} + 1): the expected rank of the first fault of a tie.

    Steimann, Frenkel & Abreu 2013; paper 003, Definition 18.

    Of shape (n,).
    """
    higher, equal = _ties(scores)
    marked = np.zeros(len(higher), bool)
    marked[_faults(faulty, len(higher))] = True
    _, tie = np.unique(higher, return_inverse=True)
    tie = tie.reshape(-1)
    faults = np.bincount(tie[marked], minlength=len(higher) and int(tie.max()) + 1)[tie]
    return higher + (equal + 1) / (faults + 1)


def expense(rank: NumberT, n: int) -> NumberT:
    """(n - r)/n: the share of the program that need not be examined (paper 003, Definition 15).

    Jones & Harrold 2005 call it the effectiveness of a technique.

    Of shape (k,).
    """
    return (_some(n) - rank) / n


def exam(rank: NumberT, n: int) -> NumberT:
    """The share of the program that must be examined, r/n (Wong et al.'s EXAM; paper 003, Definition 16).

    With :func:`middle_rank` it is paper 004's Avg expense (Definition 2.2); with :func:`best_rank` and
    :func:`tarantula_rank` its Min and Max (§3.2.2).

    Of shape (k,).
    """
    return rank / _some(n)


@dataclass(frozen=True)
class OverFaults:
    """The summary of a score over several faults."""

    first: float  # until the first fault is found
    mean: float  # the mean over the faults
    last: float  # until the last fault is found


def over_faults(ranks: Scores, faulty: Indices) -> OverFaults:
    """Summarize a score per element over the faults. Less must be better.

    Raises UsageError when no fault is named, or one is not an element.
    """
    own = np.asarray(ranks)[_faults(faulty, len(ranks))]
    return OverFaults(float(own.min()), float(own.mean()), float(own.max()))


def lil(scores: Scores, faulty: Indices, epsilon: float = 1e-10) -> float:
    """Locality Information Loss: the divergence of the scores from the ideal ones (Moon et al. 2014), in nats.

    P is the scores scaled to [0, 1] and then to a sum of 1. Q is the ideal, 1 for each fault and `epsilon` for all
    other elements, scaled to a sum of 1. The loss is the Kullback-Leibler divergence of P from Q, Σ Q·ln(Q/P).

    0 when the scores are the ideal ones.

    Raises UsageError when `epsilon` is not between 0 and 1, or no fault is named.
    """
    if not 0 < epsilon < 1:
        raise _usage(f"epsilon is {epsilon}", "give a number above 0 and below 1")
    values = _numbers(scores)
    faults = _faults(faulty, len(values))
    finite = values[np.isfinite(values)]
    low, high = (finite.min(), finite.max()) if len(finite) else (0.0, 0.0)
    if low == high:  # only infinite scores, if any, differ from the others
        low, high = low - np.isneginf(values).any(), high + np.isposinf(values).any()
    values = np.clip(values, low, high)
    scaled = (values - low) / (high - low) if high > low else np.ones(len(values))
    scaled = np.maximum(scaled, epsilon)
    ideal = np.full(len(values), epsilon)
    ideal[faults] = 1
    return float(stats.entropy(ideal, scaled))


def t_score(
    dependences: sparse.csr_array, report: Indices, faulty: Indices, *, directed: bool = False, all_faults: bool = False
) -> float:
    """The share of the program examined until a fault is found, breadth-first from a report (Renieris & Reiss 2003).

    For a ranked list of predicates, Liu et al. 2006 and paper 000 (§5.1.3) start from the best five: pass
    ``report=top(scores, 5)``.

    1 when the report is empty or leads to no fault.
    """
    graph = sparse.csr_array(dependences)
    n = graph.shape[0]
    faults = _faults(faulty, n)
    start = np.unique(np.asarray(report, np.int64))
    if not len(start):
        return 1.0
    if not (0 <= start[0] and start[-1] < n):
        raise _usage("the report names a statement that is not in the graph", f"name statements from 0 to {n - 1}")
    backwards = sparse.csr_array(graph.T)
    graphs = (graph, backwards) if directed else (sparse.csr_array(graph + backwards),)
    distance = np.min([_distances(searched, start) for searched in graphs], axis=0)
    needed = distance[faults].max() if all_faults else distance[faults].min()
    return float(np.count_nonzero(distance <= needed)) / n if np.isfinite(needed) else 1.0


def dependence_score(
    dependences: sparse.csr_array, report: Indices, faulty: Indices, *, all_faults: bool = False
) -> float:
    """1 - |DS*|/|PDG|: the share of the program that need not be examined (paper 001, Equation 1). More is better.

    DS* is the smallest set of nodes that reach the report, or are reached from it, within some number of directed edges
    and that contains a fault. An empty report scores 0.
    """
    return round(1 - t_score(dependences, report, faulty, directed=True, all_faults=all_faults), 15)


def top(scores: Scores, n: int) -> Ints:
    """The `n` most suspicious elements. Within a tie they keep their order.

    Of shape (min(n, elements). Elements, best first.
    """
    return np.argsort(-_numbers(scores), kind="stable")[:n]


def top_n(ranks: Scores, n: int = 5) -> float:
    """The share of subjects whose fault is among the first `n` (paper 004's Top-N, §3.2.2), from one rank a subject."""
    values = _numbers(ranks)
    return float(np.mean(values <= n)) if len(values) else 0.0


def top_n_percent(ranks: Scores, sizes: Indices, percent: float = 5) -> float:
    """The share of subjects whose fault is in the first `percent` % of its program (paper 004's Top-N %, §3.2.2)."""
    values, size = _numbers(ranks), np.asarray(sizes, float)
    return float(np.mean(values <= size * percent / 100)) if len(values) else 0.0


def _ties(scores: Scores) -> tuple[Ints, Ints]:
    """For each element, the number of elements with a higher score, and with the same score (including itself)."""
    values = _numbers(scores)
    if not len(values):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    _, tie, count = np.unique(-values, return_inverse=True, return_counts=True)
    tie = tie.reshape(-1)
    return (np.cumsum(count) - count)[tie], count[tie]


def _numbers(scores: Scores) -> Floats:
    values = np.asarray(scores, float).reshape(-1)
    return np.where(np.isnan(values), -np.inf, values)


def _faults(faulty: Indices, n: int) -> Ints:
    faults = np.unique(np.asarray(faulty, np.int64))
    if not len(faults):
        raise _usage("no fault is named", "name at least one faulty element")
    if not (0 <= faults[0] and faults[-1] < n):
        raise _usage("a fault is not among the elements", f"name elements from 0 to {n - 1}")
    return faults


def _distances(graph: sparse.csr_array, start: Ints) -> Floats:
    """The number of edges from the nearest start; infinite for unreachable nodes."""
    n = graph.shape[0]
    distance = np.full(n, np.inf)
    front = np.zeros(n, bool)
    front[start] = True
    distance[start] = steps = 0
    arriving = sparse.csr_array(graph.astype(bool).T.astype(np.int8))
    while front.any():
        steps += 1
        front = (arriving @ front.astype(np.int32) > 0) & np.isinf(distance)
        distance[front] = steps
    return distance


def _some(n: int) -> int:
    if n < 1:
        raise _usage(f"a program of {n} elements has no share of anything", "give at least one element")
    return n


def _usage(cause: str, cure: str) -> UsageError:
    return UsageError(Problem("", "", cause, cure))

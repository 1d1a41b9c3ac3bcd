"""The evaluation scores of one ranking, given the faults."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from suspectra.base.arrays import Ints
from suspectra.base.errors import NothingToRank, Problem
from suspectra.evaluation import scores
from suspectra.markov.debugging_model import DebuggingModel
from suspectra.report import RankedReport, SubgraphReport

TOP = (1, 3, 5, 10)


@dataclass(frozen=True)
class FaultRank:
    """The ranks of one fault. Of several statements of a fault, the best-ranked one counts."""

    location: str  # file and lines of that statement
    score: float  # its suspiciousness
    # first, average and last rank of its tie, counted from 1
    rank_best: int
    rank_average: float
    rank_worst: int
    standard_rank: float  # paper 003, Definition 17; of the best subgraph where the report consists of subgraphs
    steimann_rank: float  # paper 003, Definition 18
    # HT_Rank of the statement of the fault that a reader gets to soonest (paper 003, Definition 25); None where the
    # debugging model was not asked
    ht_rank: float | None = None
    # expected steps until a reader reaches it; infinite if no reader does, None without the debugging model
    expected_steps: float | None = None

    def as_dict(self) -> dict[str, object]:
        """The fields for JSON: without those that are None, and with None for infinite values."""
        known = {name: value for name, value in vars(self).items() if value is not None}
        return {name: None if value == float("inf") else value for name, value in known.items()}


@dataclass(frozen=True)
class Appraisal:
    """The scores of a ranking."""

    n: int  # the number of ranked statements
    faults: tuple[FaultRank, ...]  # in ascending order of their average rank
    lil: float  # locality Information Loss of the whole ranking, in nats
    # steimann's form of HT_Rank, which takes into account that a tie may contain several faults; empty without a model
    steimann_of_steps: tuple[float, ...] = ()

    @classmethod
    def from_report(
        cls, report: RankedReport, faults: Sequence[Ints], model: DebuggingModel | None = None
    ) -> Appraisal:
        """Score a report.

        Raises NothingToRank when no fault is in the ranking.
        """
        level = report.level
        ranked = np.flatnonzero(level >= 0)
        place = np.full(len(level), -1)
        place[ranked] = np.arange(len(ranked))
        suspiciousness = -level[ranked].astype(float)
        faulty = [place[elements][place[elements] >= 0] for elements in faults]
        faulty = [elements for elements in faulty if len(elements)]
        if not faulty:
            cure = "name faults in code that may be suspected, or add --include-tests"
            raise NothingToRank(Problem("", "", "none of the faults is in the ranking", cure))
        every = np.unique(np.concatenate(faulty))
        steimann = scores.steimann_rank(suspiciousness, every)
        ht_rank = model.ht_rank[ranked] if model else np.zeros(0)
        expected = model.expected_steps[ranked] if model else np.zeros(0)

        found = []
        for elements in faulty:
            best = int(elements[np.argmax(suspiciousness[elements])])
            suspect = report.suspect_of(int(ranked[best]))
            found.append(
                FaultRank(
                    str(suspect.location),
                    suspect.score,
                    suspect.rank_best,
                    suspect.rank_average,
                    suspect.rank_worst,
                    float(report.fragment_rank[ranked[best]])
                    if isinstance(report, SubgraphReport)
                    else suspect.standard_rank,
                    float(steimann[best]),
                    float(ht_rank[elements].min()) if model else None,
                    float(expected[elements].min()) if model else None,
                )
            )
        values = report.level_score[level[ranked]]
        found.sort(key=lambda fault: fault.rank_average)
        by_steps = scores.steimann_rank(-ht_rank, every) if model else ht_rank
        own = tuple(float(by_steps[elements].min()) for elements in faulty) if model else ()
        return cls(len(ranked), tuple(found), scores.lil(values, every), own)

    def figures(self) -> dict[str, dict[str, float]]:
        """The scores: until the first fault is found, the mean over the faults, and until the last is found.

        By the name of the score: `first`, `mean` and `last`.
        """
        ranks: dict[str, Sequence[float]] = {
            "best rank": [fault.rank_best for fault in self.faults],
            "average rank": [fault.rank_average for fault in self.faults],
            "worst rank": [fault.rank_worst for fault in self.faults],
            "standard rank": [fault.standard_rank for fault in self.faults],
            "Steimann rank": [fault.steimann_rank for fault in self.faults],
        }
        middle = [int((fault.rank_best + fault.rank_worst) // 2) for fault in self.faults]
        table = {name: _spread(values) for name, values in ranks.items()}
        table["EXAM"] = _spread([rank / self.n for rank in ranks["average rank"]])
        table["Min expense"] = _spread([rank / self.n for rank in ranks["best rank"]])
        table["Avg expense"] = _spread([rank / self.n for rank in middle])
        table["Max expense"] = _spread([rank / self.n for rank in ranks["worst rank"]])
        unseen = scores.expense(np.array(ranks["worst rank"]), self.n).tolist()
        table["Expense (not examined)"] = _spread(unseen, more_is_better=True)
        ht_rank = [fault.ht_rank for fault in self.faults if fault.ht_rank is not None]
        if self.steimann_of_steps:
            table["HT_Rank"] = _spread(ht_rank)
            table["HT_Rank (Steimann)"] = _spread(list(self.steimann_of_steps))
            table["HT_Rank / statements"] = _spread([rank / self.n for rank in ht_rank])
        return table

    def top(self) -> dict[int, tuple[int, int, int]]:
        """The number of faults among the first N suspects, by the best, the average and the worst rank of ties."""
        ranks = np.array([[fault.rank_best, fault.rank_average, fault.rank_worst] for fault in self.faults])
        found = {}
        for n in TOP:
            best, average, worst = (ranks <= n).sum(axis=0).tolist()
            found[n] = best, average, worst
        return found

    def as_dict(self) -> dict[str, object]:
        """Everything, for JSON."""
        ways = ("best", "average", "worst")
        return {
            "elements": self.n,
            "faults": [fault.as_dict() for fault in self.faults],
            "scores": self.figures(),
            "top": {str(n): dict(zip(ways, counts, strict=True)) for n, counts in self.top().items()},
            "lil": self.lil,
        }


def _spread(values: Sequence[float], *, more_is_better: bool = False) -> dict[str, float]:
    first, last = (max(values), min(values)) if more_is_better else (min(values), max(values))
    return {"first": float(first), "mean": float(np.mean(values)), "last": float(last)}

"""Summing up ranks of faults, one list for each technique."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import mean, median


def rank_figures(
    ranks: Mapping[str, Sequence[float]], seconds: Mapping[str, Sequence[float]], subject: str, top: Sequence[int]
) -> dict[str, dict[str, float]]:
    """The figures of each technique, printed as a row each; `subject` says what a rank is of."""
    figures = {
        name: {
            subject: len(several),
            "mean_rank": round(mean(several), 2),
            **{f"top_{n}": sum(rank <= n for rank in several) for n in top},
            **({"median_seconds": round(median(seconds[name]), 2)} if name in seconds else {}),
        }
        for name, several in ranks.items()
    }
    for name, row in figures.items():
        print(f"{name:20} {row}")
    return figures

"""How fast the chance that a statement is the fault falls with its rank: the exponent a of 1 / rank^a.

That is what the technique `investigation` assumes before any experiment. The exponent is the one that makes the ranks
of known faults most likely, for each family of subjects and for all. Ranks come from studies:

    suspectra study --corpus CORPUS --technique evidence --format csv -o ranks.csv
    python benchmarks/rank_prior.py ranks.csv [MORE.csv ...]
"""

from __future__ import annotations

import argparse
import csv
import json
from collections import defaultdict
from pathlib import Path

import numpy as np

EXPONENTS = np.arange(0.2, 3.0, 0.05)
Ranked = tuple[float, int]
"""The rank of a fault, and how many statements there are."""


def exponent(subjects: list[Ranked]) -> float:
    """The exponent under which these ranks are most likely."""
    likelihood = np.zeros(len(EXPONENTS))
    for rank, statements in subjects:
        normalized = (np.arange(1, statements + 1)[None, :] ** -EXPONENTS[:, None]).sum(axis=1)
        likelihood -= EXPONENTS * np.log(rank) + np.log(normalized)
    return round(float(EXPONENTS[likelihood.argmax()]), 2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("ranks", nargs="+", type=Path, help="what `suspectra study --format csv` wrote")
    families: dict[str, list[Ranked]] = defaultdict(list)
    for path in parser.parse_args().ranks:
        with path.open(newline="") as rows:
            for row in csv.DictReader(rows):
                families[row["family"]].append((float(row["rank_avg"]), int(row["n"])))
    everything = [one for subjects in families.values() for one in subjects]
    found = {name: exponent(subjects) for name, subjects in [*sorted(families.items()), ("all", everything)]}
    for name, value in found.items():
        subjects = families.get(name, everything)
        first, five = (np.mean([rank <= top for rank, _ in subjects]) for top in (1, 5))
        print(
            f"{name:12}{len(subjects):5} subjects   first {first:4.0%}   first five {five:4.0%}   exponent {value:.2f}"
        )
    print(json.dumps(found))


if __name__ == "__main__":
    main()

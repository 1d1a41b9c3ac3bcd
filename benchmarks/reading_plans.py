"""Whether a planned order of places leads to known faults in fewer steps than the ranking does.

Three readers look for the fault of each version. One goes down the ranking, and jumps where the next place is a
neighbour. One follows the plan (`suspectra markov --plan`). One is the reader of HT_Rank, who jumps and comes back at
random, and has the expected steps of the chain. A jump is one step, the way through the ranking two, from its top one;
places are counted, too. Ties are read in random order, the same for the first two readers, and figures are means over
some such orders. Also printed is how likely the faults are under the exponents that the plan could assume.

    python benchmarks/reading_plans.py                     # small programs with seeded faults, recorded anew
    python benchmarks/reading_plans.py CORPUS... [--technique evidence] [--orders 5]
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from faulty_subjects import FAULTS, LEFT_OUT, subjects

from suspectra.base.arrays import Ints
from suspectra.base.errors import SuspectraError
from suspectra.evaluation.config import EvidenceSubject
from suspectra.evaluation.corpus import Subject, read_index, read_subject
from suspectra.evaluation.significance import wilcoxon
from suspectra.markov.debugging_model import DebuggingModel
from suspectra.markov.reading_plan import EXPONENT, PlacesInOrder, fault_chances, plan_reading
from suspectra.techniques import make_technique

EXPONENTS = (1.0, 1.25, EXPONENT, 1.75, 2.0)


def recorded(families: list[str], cache: Path) -> Iterator[Subject]:
    """Programs of this repository, with the evidence of their tests."""
    for one in subjects(families, [], cache, None):
        folder = cache / "recorded" / one.family / one.folder.name
        if not folder.exists():
            shutil.copytree(one.folder, folder, ignore=LEFT_OUT)
            command = [sys.executable, "-m", "suspectra", "record", "--", sys.executable, "-m", "pytest", "-q"]
            subprocess.run(command, cwd=folder, capture_output=True, check=False, timeout=300)
        recording = folder / ".suspectra" / "recording"
        yield EvidenceSubject(one.family, one.name, folder, recording, None, None, folder / FAULTS).read()


def versions(corpora: list[Path], families: list[str], cache: Path) -> Iterator[Subject]:
    if not corpora:
        yield from recorded(families, cache)
    for corpus in corpora:
        for file in read_index(corpus)[0]:
            try:
                yield read_subject(file)
            except SuspectraError as error:
                print(f"left out: {error.problem}", file=sys.stderr)


def found_at(reading: PlacesInOrder, faulty: Ints) -> tuple[int, int]:
    """Places and steps until the first fault."""
    place = int(np.flatnonzero(np.isin(reading.order, faulty))[0])
    return place + 1, int(reading.steps[: place + 1].sum())


def measure(subject: Subject, technique: str, orders: int) -> tuple[list[float], list[float]]:
    """Places and steps by ranking, by plan, and steps of the reader of HT_Rank; and the likelihoods."""
    report = make_technique(technique).localize(subject.spectrum, subject.program)
    model = DebuggingModel.from_report(report, subject.program)
    faulty = np.flatnonzero(np.isin(model.elements, subject.faulty))
    if not len(faulty):
        raise LookupError("no fault is ranked")
    chance = fault_chances(report, model.elements)
    found = []
    for seed in range(orders):
        # the last bits of a chance decide between places of a tie
        shuffled = chance * (1 - 1e-12 * np.random.default_rng(seed).permutation(len(chance)) / len(chance))
        plan = plan_reading(model.chain, shuffled)
        found.append((*found_at(plan.by_ranking, faulty), *found_at(plan, faulty)))
    likely = [fault_chances(report, model.elements, one) for one in EXPONENTS]
    walked = float(model.expected_steps[subject.faulty].min())
    return [*np.mean(found, axis=0).tolist(), walked], [float(np.log(one[faulty].sum() / one.sum())) for one in likely]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpora", nargs="*", type=Path)
    parser.add_argument("--technique", default="evidence")
    parser.add_argument("--orders", type=int, default=5)
    parser.add_argument("--programs", action="append", help="families of faulty_subjects.py, instead of a corpus")
    parser.add_argument("--cache", type=Path, help="where recordings are kept")
    options = parser.parse_args()
    rows: dict[str, list[list[float]]] = {}
    likely: dict[str, list[list[float]]] = {}
    with tempfile.TemporaryDirectory() as scratch:
        for subject in versions(
            options.corpora, options.programs or ["small", "classic"], options.cache or Path(scratch)
        ):
            try:
                figures, own = measure(subject, options.technique, options.orders)
            except (SuspectraError, LookupError) as error:
                print(f"left out: {subject.name}: {error}", file=sys.stderr)
                continue
            rows.setdefault(subject.family, []).append(figures)
            likely.setdefault(subject.family, []).append(own)
    if len(rows) > 1:
        rows["all"] = [one for own in rows.values() for one in own]
    print(f"{'':12}{'':>5}{'places':>16}{'steps':>24}{'steps: plan':>20}")
    print(f"{'':12}{'n':>5}{'rank':>8}{'plan':>8}{'rank':>8}{'plan':>8}{'HT*':>8}{'better':>8}{'worse':>6}{'p':>9}")
    everything = {}
    for family, figures_of in rows.items():
        place, step, planned_place, planned, walked = np.array(figures_of).T
        better, worse = int((planned < step).sum()), int((planned > step).sum())
        p = wilcoxon(planned, step).p_value
        means = [float(one.mean()) for one in (place, planned_place, step, planned)]
        print(
            f"{family:12}{len(figures_of):>5}"
            + "".join(f"{one:>8.1f}" for one in means)
            + f"{np.median(walked):>8.3g}{better:>8}{worse:>6}{p:>9.2g}"
        )
        names = ("places_rank", "places_plan", "steps_rank", "steps_plan")
        everything[family] = {**dict(zip(names, means, strict=True)), "better": better, "worse": worse, "p": p}
    print("* the median, since one fault far down the ranking decides the mean")
    by_family = np.mean([np.mean(own, axis=0) for own in likely.values()], axis=0)
    told = ", ".join(f"r^-{one:g} {value:.3f}" for one, value in zip(EXPONENTS, by_family, strict=True))
    print(f"mean log-likelihood of the faults, families weighing the same: {told}")
    print(json.dumps({"technique": options.technique, "families": everything}))


if __name__ == "__main__":
    main()

"""What an investigation finds: lines while it lasts, and the whole as one JSON object."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TextIO

from suspectra.base.english import every
from suspectra.output.rankings.ranking import Listing
from suspectra.output.terminal import Style, safe
from suspectra.output.time_bar import Bar
from suspectra.techniques.experiments.findings import FindingsReport
from suspectra.techniques.experiments.investigation import InvestigationReport
from suspectra.techniques.experiments.mutant_results import MutantReport
from suspectra.techniques.experiments.value_predicates import ValuePredicatesReport

if TYPE_CHECKING:
    from suspectra.runs.experiment import Experiment


class InvestigationProgress(Bar):
    """Lines for what is found, and on a terminal a bar below them.

    A statement gets a line as soon as a test passes, another one if all tests pass with one alteration, and at the end
    one that says how many do, if these have become more meanwhile.
    """

    def __init__(self, out: TextIO, failing: int, line_of: Callable[[str, int], int]):
        super().__init__(out)
        self._failing, self._line_of = failing, line_of
        self._tests: dict[tuple[str, int], dict[str, set[str]]] = {}  # by place and what was altered
        self._written: dict[tuple[str, int], int] = {}
        self.style = Style(out)

    def found(self, experiment: Experiment) -> None:
        """Take a finding, and write it if it is news."""
        place = experiment.file, self._line_of(experiment.file, experiment.line)
        at_place = self._tests.setdefault(place, {})
        tests = at_place.setdefault(experiment.condition, set())
        tests.add(experiment.test)
        noticed = " (where it is noticed: an exception is raised behind it)" if experiment.guard else ""
        if place not in self._written:
            text = str(experiment).removeprefix(f"{experiment.file}:{experiment.line}: ")
            self._write(place, text + noticed, 1)
        elif len(tests) == self._failing > self._written[place]:
            self._write_best(place)

    def finish(self) -> None:
        """Remove the bar, and write how many tests pass where more do than was written."""
        self.clear()
        for place, at_place in self._tests.items():
            if max(map(len, at_place.values())) > self._written[place]:
                self._write_best(place)

    def _write_best(self, place: tuple[str, int]) -> None:
        condition, tests = max(self._tests[place].items(), key=lambda item: len(item[1]))
        several = every(self._failing) if len(tests) == self._failing else str(len(tests))
        self._write(place, f"{several} failing tests pass {condition}", len(tests))

    def _write(self, place: tuple[str, int], text: str, tests: int) -> None:
        self._written[place] = tests
        self.clear()
        self.out.write(f"{self.style(safe(f'{place[0]}:{place[1]}'), 'bold')}: {safe(text)}\n")
        self.out.flush()


def write_json(
    listing: Listing,
    tests: Sequence[str],
    experiments: Iterable[Experiment],
    out: TextIO,
    *,
    complete: bool,
    seconds: float,
) -> None:
    """Write the ranking with the findings, and all experiments."""
    found: dict[str, Any] = {
        "tests": list(tests),
        "suspects": list(_suspects(listing)),
        "experiments": [_entry(experiment) for experiment in experiments],
        "complete": complete,
        "seconds": round(seconds, 3),
    }
    out.write(json.dumps(found, indent=1, allow_nan=False) + "\n")


def _suspects(listing: Listing) -> Iterable[dict[str, Any]]:
    report = listing.report
    order = report.order if listing.top is None else report.top(listing.top)
    for element, entry in zip(order.tolist(), listing.entries(), strict=True):
        kept = {name: entry[name] for name in ("file", "line", "end_line", "rank_best", "rank_worst", "score")}
        with_words = (InvestigationReport, FindingsReport, MutantReport, ValuePredicatesReport)
        yield {**kept, "findings": report.in_words(element) if isinstance(report, with_words) else []}


def _entry(experiment: Experiment) -> dict[str, Any]:
    switched = experiment.kind == "switch"
    return {
        "test": experiment.test,
        "kind": experiment.kind,
        "file": experiment.file,
        "line": experiment.line,
        "instance": experiment.instance,
        "action": experiment.action if switched else experiment.detail or experiment.action,
        "operand": experiment.detail if switched else "",
        "outcome": experiment.outcome.value,
        "seconds": experiment.seconds,
    }

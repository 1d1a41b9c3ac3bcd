"""What one run of a failing test executes on each line, and the values there, in the order of the run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from suspectra.dependences.trace import DependenceTrace

_VALUES = ("value", "target", "parameter")
"""The kinds of places whose values a reader looks for: what is assigned, bound, returned, yielded or passed."""
_MAX_VALUES = 4  # values of a line that are shown
_FIRST = 2  # of more of them, the first ones and the last


@dataclass
class LineRun:
    """A line in one run."""

    values: list[str] = field(default_factory=list)  # in the order of the run
    outcomes: list[bool] = field(default_factory=list)  # how its decisions came out

    @property
    def text(self) -> str:
        """The values in short, or else how the decisions came out; empty for neither."""
        if self.values:
            # a function or a class that is handed on is named in the source already
            return ", ".join(_shortened([one for one in self.values if one[:1] != "<"] or self.values))
        counted = {word: self.outcomes.count(outcome) for word, outcome in (("true", True), ("false", False))}
        several = len(self.outcomes) > 1
        return ", ".join(f"{word} {count}×" if several else word for word, count in counted.items() if count)


def lines_of(trace: DependenceTrace) -> Mapping[tuple[str, int], LineRun]:
    """Collect what a run does on each line, by file and line."""
    lines: dict[tuple[str, int], LineRun] = {}
    for node, value in enumerate(trace.value):
        site = trace.sites[trace.graph.site[node]]
        # while modules are imported, and where a function is only defined, no line of the test runs
        if not int(trace.graph.instance[node]) or site.kind in ("entry", "default"):
            continue
        line = lines.setdefault((site.file, site.line), LineRun())
        if site.kind in _VALUES and value:
            line.values.append(value)
        elif site.kind == "decision" and int(trace.outcome[node]) >= 0:
            line.outcomes.append(bool(trace.outcome[node]))
    return lines


def _shortened(values: Sequence[str]) -> list[str]:
    """The first and the last of many values."""
    return list(values) if len(values) <= _MAX_VALUES else [*values[:_FIRST], "…", values[-1]]

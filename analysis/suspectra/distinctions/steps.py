"""Steps: what a reader can do to tell the statements of a tie apart, each in one sentence."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from suspectra.distinctions.executions import Pair
from suspectra.spectrum import Elements, Spectrum

_MAX_RANGES = 6  # ranges of lines that a sentence names


def gain(part: int, whole: int) -> float:
    """What a test tells that executes some statements of a tie and not the others, on average."""
    if not 0 < part < whole:
        return 0.0
    p = part / whole
    return -p * math.log2(p) - (1 - p) * math.log2(1 - p)


@dataclass(frozen=True)
class SameCoverage:
    """A passing test that executes what a failing one does, so that no coverage tells what is different."""

    pair: Pair  # the two tests
    kind = "same coverage"
    gain = None
    members = 0

    def sentence(self, spectrum: Spectrum) -> str:
        """What to do."""
        passing, failing = spectrum.tests[self.pair.passing], spectrum.tests[self.pair.failing]
        return (
            f"{passing} passes and executes the same as the failing {failing}: compare the values in these two tests."
        )


@dataclass(frozen=True)
class MissingOutcome:
    """A way out of a decision that no test takes."""

    element: int  # the decision, a member of the tie
    line: int | None  # where the way leads; None out of the function
    members: int  # how many members of the tie a test that goes this way is sure to execute
    avoided: tuple[int, ...]  # members of the same function that it need not execute
    gain: float | None  # in bits; None where it is not known where the way leads
    kind = "missing outcome"

    def sentence(self, spectrum: Spectrum) -> str:
        """What to do."""
        name = spectrum.elements.location(self.element).short
        if self.gain is None:
            return f"If possible, add a test that takes the other outcome at {name}, as none does."
        way = f"goes from {name} to line {self.line}" if self.line else f"leaves the function at {name}"
        past = f": it need not execute {_listed(spectrum.elements, self.avoided)}" if self.avoided else ""
        return f"If possible, add a test that {way}, as none does{past}."


@dataclass(frozen=True)
class DirectCall:
    """A test of a function that contains some members of the tie."""

    element: int  # the first member in it
    members: int  # how many members it contains
    tied: int  # how many members the tie has
    gain: float  # in bits
    kind = "direct call"

    def sentence(self, spectrum: Spectrum) -> str:
        """What to do."""
        name = spectrum.elements.function_name(self.element)
        name = name or f"the function of {spectrum.elements.location(self.element).short}"
        part = f"{self.members} of these {self.tied} statements"
        return f"If possible, add a test that calls {name} directly: it has {part}."


@dataclass(frozen=True)
class NearestTest:
    """The passing test that is most like a failing one, and where the two part."""

    pair: Pair  # the two tests
    # the decision where they part, or a statement that only the failing one executes; -1 where there is none
    element: int
    line: int | None  # where the failing test goes from the decision; None where no branches are known
    kind = "nearest test"
    gain = None
    members = 0

    def sentence(self, spectrum: Spectrum) -> str:
        """What to do."""
        passing, failing = spectrum.tests[self.pair.passing], spectrum.tests[self.pair.failing]
        begins = f"{passing} passes and is most like the failing {failing}: "
        share = f"{100 * self.pair.similarity:.0f} % of what they execute is the same"
        if self.element < 0:
            return f"{begins}{share}."
        name = spectrum.elements.location(self.element).short
        if self.line is None:
            return f"{begins}{share}, but {name} is not."
        return f"{begins}{share}, and they part at {name}, where only the failing one goes to line {self.line}."


Step = SameCoverage | MissingOutcome | DirectCall | NearestTest


def in_bits(step: Step, whole: float) -> str:
    """The gain of a step, in words.

    Such as `0.50 of 3.17 bits`; empty where the gain is not known.
    """
    return "" if step.gain is None else f"{step.gain:.2f} of {whole:.2f} bits"


def _listed(elements: Elements, members: Iterable[int]) -> str:
    """Several statements by their files and lines; those that follow each other as a range."""
    runs: list[list[int]] = []
    for member in members:
        if runs and member == runs[-1][-1] + 1 and elements.file[member] == elements.file[runs[-1][-1]]:
            runs[-1].append(member)
        else:
            runs.append([member])
    parts, file = [], -1
    for run in runs[:_MAX_RANGES]:
        first, last = int(elements.line[run[0]]), int(elements.line[run[-1]])
        lines = str(first) if first == last else f"{first}–{last}"
        same, file = file == int(elements.file[run[0]]), int(elements.file[run[0]])
        parts.append(lines if same else f"{elements.files[file].rpartition('/')[2]}:{lines}")
    more = sum(map(len, runs[_MAX_RANGES:]))
    return ", ".join(parts) + (f" and {more} more" if more else "")

"""What tells two fixes apart: an input for which they give different results, as a test to write."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from suspectra.base.deadline import TimeIsUp
from suspectra.base.errors import EvidenceError
from suspectra.fixes.candidate import together
from suspectra.fixes.fix import Fix
from suspectra.fixes.judge import JudgingTest
from suspectra_recorder.experiments.messages import ToldApart


@dataclass(frozen=True)
class Apart:
    """An input for which a fix gives another result than another fix."""

    call: str  # as Python writes it
    gives: str  # what it gives with this fix, or `raises` with the name of an exception
    other_gives: str
    module: str = ""  # where the function is defined, if a test can be written; empty otherwise

    def reversed(self) -> Apart:
        """The same for the other fix."""
        return Apart(self.call, self.other_gives, self.gives, self.module)

    @property
    def function(self) -> str:
        """The name of the function that is called."""
        return self.call.partition("(")[0]

    @property
    def test(self) -> str:
        """A test that this fix passes and the other one does not; empty where its values can't be written down."""
        if not self.module:
            return ""
        name = self.function
        begin = f"from {self.module} import {name}\n\n\ndef test_{name}_tells_fixes_apart():\n"
        kind, _, error = self.gives.partition(" ")
        if kind == "raises":
            return f"import pytest\n{begin}    with pytest.raises({error}):\n        {self.call}\n"
        sign = "is" if self.gives in ("None", "True", "False") else "=="
        return f"{begin}    assert {self.call} {sign} {self.gives}\n"


def apart(one: Fix, other: Fix, judges: Iterable[JudgingTest], seconds: float) -> Apart | None:
    """Find an input for which two fixes give different results, near those of some tests."""
    for judge in judges:
        try:
            told = judge.tells_apart([together(one.candidates), together(other.candidates)], seconds)
        except (TimeIsUp, EvidenceError):
            return None
        if told is not None and (found := _from_answer(told)) is not None:
            return found
    return None


def _from_answer(told: ToldApart) -> Apart | None:
    arguments = ", ".join(f"{name}={text}" for name, text in told["arguments"].items() if name not in ("self", "cls"))
    gives, other = told["gives"]
    if gives == other:  # what differs is nothing that can be shown
        return None
    module = told["module"] if told["can_be_written"] else ""
    return Apart(f"{told['function']}({arguments})", gives, other, module)

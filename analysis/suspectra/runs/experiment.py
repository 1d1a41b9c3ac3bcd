"""Experiments: what came of running a test again with one thing altered."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from suspectra.base.english import ordinal
from suspectra.runs.observation import VALUE_PREDICATES

EVERY = 0
"""As an instance: each time that the place was reached."""

THIS = "this"
"""As the place of a value: that of the whole statement."""

UNDO = "undo"
"""The kind that leaves out changes of the user: `suspectra changes` makes it, and no technique asks for it."""

SHIFT = "shift"
"""The kind that lets a value differ by as much in all failing tests: `suspectra why` makes one of runs with values."""

MOVE = "move"
"""As the place of a change: that its file was moved. The replacement is then where it was."""

GOING_WITH = "going with"
"""As the place of a change: that it is only undone with the one that broke a test, so it says nothing of its place."""

COMBINATION = "investigation"
"""The technique that uses experiments of every kind."""

KINDS: dict[str, tuple[str, ...]] = {
    COMBINATION: ("mutant", "switch", "value"),
    "switching": ("switch",),
    "value-replacement": ("value",),
    "muse": ("mutant",),
    "metallaxis": ("changing mutant",),
}
"""The techniques that need experiments, and the kinds that each needs, in the order in which they begin."""

COMPILED = (COMBINATION, "switching", VALUE_PREDICATES)
"""The techniques that run tests of C and C++ again, too; there, decisions are all that is altered."""

EVERY_MUTANT = "every mutant"
"""The kind that MUSE as published needs: mutants with passing tests, too, whatever they do to failing ones."""


class ExperimentOutcome(str, Enum):
    """How an altered run ended. The values are as the log has them."""

    PASSED = "passed"
    """The whole test passes, set-up and clean-up included, in a process of its own."""
    FAILED = "failed"
    SKIPPED = "skipped"
    """The test is skipped, or passes without the check that failed: its function is not called, or what it raises is
    caught, as when a decorator of the program around it is altered.
    """
    STEPS = "steps"
    """It made far more decisions than the failing run: it was probably caught in a loop."""
    TIMEOUT = "timeout"
    CRASHED = "crashed"
    """Its process ended without an answer."""
    NOT_REACHED = "not reached"
    """The place was not reached so often."""
    REFUSED = "refused"
    """It would have touched what is not its own, such as files of the workspace, and was ended."""

    @property
    def says_nothing(self) -> bool:
        """Whether nothing is known of the program that was altered."""
        return self in (ExperimentOutcome.NOT_REACHED, ExperimentOutcome.REFUSED)

    @property
    def repairs(self) -> bool:
        """Whether the failing test passes."""
        return self is ExperimentOutcome.PASSED


@dataclass(frozen=True)
class Experiment:
    """A test that was run again with one thing altered."""

    test: str  # its name, as the evidence has it
    kind: str  # what was done: `switch` a decision, put in another `value`, `shift` it by as much in all failing tests,
    # run a `mutant`, or `undo` a change
    file: str  # where it was done: relative to the workspace, forward slashes
    # the lines of what was altered, from 1, both included; of deleted text the line that follows, and the one before it
    line: int
    end_line: int
    column: int  # where it begins, in bytes from 0
    place: str  # what it is. A decision: `if`, `while`, `for`, `conditional`, `operand`, `comprehension` or `case`,
    # or of C such as `if condition`
    instance: int  # how many times the place had been reached, this one included; `EVERY` for each time
    # how a decision came out then: `true` or `false`, or `other` for the opposite of what it was each time, or the line
    # at which a `switch` of C went on; of changes, how many were undone together
    action: str
    outcome: ExperimentOutcome = (
        ExperimentOutcome.NOT_REACHED
    )  # how the test ended; as long as it was not run, `ExperimentOutcome.NOT_REACHED`
    seconds: float = 0.0  # how long it took
    guard: bool = False  # an arm of its `if` ends by raising: not to raise may hide the symptom alone
    # what was put in: the text of a value, or of a mutation such as `>` → `>=`; how a shifted value differs; since when
    # a change is there
    detail: str = ""
    # where a decision, or what a mutant replaces, ends, in bytes from 0; that column is not included
    end_column: int = 0
    replacement: str = ""  # of a mutant or a change: what replaces it, so that the text can be edited
    changed: bool = False  # the failing test still fails, with another exception or another message than unaltered

    @property
    def key(self) -> tuple[str, str, str, int, int, str, int, str, str]:
        """What was tried: only the newest experiment of a key counts."""
        how = self.action if self.kind == "switch" else self.detail
        return self.test, self.kind, self.file, self.line, self.column, self.place, self.instance, how, self.replacement

    @property
    def condition(self) -> str:
        """What was different, as the end of a sentence: ``if this comes out false the 3rd time``."""
        if self.kind == UNDO:
            others = int(self.action) - 1 if self.action.isdecimal() else 0
            deleted = self.replacement.strip() if self.end_line < self.line and self.place != MOVE else ""
            if not deleted:
                return f"without your change here{f' and {others} more' if others else ''}"
            what = f"the {len(deleted.splitlines())} lines" if "\n" in deleted else f"`{deleted}`"
            without = f", and without {others} more of your changes" if others else ""
            return f"with {what}, which you deleted here{without}"
        if self.kind == "mutant":
            return f"with {self.detail}"
        if self.kind == SHIFT:
            return f"if {self.place} is {self.detail}"
        if self.kind == "value":
            at = "" if self.instance == EVERY else f" the {ordinal(self.instance)} time"
            if not self.detail:
                return f"with {self.place}{at}"
            if self.place == THIS:
                return f"if this gives {self.detail}{at}"
            equals = "" if self.place.endswith("=") else " ="
            return f"with {self.place}{equals} {self.detail}{at}"
        if self.place == "for":
            return "if this loop has no round" if self.instance == EVERY else f"if this loop ends at {self._round}"
        how = "comes out the other way" if self.action == "other" else f"comes out {self.action}"
        if self.action.startswith("line "):
            how = f"goes on at {self.action}"
        what = f"`{self.detail}`" if self.detail else "this"
        if self.instance == EVERY:
            return f"if {what} {how}" + (" each time" if self.action == "other" else "")
        return f"if {what} {how} the {ordinal(self.instance)} time"

    @property
    def _round(self) -> str:
        return f"its {ordinal(self.instance)} round of the run"

    def __str__(self) -> str:
        ended = {
            ExperimentOutcome.PASSED: "passes",
            ExperimentOutcome.FAILED: "still fails",
            ExperimentOutcome.SKIPPED: "is skipped",
            ExperimentOutcome.STEPS: "makes too many decisions",
            ExperimentOutcome.TIMEOUT: "takes too long",
            ExperimentOutcome.CRASHED: "crashes",
            ExperimentOutcome.NOT_REACHED: "does not come here so often",
            ExperimentOutcome.REFUSED: "would touch what is not its own",
        }[self.outcome]
        return f"{self.file}:{self.line}: {self.test} {ended} {self.condition}"

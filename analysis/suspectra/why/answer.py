"""The answer to why tests fail, as a value without I/O."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

from suspectra.base.location import Location
from suspectra.fixes.kept_fixes import KeptEdits


class Certainty(Enum):
    """How much speaks for an answer, in words."""

    SHOWN = "certain"
    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


class Remedy(NamedTuple):
    """How an answer could be made surer: a sentence for each kind of reader, as they have different means."""

    in_terminal: str
    in_editor: str
    for_programs: str


MORE_TIME = Remedy(
    "Give it more time with --seconds.",
    "Give it more time with the setting suspectra.whySeconds.",
    "Give it more seconds.",
)


@dataclass(frozen=True)
class AnswerLine:
    """A line of the program in an answer, with what is said about it."""

    location: Location
    code: str  # its text, in one line
    value: str = ""  # what it gave in the failing run

    def to_json(self) -> dict[str, object]:
        """The line for other tools."""
        at = self.location
        return {"file": at.file, "line": at.line, "end_line": at.end_line, "code": self.code, "value": self.value}


@dataclass(frozen=True)
class AnswerChange:
    """A change in an answer."""

    location: Location  # in the present text
    before: tuple[str, ...]
    after: tuple[str, ...]
    moved_from: str = ""  # if it is that the file was moved: where it was

    def to_json(self) -> dict[str, object]:
        """The change for other tools."""
        at = self.location
        moved = {"moved_from": self.moved_from} if self.moved_from else {}
        return {"file": at.file, "line": at.line, "before": list(self.before), "after": list(self.after), **moved}


@dataclass(frozen=True)
class AnswerFix:
    """A change of the program with which the failing tests pass."""

    location: Location  # of the first statement that it changes
    lines: tuple[str, ...]  # what it removes and adds, each behind its sign; around what it only adds, what is there
    said: str  # which tests pass with it, in one sentence
    diff: str  # the same as a unified difference, which `git apply` takes
    edits: tuple[KeptEdits, ...]  # the same as edits of files
    number: int = 0  # by which the command for fixes writes it; 0 if it can't

    def is_at(self, statement: Location) -> bool:
        """Whether it changes a statement first."""
        at = self.location
        return at.file == statement.file and statement.line <= at.line <= statement.end_line

    def to_json(self) -> dict[str, object]:
        """The fix for other tools."""
        at = self.location
        return {"file": at.file, "line": at.line, "end_line": at.end_line, "said": self.said, "diff": self.diff}


@dataclass(frozen=True)
class WhyAnswer:
    """Why tests fail, as far as it is known."""

    tests: tuple[str, ...]  # the failing tests that it is about, by name
    failure: str  # how they fail, in one line
    conclusion: str  # one sentence
    certainty: Certainty
    because: str  # what the certainty rests on: the end of a sentence
    surer: Remedy | None = None  # what would raise it; None where nothing would
    suspect: AnswerLine | None = None  # the line that the conclusion is about
    changes: tuple[AnswerChange, ...] = ()  # the change that the conclusion is about
    first: Location | None = None  # the statement that rankings have first because of the change
    fix: AnswerFix | None = None  # a change with which the tests pass
    reasons: tuple[str, ...] = ()  # what speaks for it, in sentences, the strongest first
    chain_of: str = ""  # the test whose run the chain is of
    chain: tuple[AnswerLine, ...] = ()  # lines of this run, in their order
    leads_to_failure: bool = True  # whether it goes from the suspect to the failure; else from its inputs to it
    others: int = 0  # failing tests that it is not about
    another: str = ""  # one of these
    tried: tuple[str, ...] = field(default=())  # what was done, in the order in which it was

    @property
    def place(self) -> Location | None:
        """The line that it is about: what rankings have first, or the first of a change that they don't know."""
        if self.changes:
            return self.first or self.changes[0].location
        return self.suspect.location if self.suspect else None

    def to_json(self) -> dict[str, object]:
        """The answer for other tools."""
        return {
            "tests": list(self.tests),
            "failure": self.failure,
            "conclusion": self.conclusion,
            "certainty": self.certainty.value,
            "because": self.because,
            "surer": self.surer.for_programs if self.surer else "",
            "place": str(self.place) if self.place else None,
            "suspect": self.suspect.to_json() if self.suspect else None,
            "changes": [change.to_json() for change in self.changes],
            "fix": self.fix.to_json() if self.fix else None,
            "reasons": list(self.reasons),
            "chain_of": self.chain_of,
            "chain": [line.to_json() for line in self.chain],
            "leads_to_failure": self.leads_to_failure,
            "other_failing_tests": self.others,
            "tried": list(self.tried),
        }

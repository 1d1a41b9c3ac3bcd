"""What the server speaks beyond LSP: its commands, requests and notifications, declared once.

The server registers them from here, the documentation is generated from here, and tests hold the editor
extension's manifest against it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

STATUS = "suspectra/status"
SUSPECTS = "suspectra/suspects"
TECHNIQUES = "suspectra/techniques"


class State(str, Enum):
    """What the server is doing, or why there is nothing to show."""

    NO_EVIDENCE = "noEvidence"
    RANKING = "ranking"
    READY = "ready"
    NO_FAILING_TESTS = "noFailingTests"
    ERROR = "error"
    RUNNING_TESTS = "runningTests"
    STALE = "stale"


STATES = {
    State.NO_EVIDENCE: "No test run has been recorded here yet.",
    State.RANKING: "A ranking is being made. Sent only when it takes long enough to be noticed.",
    State.READY: "The ranking is current.",
    State.NO_FAILING_TESTS: "The last run has no failing test, so nothing is ranked.",
    State.ERROR: "The evidence can't be read; the last good ranking stays.",
    State.RUNNING_TESTS: "The tests are running.",
    State.STALE: "The sources changed since the tests ran. Marks move with the text; edited lines have lost theirs.",
}


@dataclass(frozen=True)
class Field:
    """One member of a message, for the reference."""

    name: str
    type: str
    text: str


@dataclass(frozen=True)
class Command:
    """A command for ``workspace/executeCommand``."""

    name: str
    title: str
    arguments: tuple[Field, ...]
    result: str
    text: str

    @property
    def id(self) -> str:
        """The identifier on the wire."""
        return f"suspectra.{self.name}"


_CURSOR = Field("cursor?", "{uri, position}", "Where the reader is. On a suspect, the step starts from that one.")
_URI = Field("uri", "string", "The document.")
_LINE = Field("line", "number", "A line of the document as it is in the editor, counted from 0.")
_STEP = "Location | null"

COMMANDS = (
    Command("localize", "Localize Fault", (), "null", "Read the evidence again and rank now."),
    Command(
        "nextSuspect",
        "Next Suspect",
        (_CURSOR,),
        _STEP,
        "Go to the next suspect in the order of the ranking, passing over examined ones; after the last comes the"
        " first. Without a cursor, or off any suspect, the step starts from the suspect visited last. Also asks the"
        " client to show it (`window/showDocument`) where it can.",
    ),
    Command(
        "previousSuspect",
        "Previous Suspect",
        (_CURSOR,),
        _STEP,
        "The same in the other direction.",
    ),
    Command(
        "firstSuspect",
        "First Suspect",
        (),
        _STEP,
        "Go to the most suspicious line that has not been examined.",
    ),
    Command(
        "explain",
        "Explain Suspect",
        (Field("uri?", "string", "The document."), Field("line?", "number", _LINE.text)),
        "{markdown, location} | null",
        "Why a line stands where it stands. Without arguments: the suspect visited last, or the first. A client that"
        " does not take `suspectra/status` also gets the text as `window/showMessage`.",
    ),
    Command(
        "markExamined",
        "Mark as Examined",
        (_URI, _LINE),
        "boolean",
        "Take a suspect off the marks: the reader has looked at it. True if there was one on that line.",
    ),
    Command("clearExamined", "Clear Examined Marks", (), "null", "Bring all examined suspects back."),
    Command(
        "selectTechnique",
        "Select Technique…",
        (
            Field("name?", "string", "A technique's name. Without one the server asks (`window/showMessageRequest`)."),
            Field("options?", "{cloneFailed?: boolean}", "Whether failing tests are cloned."),
        ),
        "string | null",
        "Rank with another technique until the setting is changed. The name of the technique now in use.",
    ),
    Command(
        "runTests",
        "Run Tests and Localize",
        (),
        "boolean",
        "Start `suspectra record -- testCommand` in each workspace folder, with a progress bar that can cancel it."
        " True once it has started. Refused in a workspace the client does not trust.",
    ),
)

SUSPECTS_RESULT = (
    Field("technique", "string", "Name of the technique in use."),
    Field("cloneFailed", "boolean", "Whether failing tests are cloned."),
    Field("passed, failed", "number", "Tests that passed and that failed."),
    Field("elements", "number", "Statements that were ranked."),
    Field("state", "State", "As in `suspectra/status`."),
    Field("problems", "{file, place, cause, cure}[]", "What is wrong with the evidence, and how to mend it."),
    Field("suspects", "Suspect[]", "Best first, at most `limit`."),
)

SUSPECT = (
    Field("uri, range", "DocumentUri, Range", "Where it is in the document as it is now."),
    Field("file", "string", "Relative to the workspace folder, with forward slashes."),
    Field("line, endLine", "number", "As it is now, counted from 1."),
    Field("function", "string", "Qualified name of the enclosing function, empty at module level."),
    Field(
        "score",
        "number",
        "Suspiciousness. JSON has no infinity: an infinite score is the largest double, with its sign.",
    ),
    Field("rankBest, rankAverage, rankWorst", "number", "The ranks its tie stretches over, and their mean."),
    Field("ef, ep, nf, np", "number", "Failing and passing tests that execute it, and that do not."),
    Field("failingTests", "string[]", "The failing tests that execute it."),
    Field("examined", "boolean", "Marked as examined."),
    Field("band", '"high" | "medium" | "low"', "Average rank up to 5, up to 10, beyond."),
)

STATUS_PARAMS = (
    Field("state", "State", "See below."),
    Field("message", "string", "One sentence for people."),
    Field("technique", "string", "Name of the technique in use."),
    Field("suspects", "number", "Suspects that can be shown."),
    Field("failed, passed", "number", "Tests that failed and that passed."),
)

TECHNIQUE = (
    Field("name", "string", "What `suspectra.selectTechnique` and the setting take."),
    Field("title", "string", "As the literature writes it."),
    Field("paper", "string", "Who published it."),
    Field("description", "string", "When to use it, and its formula."),
)

"""The settings: declared once, checked one by one, read from whatever a client sends."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from suspectra.errors import UsageError
from suspectra.markov.jumps import JumpModel
from suspectra.techniques import make_technique
from suspectra.techniques.formulas import FORMULAS
from suspectra.techniques.technique import Technique

SECTION = "suspectra"
NOTIFICATIONS = ("off", "onError", "onWarning", "always")
RESTRICTED = ("coverage", "junit", "testCommand", "testInterpreter", "cTests")
"""Settings that name files or programs: they are not used in a workspace that is not trusted."""
ORDERS = ("rank", "steps")


@dataclass(frozen=True)
class Settings:
    """The settings of one workspace folder, under their names on the wire in snake case."""

    technique: str = "ochiai"
    clone_failed: bool = False
    top: int = 20
    order: str = "rank"
    p_jump: float = 0.5
    jump_weight_same_function: float = 1.0
    jump_weight_control_flow: float = 1.0
    jump_weight_calls: float = 1.0
    learn_jumps: bool = False
    include_tests: bool = False
    coverage: str = ""
    junit: str = ""
    test_command: tuple[str, ...] = ("pytest",)
    test_interpreter: str = ""
    affected_only: bool = False
    c_tests: tuple[str, ...] = ()
    code_lens: bool = True
    inlay_hints: bool = False
    diagnostics: bool = True
    show_notifications: str = "off"

    def make_technique(self) -> Technique:
        """The technique these settings name; `clone_failed` is for those that know clones."""
        clones = self.clone_failed and self.technique.partition("+")[0] in FORMULAS
        return make_technique(self.technique, **dict[str, Any]({"clone_failed": True} if clones else {}))

    def jump_model(self, p_jump: float | None = None) -> JumpModel:
        """How readers leave the ranking by these settings, or with a probability that was learned."""
        weights = self.jump_weight_same_function, self.jump_weight_control_flow, self.jump_weight_calls
        return JumpModel(self.p_jump if p_jump is None else p_jump, *weights)


def _technique(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("it must be a technique's name")
    try:
        make_technique(value)
    except UsageError as error:
        raise ValueError(f"{error.problem.cause}: {error.problem.cure}") from None
    return value


def _boolean(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError("it must be true or false")
    return value


def _count(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= 10_000:
        raise ValueError("it must be a whole number from 1 to 10000")
    return value


def _number(value: Any, highest: float) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= highest:
        raise ValueError(f"it must be a number from 0 to {highest:g}")
    return float(value)


def _probability(value: Any) -> float:
    return _number(value, 1)


def _weight(value: Any) -> float:
    return _number(value, 1000)


def _order(value: Any) -> str:
    if not isinstance(value, str) or value not in ORDERS:
        raise ValueError(f"it must be one of {', '.join(ORDERS)}")
    return value


def _path(value: Any) -> str:
    if not isinstance(value, str) or "\0" in value:
        raise ValueError("it must be a path")
    return value


def _command(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not value or not all(isinstance(word, str) and word for word in value):
        raise ValueError("it must be a list of words, such as ['pytest', '-q']")
    return tuple(value)


def _words(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(word, str) and word for word in value):
        raise ValueError("it must be a list of words, such as ['--ctest', 'build']")
    return tuple(value)


def _loudness(value: Any) -> str:
    if not isinstance(value, str) or value not in NOTIFICATIONS:
        raise ValueError(f"it must be one of {', '.join(NOTIFICATIONS)}")
    return value


@dataclass(frozen=True)
class Setting:
    """One setting: its name on the wire, its type for the reference, its check, what it does."""

    name: str
    type: str
    check: Callable[[Any], Any]
    text: str

    @property
    def attribute(self) -> str:
        """The attribute of :class:`Settings`."""
        return "".join(f"_{c.lower()}" if c.isupper() else c for c in self.name)

    @property
    def default(self) -> Any:
        """The default, as JSON has it."""
        value = next(field.default for field in fields(Settings) if field.name == self.attribute)
        return list(value) if isinstance(value, tuple) else value


SETTINGS = (
    Setting(
        "technique",
        "string",
        _technique,
        "The technique that ranks the suspects, by its name; `NAME+NAME` lets a second one order what the first ties.",
    ),
    Setting(
        "cloneFailed",
        "boolean",
        _boolean,
        "Weigh the failing tests as if there were as many of them as passing ones.",
    ),
    Setting(
        "top",
        "integer",
        _count,
        "How many suspects to show. Where that ends within a tie, the last ones say how many more have the same score.",
    ),
    Setting(
        "order",
        '"rank" | "steps"',
        _order,
        "The order of suspects, and of the steps from one to the next: by rank, or by the expected number of steps of a"
        " reader who also looks around (see the debugging model).",
    ),
    Setting(
        "pJump",
        "number",
        _probability,
        "How likely a reader goes from a line to a neighbour rather than back to the ranking, from 0 to 1. With 1"
        " nobody comes back, so there are no expected steps.",
    ),
    Setting(
        "jumpWeightSameFunction",
        "number",
        _weight,
        "How much the other lines of a function draw the reader of one of them, against the other two weights.",
    ),
    Setting(
        "jumpWeightControlFlow",
        "number",
        _weight,
        "How much what runs just before and after a line draws its reader.",
    ),
    Setting("jumpWeightCalls", "number", _weight, "How much the other end of a call draws a reader."),
    Setting(
        "learnJumps",
        "boolean",
        _boolean,
        "Learn `pJump` from your own moves between suspects. Two counts are kept on this machine, and sent nowhere;"
        " *Show Learned Jumps* shows them, *Reset Learned Jumps* forgets them.",
    ),
    Setting("includeTests", "boolean", _boolean, "Let test code be suspected too."),
    Setting(
        "coverage",
        "string",
        _path,
        "A coverage.py data file with dynamic contexts to rank from, relative to the workspace folder. Empty: use"
        " what `suspectra record` wrote.",
    ),
    Setting(
        "junit",
        "string",
        _path,
        "The JUnit XML file that belongs to the coverage file, relative to the workspace folder.",
    ),
    Setting(
        "testCommand",
        "array of strings",
        _command,
        "What *Run Tests and Localize* records: a command that runs pytest or unittest. Unless it is set, a project"
        " whose tests are of unittest and that has no word of pytest runs `python -m unittest`.",
    ),
    Setting(
        "testInterpreter",
        "string",
        _path,
        "The Python that runs the tests where `testCommand` begins with a bare `pytest` or `python`. Empty: the active"
        " virtual environment, `.venv` or `venv` in the workspace folder, the Python that runs the server, or the one"
        " on the `PATH`, whichever first has pytest.",
    ),
    Setting(
        "affectedOnly",
        "boolean",
        _boolean,
        "Of `testCommand`, run only tests that failed last time, are new, or that what changed since can reach.",
    ),
    Setting(
        "cTests",
        "array of strings",
        _words,
        "For C and C++: the options of `suspectra record-c` that *Run Tests and Localize* uses instead, such as"
        ' `["--make", "cmake --build build", "--ctest", "build"]`. Empty: `testCommand`, or where C or C++ was recorded'
        " last, CTest in the build folder of the workspace; so too where nothing was recorded yet, `testCommand` is not"
        " set, and there is no test of Python.",
    ),
    Setting("codeLens", "boolean", _boolean, "Show rank and score above the most suspicious functions."),
    Setting("inlayHints", "boolean", _boolean, "Show the rank at the end of each suspicious line."),
    Setting("diagnostics", "boolean", _boolean, "Mark suspicious lines."),
    Setting(
        "showNotifications",
        '"off" | "onError" | "onWarning" | "always"',
        _loudness,
        "Which messages nobody asked for may appear as notifications. A client that does not take"
        " `suspectra/status` has no other way to learn of problems: unless it sets this, it gets errors and warnings.",
    ),
)


def read_settings(given: Mapping[str, Any], base: Settings | None = None) -> tuple[Settings, list[str]]:
    """Settings from what a client sent.

    Parameters
    ----------
    given : mapping
        Values by their names on the wire. None counts as not given; names that are not the server's are the
        client's own affair.
    base : Settings, optional
        What holds for settings that are not given.

    Returns
    -------
    Settings
    list of str
        What is wrong with values that were not taken, a sentence each.
    """
    taken, complaints = {}, []
    for setting in SETTINGS:
        value = given.get(setting.name)
        if value is None:
            continue
        try:
            taken[setting.attribute] = setting.check(value)
        except ValueError as error:
            complaints.append(
                f"The setting {SECTION}.{setting.name} is not usable ({error}), so its default holds:"
                f" {json.dumps(setting.default)}"
            )
            taken[setting.attribute] = getattr(Settings(), setting.attribute)
    return replace(base or Settings(), **taken), complaints


def section_of(sent: Any) -> Mapping[str, Any]:
    """The settings inside what a client sent: under ``suspectra``, or at the top."""
    if not isinstance(sent, Mapping):
        return {}
    inner = sent.get(SECTION)
    return inner if isinstance(inner, Mapping) else sent

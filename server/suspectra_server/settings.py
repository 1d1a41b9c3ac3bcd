"""The settings: declared once, checked one by one, read from whatever a client sends.

A setting is an option of the command line or of the recorder, with more for editors: its scope, its heading, and
whether it names files or programs. The reference and the texts in VS Code's settings editor are generated from the
declarations (docs/generate.py).
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

from suspectra.base.errors import UsageError
from suspectra.base.options import (
    CALLS,
    CAUSES_SECONDS,
    CHANGES_SECONDS,
    CLONE_FAILED,
    COBERTURA,
    CONTROL_FLOW,
    COPY,
    COVERAGE,
    EXCLUDE_MARKERS,
    FIX_SECONDS,
    FORKS,
    GCOV,
    GCOVR,
    HIDE_VALUES,
    INCLUDE_TESTS,
    INVESTIGATION_SECONDS,
    JUNIT,
    KEEP_TEXTS,
    LCOV,
    OUTCOMES,
    P_JUMP,
    PATHS_SECONDS,
    SAME_FUNCTION,
    TECHNIQUE,
    WHY_SECONDS,
)
from suspectra.markov.jumps import JumpModel
from suspectra.techniques import make_technique
from suspectra.techniques.formulas import FORMULAS
from suspectra.techniques.technique import Technique
from suspectra_recorder.options import Option

SECTION = "suspectra"
Value: TypeAlias = bool | int | float | str | tuple[str, ...]
EVIDENCE = ("coverage", "junit", "gcov", "gcovr", "lcov", "cobertura", "outcomes")
"""The settings that name evidence; none of them is used unless it is set."""

GENERAL, EXPERIMENTS, ADVANCED = "Suspectra", "Experiments", "Advanced"
"""The headings of the settings."""


@dataclass(frozen=True)
class Settings:
    """The settings of one workspace folder, under their names on the wire in snake case."""

    technique: str = TECHNIQUE.default
    clone_failed: bool = CLONE_FAILED.default
    top: int = 20
    order: str = "rank"
    p_jump: float = P_JUMP.default
    jump_weight_same_function: float = SAME_FUNCTION.default
    jump_weight_control_flow: float = CONTROL_FLOW.default
    jump_weight_calls: float = CALLS.default
    learn_jumps: bool = False
    include_tests: bool = INCLUDE_TESTS.default
    coverage: str = COVERAGE.default
    junit: str = JUNIT.default
    gcov: str = GCOV.default
    gcovr: str = GCOVR.default
    lcov: str = LCOV.default
    cobertura: str = COBERTURA.default
    outcomes: str = OUTCOMES.default
    test_command: tuple[str, ...] = ()
    test_interpreter: str = ""
    affected_only: bool = False
    keep_texts: bool = KEEP_TEXTS.default
    run: str = "manual"
    c_tests: tuple[str, ...] = ()
    investigation_seconds: float = INVESTIGATION_SECONDS.default
    why_seconds: float = WHY_SECONDS.default
    causes_seconds: float = CAUSES_SECONDS.default
    paths_seconds: float = PATHS_SECONDS.default
    changes_seconds: float = CHANGES_SECONDS.default
    experiments_exclude_markers: tuple[str, ...] = EXCLUDE_MARKERS.default
    fix_seconds: float = FIX_SECONDS.default
    experiments_copy: bool = COPY.default
    experiments_forks: bool = FORKS.default
    experiments_hide_values: bool = HIDE_VALUES.default
    code_lens: bool = True
    inlay_hints: bool = False
    diagnostics: str = "first"
    show_notifications: str = "off"

    def make_technique(self) -> Technique:
        """The technique of these settings; `clone_failed` counts for formulas only."""
        clones = self.clone_failed and self.technique.partition("+")[0] in FORMULAS
        return make_technique(self.technique, clone_failed=clones)

    def evidence(self) -> dict[str, str]:
        """The evidence that the settings name, by the names of the settings; empty where it is to be found."""
        return {name: path for name in EVIDENCE if (path := getattr(self, name))}

    def jump_model(self, p_jump: float | None = None) -> JumpModel:
        """The model of how readers leave the ranking, with the probability of these settings or a learned one."""
        weights = self.jump_weight_same_function, self.jump_weight_control_flow, self.jump_weight_calls
        return JumpModel(self.p_jump if p_jump is None else p_jump, *weights)


Scope = Literal["window", "resource", "machine", "machine-overridable"]


@dataclass(frozen=True)
class Setting:
    """One setting."""

    option: Option  # its name, type, range, default, and what it does
    more: str = ""  # more text that only the setting needs, after the text of the option
    in_vscode: str = ""  # the text in VS Code, where that differs
    heading: str = GENERAL  # its group in the settings editor
    advanced: bool = False  # whether few people change it: VS Code lists it on request only
    scope: Scope = "window"  # where VS Code lets it be set
    # whether it names a file or a program, or when programs run; then a workspace that is not trusted can't set it
    names: Literal["", "file", "program"] = ""
    example: tuple[str, ...] = ()  # a value, for the message about one that can't be used

    @property
    def name(self) -> str:
        """Its name on the wire, below :data:`SECTION`."""
        first, *others = self.option.name.split("_")
        return first + "".join(word.capitalize() for word in others)

    @property
    def attribute(self) -> str:
        """The attribute of :class:`Settings`."""
        return self.option.name

    @property
    def default(self) -> Value | list[str]:
        """The default, as JSON has it."""
        value = self.option.default
        return list(value) if isinstance(value, tuple) else value

    @property
    def text(self) -> str:
        """What it does, in Markdown."""
        return f"{self.option.help} {self.more}".strip()

    @property
    def json_type(self) -> str:
        """Its type, as a JSON schema names it."""
        names = {bool: "boolean", int: "integer", float: "number", str: "string", tuple: "array"}
        return names[type(self.option.default)]

    @property
    def type(self) -> str:
        """Its type, as the reference names it."""
        values = " | ".join(map(json.dumps, self.option.values))
        return values or self.json_type.replace("array", "array of strings")

    def check(self, value: object) -> Value:
        """The value as :class:`Settings` has it.

        Raises ValueError when the value is not valid; the text says what it must be.
        """
        option = self.option
        if option.values:
            if not isinstance(value, str) or value not in option.values:
                raise ValueError(f"it must be one of {', '.join(option.values)}")
            return value
        if option == TECHNIQUE:
            return _technique(value)
        return _CHECKS[self.json_type](self, value)


def _technique(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError("it must be a technique's name")
    try:
        make_technique(value)
    except UsageError as error:
        raise ValueError(f"{error.problem.cause}: {error.problem.cure}") from None
    return value


def _boolean(_: Setting, value: object) -> bool:
    if not isinstance(value, bool):
        raise ValueError("it must be true or false")
    return value


def _range(setting: Setting) -> tuple[float, float]:
    least, most = setting.option.minimum, setting.option.maximum
    return -math.inf if least is None else least, math.inf if most is None else most


def _integer(setting: Setting, value: object) -> int:
    least, most = _range(setting)
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise ValueError(f"it must be an integer from {least:.0f} to {most:.0f}")
    return value


def _number(setting: Setting, value: object) -> float:
    least, most = _range(setting)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not least <= value <= most:
        raise ValueError(f"it must be a number from {least:g} to {most:g}")
    return float(value)


def _path(_: Setting, value: object) -> str:
    if not isinstance(value, str) or "\0" in value:
        raise ValueError("it must be a path")
    return value


def _words(setting: Setting, value: object) -> tuple[str, ...]:
    least = setting.option.minimum or 0
    if not isinstance(value, list) or len(value) < least or not all(isinstance(word, str) and word for word in value):
        raise ValueError(f"it must be a list of words, such as {list(setting.example)}")
    return tuple(value)


_CHECKS: Mapping[str, Callable[[Setting, object], Value]] = {
    "boolean": _boolean,
    "integer": _integer,
    "number": _number,
    "string": _path,
    "array": _words,
}


def _jump_weight(option: Option) -> Setting:
    """The weight of a kind of neighbour. It has a maximum, so that typing errors are noticed."""
    return Setting(option._replace(name=f"jump_weight_{option.name}", maximum=1000), heading=ADVANCED)


def _file(option: Option, more: str = "") -> Setting:
    """Evidence that another tool wrote."""
    text = f"It is relative to the workspace folder. {more}".strip()
    return Setting(option, more=text, scope="resource", names="file", advanced=True)


def _experiments(option: Option, example: tuple[str, ...] = (), *, advanced: bool = False) -> Setting:
    """What all experiments have in common."""
    named = option._replace(name=f"experiments_{option.name}")
    return Setting(named, heading=EXPERIMENTS, scope="resource", example=example, advanced=advanced)


def _seconds(option: Option, more: str = "", *, advanced: bool = True) -> Setting:
    """How long a kind of experiment may take."""
    limited = option._replace(minimum=1, maximum=3600)
    return Setting(limited, more=more, heading=EXPERIMENTS, scope="resource", advanced=advanced)


SETTINGS = (
    Setting(TECHNIQUE),
    Setting(CLONE_FAILED, advanced=True),
    Setting(
        Option(
            "top",
            Settings.top,
            "How many suspects to show: the three best lines of each of the first functions, and then the next lines"
            " by rank. A suspect says how many more lines have its score and are not shown.",
            minimum=1,
            maximum=10_000,
        )
    ),
    Setting(
        Option(
            "order",
            Settings.order,
            "The order of suspects, and of the steps from one to the next: by the ranks of their functions, or by the"
            " expected number of steps of a reader who also looks around (see the debugging model).",
            values={
                "rank": "The most suspicious function first, with its three best lines; further lines come last.",
                "steps": "Fewest expected steps first, for a reader who also looks around a line.",
            },
        ),
        advanced=True,
    ),
    Setting(INCLUDE_TESTS),
    Setting(
        COVERAGE,
        more="It is relative to the workspace folder. Empty: use the newest of what `suspectra record` and coverage.py"
        " wrote, also in several files that were not combined.",
        scope="resource",
        names="file",
    ),
    Setting(
        JUNIT,
        more="It is relative to the workspace folder. Empty: all JUnit reports in the workspace; each test counts as in"
        " the newest one that has it.",
        scope="resource",
        names="file",
        advanced=True,
    ),
    *(_file(option) for option in (GCOV, GCOVR, LCOV, COBERTURA)),
    _file(OUTCOMES, "Empty: `outcomes.json` in the folder, or beside the file, that is ranked from."),
    Setting(
        Option(
            "test_command",
            Settings.test_command,
            "The command that *Run Tests and Localize* records, as a list of arguments. It runs pytest or unittest."
            " Empty: pytest, started as in the last recorded run, by `pytest` or, as in the first run, by"
            " `python -m pytest`, which puts the folder on the path; or, in a project that uses unittest, mentions"
            " pytest nowhere and was not recorded by it, `python -m unittest`, or `python manage.py test` if it is one"
            " of Django.",
        ),
        scope="resource",
        names="program",
        example=("pytest", "-q"),
    ),
    Setting(
        Option(
            "test_interpreter",
            Settings.test_interpreter,
            "The Python that runs the tests if `#suspectra.testCommand#` begins with `pytest` or `python`, without a"
            " path. Empty: the active virtual environment, `.venv` or `venv` in the workspace folder, the Python that"
            " runs the server, or the one on the `PATH`; the first of them that has pytest. Altered and traced runs"
            " take the one that recorded the tests.",
        ),
        in_vscode="The Python that runs the tests if `#suspectra.testCommand#` begins with `pytest` or `python`,"
        " without a path. Empty: the environment selected in the Python extension, or the one that the setting"
        " `python.defaultInterpreterPath` names; otherwise the active virtual environment, `.venv` or `venv` in the"
        " folder, or the Python on the `PATH`; the first of them that has pytest. Altered and traced runs take the one"
        " that recorded the tests, unless one is set or selected.",
        scope="machine-overridable",
        names="program",
    ),
    Setting(
        Option(
            "affected_only",
            Settings.affected_only,
            "Of the tests of `#suspectra.testCommand#`, run only those that failed last time, that are new, or that a"
            " change since then can affect.",
        ),
        scope="resource",
    ),
    Setting(KEEP_TEXTS, scope="machine-overridable", advanced=True),
    Setting(
        Option(
            "run",
            Settings.run,
            "When tests run by themselves: those that failed, that are new, or that what you saved can affect. Only in"
            " a trusted workspace, only pytest and unittest, and only after a run that you started. A workspace can't"
            " set this.",
            values={
                "manual": "Never.",
                "onSave": "When you save a Python file. A newer save cancels the run.",
                "onIdle": "After a save, once you have not typed for three seconds.",
            },
        ),
        scope="machine",
        names="program",
    ),
    Setting(
        Option(
            "c_tests",
            Settings.c_tests,
            "For C and C++: the options of `suspectra record-c` that *Run Tests and Localize* uses instead, as a list"
            ' of arguments such as `["--make", "cmake --build build", "--ctest", "build"]`. Empty:'
            " `#suspectra.testCommand#`; or CTest in the build folder of the workspace, if C or C++ was recorded last,"
            " or if nothing was recorded yet, `#suspectra.testCommand#` is empty, and there are no Python tests.",
        ),
        scope="resource",
        names="program",
        example=("--ctest", "build"),
    ),
    Setting(
        Option(
            "code_lens",
            Settings.code_lens,
            "Show what can be done above failing tests, above the functions of the first suspects, and above those in"
            " which experiments found something.",
        )
    ),
    Setting(Option("inlay_hints", Settings.inlay_hints, "Show the rank at the end of each suspicious line.")),
    Setting(
        Option(
            "diagnostics",
            Settings.diagnostics,
            "Which suspicious lines have a diagnostic. The line in which a failing test failed has one in any case,"
            " unless diagnostics are off.",
            values={
                "first": "The first suspects only, one line for each function, as information.",
                "all": "All that are listed: the first ones as warnings, the last ones as hints.",
                "off": "None.",
            },
        ),
        in_vscode="Which suspicious lines are underlined and listed in the Problems panel. The line in which a failing"
        " test failed is in any case, unless this is off.",
    ),
    Setting(
        Option(
            "show_notifications",
            Settings.show_notifications,
            "Which messages may appear as notifications.",
            values={
                "off": "No notifications; messages go to the output channel and the status bar.",
                "onError": "Notifications for errors only.",
                "onWarning": "Notifications for errors and warnings.",
                "always": "All notifications.",
            },
        ),
        more="A client that does not support `suspectra/status` has no other way to learn of problems: by default it"
        " gets errors and warnings.",
        in_vscode="Which of Suspectra's messages may appear as notifications. The answer to a command you gave always"
        " appears.",
        scope="machine",
    ),
    _seconds(INVESTIGATION_SECONDS, "For *Find Out What Would Make It Pass* and *Test This Suspect*."),
    _seconds(WHY_SECONDS, advanced=False),
    _seconds(CAUSES_SECONDS),
    _seconds(FIX_SECONDS),
    _seconds(PATHS_SECONDS),
    _seconds(CHANGES_SECONDS),
    _experiments(EXCLUDE_MARKERS, example=("slow", "network")),
    _experiments(COPY, advanced=True),
    _experiments(FORKS, advanced=True),
    _experiments(HIDE_VALUES),
    Setting(
        P_JUMP, more="With 1 the reader never returns to the ranking, so there are no expected steps.", heading=ADVANCED
    ),
    _jump_weight(SAME_FUNCTION),
    _jump_weight(CONTROL_FLOW),
    _jump_weight(CALLS),
    Setting(
        Option(
            "learn_jumps",
            Settings.learn_jumps,
            "Learn `#suspectra.pJump#` from your own moves between suspects. Two counts are kept on this machine and"
            " sent nowhere; *Show Learned Jumps* shows them, *Reset Learned Jumps* forgets them.",
        ),
        heading=ADVANCED,
        scope="machine",
    ),
)

RESTRICTED = tuple(setting for setting in SETTINGS if setting.names)
"""Settings that name files or programs, or say when programs run: not used in a workspace that is not trusted."""


def read_settings(given: Mapping[str, object], base: Settings | None = None) -> tuple[Settings, list[str]]:
    """Settings from what a client sent.

    One sentence for each value that is not valid.
    """
    taken: dict[str, Any] = {}  # each setting checks the type of its value
    complaints = []
    for setting in SETTINGS:
        value = given.get(setting.name)
        if value is None:
            continue
        try:
            taken[setting.attribute] = setting.check(value)
        except ValueError as error:
            complaints.append(
                f"The setting {SECTION}.{setting.name} is not usable ({error}), so the default is used:"
                f" {json.dumps(setting.default)}"
            )
            taken[setting.attribute] = getattr(Settings(), setting.attribute)
    return replace(base or Settings(), **taken), complaints


def section_of(sent: object) -> Mapping[str, object]:
    """The settings in what a client sent: under ``suspectra``, or at the top level."""
    if not isinstance(sent, Mapping):
        return {}
    inner = sent.get(SECTION)
    return inner if isinstance(inner, Mapping) else sent

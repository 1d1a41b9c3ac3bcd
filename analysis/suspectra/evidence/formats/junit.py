"""Reading JUnit XML: how the tests of a run ended.

A test case's name can't be turned back into pytest's node id: parts are joined with dots that names contain too. So
pytest's own way forward is applied to every node id that is known, and the test case is looked up among the results.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import ParseError, XMLParser

from suspectra.base.errors import EvidenceError, Problem
from suspectra.evidence.boundary import Boundary
from suspectra.evidence.evidence import Verdict
from suspectra.evidence.failure_text import MAX_TEXT, Failure, python_failure
from suspectra.evidence.opening import open_evidence
from suspectra.evidence.sources import reason
from suspectra_recorder.log.colours import without_colours

MAX_REPORT = 2**30
_CHUNK = 2**16
_MAX_MESSAGE = 500
_REMAKE = "write it again with `pytest --junit-xml=results.xml`"

# pytest writes characters that are not allowed in XML as #xNN
_UNWRITABLE = re.compile("[^\t\n\r -\x7e\x80-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_ALL_PASSED = {"setup": "passed", "call": "passed", "teardown": "passed"}
# worst first: the verdict of a test with several reports
_WORST = (Verdict.FAILED, Verdict.ERROR, Verdict.XFAILED, Verdict.SKIPPED, Verdict.XPASSED, Verdict.PASSED)


@dataclass(frozen=True)
class Case:
    """One test case, with all its reports in the file."""

    # the names in the report; pytest's classname is the module and the classes, joined with dots
    classname: str
    name: str
    file: str = ""  # file of the test; empty unless the report has it (`junit_family=xunit1`)
    line: int = 0  # first line of the test, counted from 1; 0 unless the report has it
    verdict: Verdict = Verdict.PASSED  # how it ended
    # outcomes of `setup`, `call` and `teardown`, as far as the report has them
    phases: dict[str, str] = field(default_factory=dict)
    message: str = ""  # the first line of the first failure
    seconds: float = 0.0  # duration of all phases
    flaky: bool = False  # whether it was run again and passed
    crashed: bool = False  # whether its process crashed, so what it executed is lost
    failure: Failure | None = None  # the first failure, as far as the report describes it

    @property
    def key(self) -> tuple[str, str, str]:
        """Identifies the case in its report."""
        return self.file, self.classname, self.name

    def __str__(self) -> str:
        return f"{self.classname}.{self.name}" if self.classname else self.name

    def merged(self, other: Case) -> Case:
        """Merge two reports of one test: a failed call and a failed teardown, or a second run after a failure."""
        passed = self.verdict is other.verdict is Verdict.PASSED
        verdict = min(self.verdict, other.verdict, key=_WORST.index)
        phases = self.phases | {k: v for k, v in other.phases.items() if self.phases.get(k) != "failed"}
        return replace(
            self,
            verdict=verdict,
            phases=phases,
            message=self.message or other.message,
            seconds=self.seconds + other.seconds,
            # a passed test is only reported twice if it was run again, because its first run failed
            flaky=self.flaky or other.flaky or passed,
            crashed=self.crashed or other.crashed,
            failure=self.failure or other.failure,
        )


@dataclass(frozen=True)
class Report:
    """The content of a JUnit XML file."""

    cases: tuple[Case, ...]  # in the order of the run
    problems: tuple[Problem, ...] = ()  # what is wrong with the file


def read_junit(path: Path, name: str, boundary: Boundary | None = None) -> Report:
    """Read the outcomes in a JUnit XML file in one pass.

    Raises EvidenceError when the file can't be read, is not JUnit XML, or declares entities. If a file is damaged after
    its first test case, the cases before the damage are returned, with a problem.
    """
    builder = _Builder()
    parser = XMLParser(target=builder, forbid_dtd=True)
    problems: list[Problem] = []
    try:
        _feed(parser, path, boundary)
    except FileNotFoundError:
        cure = "make one with `pytest --junit-xml=results.xml`"
        raise EvidenceError(Problem(name, "", "there is no such file", cure)) from None
    except DefusedXmlException:
        cause = "it declares a document type or entities, which no test report needs"
        raise EvidenceError(Problem(name, "", cause, _REMAKE)) from None
    except ParseError as error:
        place = f"line {error.position[0]}, column {error.position[1] + 1}" if hasattr(error, "position") else ""
        cause = f"it is not well-formed XML ({str(error).split(':')[0]})"
        if not builder.cases:
            raise EvidenceError(Problem(name, place, cause, _REMAKE)) from None
        cause += f"; the {len(builder.cases)} test cases before that are used"
        problems.append(Problem(name, place, cause, _REMAKE))
    except (OSError, ValueError, LookupError) as error:
        raise EvidenceError(Problem(name, "", f"it can't be read: {reason(error)}", _REMAKE)) from None
    if not builder.is_report:
        raise EvidenceError(Problem(name, "", "it is XML, but not a JUnit report: it has no testsuite", _REMAKE))
    return Report(tuple(_merge(builder.cases)), tuple(problems))


def _feed(parser: XMLParser, path: Path, boundary: Boundary | None) -> None:
    with open_evidence(path, boundary, MAX_REPORT) as file:
        left = MAX_REPORT
        while data := file.read(_CHUNK):
            left -= len(data)
            if left < 0:
                raise ValueError(f"it is larger than {MAX_REPORT // 2**20} MB")
            parser.feed(data)
    parser.close()


def _merge(cases: Iterable[Case]) -> Iterable[Case]:
    merged: dict[tuple[str, str, str], Case] = {}
    for case in cases:
        merged[case.key] = merged[case.key].merged(case) if case.key in merged else case
    return merged.values()


class _Builder:
    """Receives the parser's events, and makes a `Case` for each testcase element."""

    def __init__(self) -> None:
        self.cases: list[Case] = []
        self.is_report = False
        self._case: Case | None = None
        self._text: _Text | None = None  # of the first failure
        self._attributes: dict[str, str] = {}

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        tag = tag.rpartition("}")[2]
        if tag in ("testsuite", "testsuites"):
            self.is_report = True
        elif tag == "testcase":
            self._case = _open_case(attributes)
        elif self._case is not None:
            change = _CHILDREN.get(tag)
            if change:
                self._case = self._case.merged(change(replace(self._case, seconds=0.0), attributes))
                first = self._case.failure is None and tag in ("failure", "error")
                self._text, self._attributes = (_Text(), attributes) if first else (None, {})

    def data(self, text: str) -> None:
        if self._text is not None:
            self._text.add(text)

    def end(self, tag: str) -> None:
        tag = tag.rpartition("}")[2]
        if self._text is not None and self._case is not None:
            text, attributes = str(self._text), self._attributes
            failure = python_failure(text, attributes.get("message", ""), attributes.get("type", ""))
            self._case = replace(self._case, message=self._case.message or _first_line(text), failure=failure)
            self._text = None
        if tag == "testcase" and self._case is not None:
            self.cases.append(self._case if self._case.phases else replace(self._case, phases=dict(_ALL_PASSED)))
            self._case = None

    def close(self) -> None:
        """Do nothing; the parser requires this method."""


class _Text:
    """Collects the start and the end of a text that comes in parts."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._size = 0

    def add(self, part: str) -> None:
        self._parts.append(part)
        self._size += len(part)
        if self._size > 4 * MAX_TEXT:
            text = str(self)
            self._parts = [text[: MAX_TEXT // 2], "\n", text[-MAX_TEXT // 2 :]]
            self._size = MAX_TEXT

    def __str__(self) -> str:
        return "".join(self._parts)


def _open_case(attributes: dict[str, str]) -> Case:
    line = attributes.get("line", "")
    try:
        seconds = float(attributes.get("time", 0) or 0)
    except ValueError:
        seconds = 0.0
    return Case(
        attributes.get("classname", ""),
        attributes.get("name", ""),
        attributes.get("file", "").replace("\\", "/"),
        int(line) + 1 if line.isascii() and line.isdigit() and len(line) < 9 else 0,  # pytest counts from 0
        seconds=seconds if 0 <= seconds < 1e9 else 0.0,
    )


def _failure(case: Case, attributes: dict[str, str]) -> Case:
    message = _first_line(attributes.get("message", ""))
    return replace(case, verdict=Verdict.FAILED, phases=_ALL_PASSED | {"call": "failed"}, message=message)


def _error(case: Case, attributes: dict[str, str]) -> Case:
    """pytest: setup or teardown failed, or a worker died. Other runners: the test raised something unexpected."""
    message = attributes.get("message", "")
    first = _first_line(message)
    if "crashed while running" in message:
        return replace(_failure(case, attributes), crashed=True)
    if message.startswith("failed on teardown"):
        phases = _ALL_PASSED | {"teardown": "failed"}
    elif message.startswith("failed on setup"):
        phases = {"setup": "failed"}
    elif message == "collection failure":
        phases = {"collect": "failed"}
    else:
        return _failure(case, attributes)
    return replace(case, verdict=Verdict.ERROR, phases=phases, message=first)


def _skipped(case: Case, attributes: dict[str, str]) -> Case:
    verdict = Verdict.XFAILED if attributes.get("type") == "pytest.xfail" else Verdict.SKIPPED
    return replace(case, verdict=verdict, phases={"call": "skipped"})


def _rerun(case: Case, _: dict[str, str]) -> Case:
    return replace(case, flaky=True)


_CHILDREN = {
    "failure": _failure,
    "error": _error,
    "skipped": _skipped,
    "flakyFailure": _rerun,
    "flakyError": _rerun,
}


def _first_line(message: str) -> str:
    return without_colours(message).strip().partition("\n")[0].strip()[:_MAX_MESSAGE]


def escaped(text: str) -> str:
    """Escape characters that are not allowed in XML, as pytest does."""
    return _UNWRITABLE.sub(lambda match: f"#x{ord(match[0]):02X}" if match[0] <= "\xff" else _wide(match[0]), text)


def _wide(character: str) -> str:
    return f"#x{ord(character):04X}"

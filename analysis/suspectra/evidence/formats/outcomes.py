"""Reading how tests ended, for coverage formats without outcomes: JUnit XML, JSON, or one line per test.

A fixture that raises counts as a failure: the code that it executed is the code to search. Skipped tests and expected
failures say nothing about the code, and are left out.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from defusedxml import DefusedXmlException, ElementTree

from suspectra.base.errors import EvidenceError, Problem
from suspectra.evidence.evidence import TestResult, Verdict
from suspectra.evidence.failure_text import Failure, c_failure
from suspectra.evidence.opening import read_evidence
from suspectra.evidence.sources import reason
from suspectra_recorder.log.colours import without_colours

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

    from suspectra.evidence.boundary import Boundary

Outcomes = Mapping[str, TestResult]

_WORDS = {
    "passed": Verdict.PASSED,
    "pass": Verdict.PASSED,
    "ok": Verdict.PASSED,
    "0": Verdict.PASSED,
    "failed": Verdict.FAILED,
    "fail": Verdict.FAILED,
    "not ok": Verdict.FAILED,
    "1": Verdict.FAILED,
    "error": Verdict.ERROR,
    "skipped": Verdict.SKIPPED,
    "xfailed": Verdict.XFAILED,
    "xpassed": Verdict.XPASSED,
}


def read_outcomes(path: str | os.PathLike[str], boundary: Boundary | None = None) -> dict[str, TestResult]:
    """Read the outcomes of a run.

    Raises EvidenceError when the file can't be read, or has something that is not a verdict.
    """
    path = Path(path)
    try:
        data = read_evidence(path, boundary)
    except (OSError, ValueError) as error:
        raise _error(path, "", f"it can't be read: {reason(error)}", "name a file that exists") from None
    if path.suffix == ".xml":
        return _junit(data, path)
    if path.suffix == ".json":
        return _json(data, path)
    return _text(data, path)


def failure_texts(path: str | os.PathLike[str]) -> list[str]:
    """Read the texts of failures in a JUnit report.

    Messages and texts; empty if the report can't be read.
    """
    try:
        root = parse_xml(read_evidence(path), path, "")
    except (OSError, ValueError, EvidenceError):
        return []
    return [text for tag in ("failure", "error") for found in root.iter(tag) for text in _texts(found)]


def read_failures(path: str | os.PathLike[str], boundary: Boundary | None = None) -> dict[str, Failure]:
    """Read where tests failed from a JUnit report.

    Failures by the name of the test in read_outcomes; empty if the report can't be read.
    """
    try:
        root = parse_xml(read_evidence(path, boundary), path, "")
    except (OSError, ValueError, EvidenceError):
        return {}
    found = {}
    for name, case in _cases(root):
        texts = [text for tag in ("failure", "error") for one in case.iter(tag) for text in _texts(one)]
        output = [text for tag in ("system-err", "system-out") for text in map(_text_of, case.iter(tag))]
        if texts and (failure := c_failure("\n".join([*texts, *output]))) is not None:
            found[name] = failure
    return found


def _text_of(element: Element) -> str:
    return "".join(element.itertext())


def _texts(found: Element) -> tuple[str, str]:
    return found.get("message", ""), "\n".join(found.itertext())


def parse_xml(data: bytes | str, path: str | os.PathLike[str], cure: str) -> Element:
    """Parse an XML document that is not trusted.

    Raises EvidenceError when it is not XML, or declares entities.
    """
    try:
        return ElementTree.fromstring(data)
    except DefusedXmlException as error:
        raise _error(path, "", f"it declares entities, which no report needs: {error}", cure) from None
    except (ElementTree.ParseError, ValueError, LookupError) as error:  # LookupError: unknown encoding
        raise _error(path, "", f"it is not XML: {error}", cure) from None


def _junit(data: bytes, path: Path) -> dict[str, TestResult]:
    root = parse_xml(data, path, "run the tests again and let them write it")
    result = {name: TestResult(name, *_verdict_of(case)) for name, case in _cases(root)}
    if not result:
        raise _error(path, "", "it contains no test", "write it with ctest --output-junit, or with the test program")
    return result


def _cases(root: Element) -> Iterator[tuple[str, Element]]:
    """The test cases of a report, each with the name of its test."""
    cases = [(case.get("classname", ""), case.get("name", ""), case) for case in root.iter("testcase")]
    count = Counter(name for _, name, _ in cases)
    for group, name, case in cases:
        yield name if count[name] == 1 or not group or group == name else f"{group}.{name}", case


def _verdict_of(case: Element) -> tuple[Verdict, None, dict[str, str], str, float]:
    verdict, message = Verdict.PASSED, ""
    for tag, meaning in (("skipped", Verdict.SKIPPED), ("failure", Verdict.FAILED), ("error", Verdict.ERROR)):
        found = case.find(tag)
        if found is not None:
            verdict = meaning
            message = _said(found.get("message") or found.text or "")
    if case.get("status") in ("disabled", "notrun"):
        verdict = Verdict.SKIPPED
    try:
        seconds = float(case.get("time") or 0)
    except ValueError:
        seconds = 0.0
    return verdict, None, {}, message, seconds


def _said(text: str) -> str:
    """The first line of a message; for GoogleTest, which starts with the location alone, all lines in one."""
    lines = [line.strip() for line in without_colours(text).strip().splitlines()]
    if lines and re.fullmatch(r"\S+:\d+", lines[0]):
        return " ".join(lines)[:300]
    return lines[0] if lines else ""


def _json(data: bytes, path: Path) -> dict[str, TestResult]:
    try:
        table = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise _error(path, "", f"it is not JSON: {error}", "write an object of test names and verdicts") from None
    if not isinstance(table, dict):
        raise _error(path, "", "it is not a JSON object", "write an object of test names and verdicts")
    return {name: TestResult(name, _verdict(str(word), path, name)) for name, word in table.items()}


def _text(data: bytes, path: Path) -> dict[str, TestResult]:
    result = {}
    for number, line in enumerate(data.decode("utf-8", "replace").splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        word, _, name = line.strip().partition(" ")
        if line.startswith("not ok "):
            word, name = "not ok", line[7:]
        result[name.strip()] = TestResult(name.strip(), _verdict(word, path, f"line {number}"))
    if not result:
        raise _error(path, "", "it contains no test", "write one line a test: the verdict, a space, the name")
    return result


def _verdict(word: str, path: Path, place: str) -> Verdict:
    verdict = _WORDS.get(word.lower())
    if verdict is None:
        known = ", ".join(sorted(verdict.value for verdict in Verdict))
        raise _error(path, place, f"{word!r} is not a verdict", f"write one of {known}")
    return verdict


def _error(path: str | os.PathLike[str], place: str, cause: str, cure: str) -> EvidenceError:
    return EvidenceError(Problem(str(path), place, cause, cure))

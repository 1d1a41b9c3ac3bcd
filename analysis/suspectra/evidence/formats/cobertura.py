"""Cobertura XML, one file for each test, as the format has only one profile without names of tests."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from suspectra.base.errors import EvidenceError, Problem
from suspectra.evidence.formats.line_tables import FileLines, LineSource, LineTable
from suspectra.evidence.formats.outcomes import parse_xml

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

    from suspectra.evidence.evidence import Evidence

_AGAIN = "write the report again"


class CoberturaSource(LineSource):
    """Cobertura reports, one for each test.

    Raises EvidenceError by read, also when `location` is a single report, as it can't tell tests apart.
    """

    suffixes = (".xml",)
    advice = "write one report a test into a folder, or use a format that keeps tests apart (lcov, suspectra record-c)"

    def read(self) -> Evidence:
        """Read the current state of the reports.

        Raises EvidenceError when it is a single file, or nothing of the folder can be read.
        """
        if self.location.is_file():
            cause = "a Cobertura report contains one profile of all tests together, which ranks nothing"
            raise EvidenceError(Problem(str(self.location), "", cause, self.advice))
        return super().read()

    def parse(self, path: Path) -> Mapping[str, LineTable]:
        """Read one report.

        Raises EvidenceError when it can't be read, is not XML, or not of this format.
        """
        root = parse_xml(self.content(path, _AGAIN), path, _AGAIN)
        if root.tag != "coverage":
            cause = f"it is not a Cobertura report: its root is <{root.tag}>"
            raise EvidenceError(Problem(str(path), "", cause, _AGAIN))
        roots = [element.text.strip() for element in root.iter("source") if element.text]
        table: dict[str, FileLines] = {}
        for at, element in enumerate(root.iter("class"), 1):
            source = self._resolve(element.get("filename", ""), roots)
            if source is None:
                continue
            try:
                _read_class(element, table.setdefault(source, FileLines()))
            except ValueError as error:
                raise EvidenceError(Problem(str(path), f"class {at}", f"odd value: {error}", _AGAIN)) from None
        return {"": table}

    def _resolve(self, name: str, roots: list[str]) -> str | None:
        """Resolve a file relative to the first of the report's roots where it exists, else to the first root."""
        if not name:
            return None
        candidates = [posixpath.join(root, name) for root in roots] or [name]
        found = [self._paths.resolve(candidate) for candidate in candidates]
        existing = (path for path in found if path and (Path(self.workspace) / path).is_file())
        return next(existing, next((path for path in found if path), None))


def _read_class(element: Element, file: FileLines) -> None:
    for method in element.iter("method"):
        numbers = [int(line.get("number", "")) for line in method.iter("line")]
        if numbers:
            file.functions[method.get("name", "")] = (min(numbers), max(numbers))
    for line in element.findall("lines/line"):
        number, hits = int(line.get("number", "")), int(line.get("hits", ""))
        file.lines[number] = max(hits, file.lines.get(number, 0))
        covered = re.search(r"\((\d+)/(\d+)\)", line.get("condition-coverage", ""))
        if covered and covered[1] in ("0", covered[2]):
            # which outcomes were taken is known only if all or none were
            for ordinal in range(int(covered[2])):
                file.branches[number, ordinal] = int(covered[1] != "0")

"""lcov tracefiles. One captured with ``--test-name`` separates tests by ``TN:`` lines."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from suspectra.base.errors import EvidenceError, Problem
from suspectra.evidence.c.demangling import demangled
from suspectra.evidence.formats.line_tables import FileLines, LineSource, LineTable

_AGAIN = "capture it again with lcov --capture --test-name NAME"


class LcovSource(LineSource):
    """Tracefiles: a single one with all tests by ``TN:``, or one for each test.

    In ``TN:``, lcov replaces characters other than letters, digits and underscores by underscores. Outcomes are looked
    up by either form of a name.
    """

    suffixes = (".info", ".lcov")
    advice = "capture each test with lcov --capture --test-name NAME and add the tracefiles up with lcov -a"

    def written(self, name: str) -> str:
        """The form of a test's name that lcov writes."""
        return re.sub(r"[^A-Za-z0-9_]", "_", name)

    def parse(self, path: Path) -> Mapping[str, LineTable]:
        """Read one tracefile.

        Raises EvidenceError when it can't be read, or is not of this format.
        """
        text = self.content(path, _AGAIN).decode("utf-8", "surrogateescape")
        tables: dict[str, dict[str, FileLines]] = {}
        test, file, records = "", None, 0
        for number, line in enumerate(text.splitlines(), 1):
            tag, colon, value = line.strip().partition(":")
            if tag == "TN" and colon:
                test = value.strip()
            elif tag == "SF" and colon:
                source = self._paths.resolve(value)
                # lines of a source outside are discarded, so that they are not added to another source
                table = tables.setdefault(test, {})
                file = table.setdefault(source, FileLines()) if source else FileLines()
                ordinals: dict[int, int] = {}
                records += 1
            elif tag == "end_of_record":
                file = None
            elif file is not None and colon:
                try:
                    _read(tag, value.split(","), file, ordinals)
                except (ValueError, IndexError):
                    cause = f"{line.strip()[:60]!r} is not a record of a tracefile"
                    raise EvidenceError(Problem(str(path), f"line {number}", cause, _AGAIN)) from None
        if not records:
            raise EvidenceError(Problem(str(path), "", "it is not an lcov tracefile: it names no source", _AGAIN))
        if file is not None:
            raise EvidenceError(Problem(str(path), f"line {number}", "it is cut off inside a record", _AGAIN))
        return tables


def _read(tag: str, fields: list[str], file: FileLines, ordinals: dict[int, int]) -> None:
    if tag == "DA":
        file.add(int(fields[0]), max(0, int(fields[1])))
    elif tag == "BRDA":
        line = int(fields[0])
        number = ordinals.get(line, 0)
        ordinals[line] = number + 1
        taken = 0 if fields[3] == "-" else int(fields[3])
        file.branches[line, number] = file.branches.get((line, number), 0) + taken
    elif tag == "FN":
        end = int(fields[1]) if len(fields) > 2 and fields[1].isdecimal() else 0
        name = ",".join(fields[2 if end else 1 :])
        file.functions[demangled(name)] = (int(fields[0]), end)

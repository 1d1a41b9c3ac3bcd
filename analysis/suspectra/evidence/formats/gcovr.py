"""gcovr's JSON report (``gcovr --json``), one file for each test.

gcovr documents its JSON format, but has no programming interface, and reads only reports of its own version. So this
module reads the format itself, in any version with the documented fields (0.5 and later).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from suspectra.base.errors import EvidenceError, Problem
from suspectra.evidence.c.demangling import demangled
from suspectra.evidence.formats.gcov_json import json_of, shaped
from suspectra.evidence.formats.line_tables import FileLines, LineSource, LineTable
from suspectra.evidence.source_paths import SourcePaths

_AGAIN = "write it again with gcovr --json"


class GcovrSource(LineSource):
    """Reader of gcovr's JSON, a file or folder for each test.

    The layout is that of :class:`~suspectra.evidence.formats.line_tables.LineSource`.
    """

    suffixes = (".json", ".json.gz")
    advice = "run gcovr --json TEST.json after each test, with the profiles deleted before it, or use record-c"

    def parse(self, path: Path) -> Mapping[str, LineTable]:
        """Read one report.

        Raises EvidenceError when it can't be read, or is not a report of `gcovr --json`.
        """
        document = json_of(self.content(path, _AGAIN), path, _AGAIN)
        version = document.get("gcovr/format_version") if isinstance(document, dict) else None
        if version is None or not isinstance(document.get("files"), list):
            cause = "it is not a report of gcovr --json (a summary has no lines)"
            raise EvidenceError(Problem(str(path), "", cause, _AGAIN))
        known = re.fullmatch(r"0\.(\d+)", str(version))
        if not known or int(known[1]) < 5:
            cause = f"its format {version} is not known; known is 0.5 on"
            raise EvidenceError(Problem(str(path), "gcovr/format_version", cause, "write it with gcovr 6 or later"))
        return {"": gcovr_table(document["files"], self._paths, path)}


def gcovr_table(files: Sequence[Any], paths: SourcePaths, path: Path) -> dict[str, FileLines]:
    """Convert the files of a report to lines of the workspace's sources.

    Raises EvidenceError when they have another form.
    """
    table: dict[str, FileLines] = {}
    for at, file in enumerate(files):
        with shaped(path, f"file {at + 1}", _AGAIN):
            source = paths.resolve(str(file["file"]))
            if source is not None:
                _read_file(file, table.setdefault(source, FileLines()))
    return table


def _read_file(file: Mapping[str, Any], into: FileLines) -> None:
    for function in file.get("functions", ()):
        name = str(function.get("demangled_name") or demangled(str(function["name"])))
        into.functions[name] = (int(function["lineno"]), 0)
    for line in file["lines"]:
        if line.get("gcovr/noncode") or line.get("gcovr/excluded"):
            continue
        number = int(line["line_number"])
        into.add(number, int(line["count"]))
        for ordinal, branch in enumerate(line.get("branches", ())):
            if branch.get("gcovr/excluded"):
                continue
            key = (number, ordinal)
            into.branches[key] = into.branches.get(key, 0) + int(branch["count"])

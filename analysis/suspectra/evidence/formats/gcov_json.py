"""gcov's own JSON (``gcov --json-format``), a folder of ``.gcov.json.gz`` files for each test.

gcc 9 to 13 write format 1, which has branch counts without block numbers; gcc 14 and later write format 2. Neither has
whole flow graphs: for edges between basic blocks, read the raw profiles (:mod:`suspectra.evidence.c.profiles`).
"""

from __future__ import annotations

import gzip
import io
import json
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from suspectra.base.errors import EvidenceError, Problem
from suspectra.evidence.c.demangling import demangled
from suspectra.evidence.formats.line_tables import FileLines, LineSource, LineTable
from suspectra.evidence.opening import MAX_EVIDENCE

_AGAIN = "run gcov --json-format -b again, into one folder a test"


class GcovJsonSource(LineSource):
    """Reader of gcov's JSON, a file or folder for each test.

    The layout is that of :class:`~suspectra.evidence.formats.line_tables.LineSource`.
    """

    suffixes = (".gcov.json.gz", ".gcov.json")
    advice = "after each test run gcov --json-format -b into a folder of its own, or use suspectra record-c"

    def parse(self, path: Path) -> Mapping[str, LineTable]:
        """Read the file of one object.

        Raises EvidenceError when it can't be read, or is not what gcov writes.
        """
        document = json_of(self.content(path, _AGAIN), path, _AGAIN)
        if not isinstance(document, dict) or not isinstance(document.get("files"), list):
            raise EvidenceError(Problem(str(path), "", "it is not gcov's JSON: it has no list of files", _AGAIN))
        version = str(document.get("format_version", "1"))
        if version not in ("1", "2"):
            cause = f"it is of format {version}, which is not known; known are 1 (gcc 9 to 13) and 2 (gcc 14 on)"
            raise EvidenceError(Problem(str(path), "format_version", cause, "update Suspectra"))
        folder = str(document.get("current_working_directory", ""))
        table: dict[str, FileLines] = {}
        for at, file in enumerate(document["files"]):
            with shaped(path, f"file {at + 1}", _AGAIN):
                source = self._paths.resolve(str(file["file"]), folder)
                if source is not None:
                    read_gcov_file(file, table.setdefault(source, FileLines()))
        return {"": table}


def read_gcov_file(file: Mapping[str, Any], into: FileLines) -> None:
    """Read the lines, branches and functions of one source, with gcov's field names."""
    for function in file.get("functions", ()):
        name = str(function.get("demangled_name") or demangled(function["name"]))
        into.functions[name] = (int(function["start_line"]), int(function.get("end_line", 0)))
    for line in file["lines"]:
        number = int(line["line_number"])
        into.add(number, int(line["count"]))
        for ordinal, branch in enumerate(line.get("branches", ())):
            key = (number, ordinal)
            into.branches[key] = into.branches.get(key, 0) + int(branch["count"])


class shaped:
    """Converts errors in a document's structure to problems that name their place."""

    def __init__(self, path: Path, place: str, cure: str):
        self.path, self.place, self.cure = path, place, cure

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type | None, error: BaseException | None, _: object) -> None:
        if isinstance(error, (KeyError, TypeError, ValueError, AttributeError, OverflowError)):
            missing = f"field {error} is missing" if isinstance(error, KeyError) else f"it has an odd value ({error})"
            raise EvidenceError(Problem(str(self.path), self.place, missing, self.cure)) from None


def json_of(data: bytes, path: Path, cure: str) -> Any:
    """Parse the content of a JSON file, compressed or not.

    Raises EvidenceError when it is empty, truncated, not JSON, or decompresses to more than a gigabyte.
    """
    if not data:
        raise EvidenceError(Problem(str(path), "", "it is empty", cure))
    try:
        if data[:2] == b"\x1f\x8b":
            with gzip.open(io.BytesIO(data)) as packed:
                data = packed.read(MAX_EVIDENCE + 1)
            if len(data) > MAX_EVIDENCE:
                raise EvidenceError(Problem(str(path), "", "it unpacks to more than a gigabyte", cure))
        return json.loads(data)
    except OSError as error:
        cause = f"it can't be read: {error.strerror or error}"
    except (EOFError, zlib.error):
        cause = "it is cut off"
    except (ValueError, RecursionError) as error:
        cause = f"it is not JSON: {error}"
    raise EvidenceError(Problem(str(path), "", cause, cure))

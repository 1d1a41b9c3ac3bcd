"""Finding the evidence of a workspace in its usual places."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING

from suspectra.base.errors import EvidenceError, NoEvidence, Problem, UsageError
from suspectra.evidence import places
from suspectra.evidence.boundary import Boundary
from suspectra.evidence.evidence import EvidenceSource
from suspectra.evidence.opening import open_evidence
from suspectra.evidence.places import parts_of
from suspectra_recorder.log.collection import CollectionError
from suspectra_recorder.log.frames import SUFFIX, Frame, LogDamage
from suspectra_recorder.log.reader import LogReader, RecordedTest

if TYPE_CHECKING:
    from suspectra.evidence.formats.coverage_source import CoverageSource

RECORDING = Path(".suspectra", "recording")
RECORDING_C = Path(".suspectra", "recording-c")
COVERAGE = Path(".coverage")
COVERAGE_JSON = Path("coverage.json")
C_LOG = "tests.log"
"""The file that only recordings of C and C++ tests have."""

FORMS = ("gcov", "gcovr", "lcov", "cobertura")
"""Formats with a profile for each test; how the tests ended is in another file."""

_BEGINNING = 1 << 20  # of a log: one without tests is much smaller


def find_source(
    workspace: Path,
    *,
    coverage: Path | str | None = None,
    junit: Path | str | None = None,
    recording: Path | str | None = None,
    edges: bool = False,
    flow: bool = False,
) -> EvidenceSource:
    """Find the evidence to use: the given one, else the newest.

    Parameters
    ----------
    workspace : Path
        Relative paths start here.
    coverage, junit : Path or str, optional
        A coverage.py data file, or a report of ``coverage json --show-contexts``, and a JUnit XML file, or a pattern of
        such files, of the same run. If only one is given, the other is searched.
    recording : Path or str, optional
        The folder of a recording, of Python or of C and C++.
    edges : bool
        Whether control-flow edges are needed; a recording reads them only on demand, since they take time.
    flow : bool
        The ranking is by control flow, which may be read from the sources while the recording is read.

    Returns
    -------
    EvidenceSource
        It has not been read yet.

    Raises
    ------
    NoEvidence
        When there is none; the problem says what to run.
    EvidenceError
        When one of the two is missing.

    Notes
    -----
    This only chooses the source; the source reads the evidence. Evidence that is not given is searched only inside the
    workspace, without following links that lead outside.

    Examples
    --------
    >>> find_source(folder, recording="old").watched() == [str(folder / "old")]
    True
    >>> find_source(folder)
    Traceback (most recent call last):
    suspectra.base.errors.NoEvidence: there is no evidence in … Fix: …
    """
    workspace = Path(workspace)
    boundary = Boundary(workspace)
    if recording is not None:
        if (workspace / recording / C_LOG).exists():
            return _c_recording_source(workspace, workspace / recording)
        return _recording_source(workspace, workspace / recording, edges, flow)
    if coverage is not None or junit is not None:
        return _coverage_source(workspace, coverage, junit)
    recorded, recorded_c = _recorded_at(boundary.real(RECORDING)), _modified(boundary.real(RECORDING_C / C_LOG))
    measured = _measured(workspace, boundary)
    covered = max(map(_modified, measured.data_files()), default=0) if measured else 0
    # a newer recording without tests must not hide older evidence that has some
    useful = recorded if not (covered or recorded_c) or _has_tests(boundary.real(RECORDING)) else 0
    # pytest-cov in pytest's own options writes data without contexts at the end of each recorded run
    if measured and covered > max(useful, recorded_c) and measured.reports() and measured.names_tests():
        return measured
    if recorded_c > useful:
        return _c_recording_source(workspace, None)
    if recorded:
        return _recording_source(workspace, None, edges, flow)
    if measured and measured.names_tests():
        return _complete(measured)
    for place in (RECORDING, RECORDING_C / C_LOG, COVERAGE):
        if boundary.real(place) is None:
            cause = "it leads out of the workspace, so it was not looked at"
            cure = "remove the link and record again, or name the files with --coverage and --junit"
            raise EvidenceError(Problem(place.as_posix(), "", cause, cure))
    # most projects that measure their coverage have such data: it is no error, and nothing was recorded yet
    coverage = f", and {measured.name} names no tests" if measured else f" nor {COVERAGE}"
    cause = (
        f"there is no evidence in {workspace.resolve()}: neither {RECORDING.as_posix()} nor {RECORDING_C.as_posix()}"
        f"{coverage}"
    )
    cure = (
        "run `suspectra record -- pytest`, for C and C++ `suspectra record-c`, or name the files with --coverage and"
        " --junit"
    )
    raise NoEvidence(Problem("", "", cause, cure))


def chosen_source(workspace: Path, chosen: Mapping[str, str]) -> EvidenceSource | None:
    """Make the source of evidence that is chosen by the names of options: `coverage`, `junit`, `outcomes`, and FORMS.

    None where nothing is chosen. It has not been read yet.

    Raises EvidenceError when the choices contradict each other, or one of them is missing.
    """
    data = [name for name in ("coverage", *FORMS) if chosen.get(name)]
    coverage, junit, outcomes = (chosen.get(name) or None for name in ("coverage", "junit", "outcomes"))
    if len(data) > 1 or (junit and outcomes):
        names = data if len(data) > 1 else ["junit", "outcomes"]
        cause = f"{' and '.join(names)} are both given, and only one of them can be used"
        raise EvidenceError(Problem("", "", cause, "empty the other setting"))
    if data and data[0] in FORMS:
        return foreign_c_source(workspace, data[0], chosen[data[0]], outcomes=outcomes or junit)
    if outcomes:
        cause = f"outcomes are given, but none of {', '.join(FORMS)}, which say what the tests executed"
        raise EvidenceError(Problem(outcomes, "", cause, "give one of them, or a report with junit"))
    return find_source(workspace, coverage=coverage, junit=junit) if coverage or junit else None


def foreign_c_source(
    workspace: Path,
    form: str,
    location: Path | str,
    *,
    outcomes: Path | str | None = None,
    build: Sequence[Path | str] = (),
    mapping: Iterable[str] = (),
) -> EvidenceSource:
    """Make a source of C or C++ evidence from other tools.

    It has not been read yet.

    Raises UsageError when `mapping` is not of that form.
    """
    from suspectra.evidence.source_paths import parse_mapping

    folders = parse_mapping(mapping)
    if form == "gcov":
        if _holds_profiles(Path(workspace, location)):
            from suspectra.evidence.c.profiles import GcovRawSource

            return GcovRawSource(workspace, location, outcomes=outcomes, build=build, mapping=folders)
        from suspectra.evidence.formats.gcov_json import GcovJsonSource

        return GcovJsonSource(workspace, location, outcomes=outcomes, mapping=folders)
    if form == "gcovr":
        from suspectra.evidence.formats.gcovr import GcovrSource

        return GcovrSource(workspace, location, outcomes=outcomes, mapping=folders)
    if form == "lcov":
        from suspectra.evidence.formats.lcov import LcovSource

        return LcovSource(workspace, location, outcomes=outcomes, mapping=folders)
    from suspectra.evidence.formats.cobertura import CoberturaSource

    return CoberturaSource(workspace, location, outcomes=outcomes, mapping=folders)


def _holds_profiles(folder: Path) -> bool:
    return any(name.endswith(".gcda") for _, _, names in os.walk(folder) for name in names)


def usual_places(workspace: Path) -> list[str]:
    """Return the paths and patterns at which evidence may appear that nothing names."""
    data = workspace / COVERAGE
    paths = (workspace / RECORDING, workspace / RECORDING_C / C_LOG, data, workspace / COVERAGE_JSON)
    return [*map(str, paths), parts_of(data)]


def chosen_places(workspace: Path, chosen: Mapping[str, str]) -> list[str]:
    """Return the paths and patterns at which the evidence is that :func:`chosen_source` is told."""
    named = [str(workspace / path) for path in chosen.values() if path]
    folders = [places.below(workspace / chosen[form]) for form in FORMS if chosen.get(form)]
    parts = [parts_of(workspace / chosen["coverage"])] if chosen.get("coverage") else []
    data = places_of_data(workspace) if chosen.get("junit") and not (folders or parts) else []
    return [*named, *folders, *parts, *data]


def places_of_data(workspace: Path) -> list[str]:
    """Return the paths and patterns of coverage.py's data, for which JUnit reports are needed."""
    data = workspace / COVERAGE
    return [str(data), str(workspace / COVERAGE_JSON), parts_of(data)]


def places_of_reports(workspace: Path) -> str:
    """Return the pattern of the JUnit reports in a workspace."""
    return str(workspace / places.REPORTS)


def _recording_source(workspace: Path, folder: Path | None, edges: bool, flow: bool) -> EvidenceSource:
    # imported on demand, since importing all readers would take longer
    from suspectra.evidence.recording import RecordingSource

    return RecordingSource(workspace, folder, edges=edges, flow=flow)


def _c_recording_source(workspace: Path, folder: Path | None) -> EvidenceSource:
    from suspectra.evidence.c.source import CRecordingSource

    return CRecordingSource(workspace, folder)


def _measured(workspace: Path, boundary: Boundary) -> CoverageSource | None:
    """Coverage.py's data in its usual places: the data file rather than a report, which has no branches."""
    has_file, has_parts = boundary.real(COVERAGE) is not None and os.path.lexists(workspace / COVERAGE), False
    if not has_file:
        has_parts = bool(places.found(parts_of(workspace / COVERAGE), boundary))
    # imported on demand, since importing all readers would take longer
    from suspectra.evidence.formats.coverage_json import is_report

    has_report = (report := boundary.real(COVERAGE_JSON)) is not None and is_report(Path(report))
    if not (has_file or has_parts or has_report):
        return None
    from suspectra.evidence.formats.coverage_source import CoverageSource

    found = CoverageSource(workspace, COVERAGE) if has_file or has_parts else None
    if found is None or (has_report and not found.names_tests()):
        other = CoverageSource(workspace, COVERAGE_JSON)
        return other if found is None or other.names_tests() else found
    return found


def _coverage_source(workspace: Path, coverage: Path | str | None, junit: Path | str | None) -> CoverageSource:
    from suspectra.evidence.formats.coverage_source import CoverageSource

    if coverage is None:
        boundary = Boundary(workspace)
        if boundary.real(COVERAGE) is None:
            cause = "it is a link that leads out of the workspace"
            raise EvidenceError(Problem(COVERAGE.as_posix(), "", cause, "name the file that you mean with --coverage"))
        found = _measured(workspace, boundary)
        coverage = found.coverage if found else COVERAGE
    return _complete(CoverageSource(workspace, Path(coverage), *([Path(junit)] if junit is not None else [])))


def _complete(source: CoverageSource) -> CoverageSource:
    """Refuse data that is not there, and data without a report."""
    if not any(map(os.path.lexists, source.data_files())):
        cure = "name a coverage.py data file; `pytest --cov --cov-context=test` makes one"
        raise EvidenceError(Problem(source.name, "", "there is no such file", cure))
    if source.names_tests() and not source.reports():
        cause = "it says what each test executed, but there is no JUnit XML beside it that says how the tests ended"
        cure = (
            "run `pytest --cov --cov-context=test --junit-xml=results.xml`, or name the report with --junit;"
            " `suspectra record -- pytest` needs neither"
        )
        raise EvidenceError(Problem(source.name, "", cause, cure))
    return source


def _recorded_at(folder: str | None) -> int:
    """When a recording was last modified, 0 if there is none."""
    if folder is None:
        return 0
    try:
        with os.scandir(folder) as entries:
            return max((entry.stat(follow_symlinks=False).st_mtime_ns for entry in entries), default=0)
    except OSError:
        return 0


def _has_tests(folder: str | None) -> bool:
    """Whether a recording of Python tells of tests, or why there are none: a pytest that finds none writes a log."""
    if folder is None:
        return False
    try:
        with os.scandir(folder) as entries:
            return any(_names_tests(entry) for entry in entries if entry.name.endswith(SUFFIX))
    except OSError:
        return False


def _names_tests(log: os.DirEntry[str]) -> bool:
    if not log.is_file(follow_symlinks=False):
        return False
    try:
        with open_evidence(log.path, limit=sys.maxsize, follow=False) as file:  # only its beginning is read
            data = file.read(_BEGINNING)
        reader = _Tests()
        reader.read(data, reader.until_found)
    except (OSError, ValueError, LogDamage):
        return True  # whoever reads it says what is wrong
    return reader.found or len(data) == _BEGINNING


class _Tests(LogReader):
    """Whether a log has a test, or something that could not be collected or read."""

    found = False

    def until_found(self, frames: Iterable[Frame]) -> Iterator[Frame]:
        return takewhile(lambda _: not self.found, frames)

    def on_test(self, test: RecordedTest) -> None:
        self.found = True

    def on_collection_error(self, error: CollectionError) -> None:
        self.found = True

    def on_damage(self, end: int, error: Exception) -> None:
        self.found = True


def _modified(path: Path | str | None) -> int:
    try:
        return 0 if path is None else os.stat(path).st_mtime_ns
    except OSError:
        return 0


def require_no_c(workspace: Path | str) -> None:
    """Refuse to choose tests of a workspace whose newest recording is of C or C++: they may have to be built first.

    Raises UsageError when it is.
    """
    try:
        is_c = recorded_by(find_source(Path(workspace))) == "record-c"
    except EvidenceError:
        return  # there is nothing to choose from
    if is_c:
        cause = "these are tests of C or C++, and which of them a change can affect is not known"
        raise UsageError(Problem("", "", cause, "build the program, and run `suspectra record-c` as before"))


def recorded_by(source: EvidenceSource | None) -> str:
    """Return the command that made a source's recording, ``record`` or ``record-c``.

    Empty for evidence of other tools, and for None.
    """
    return getattr(source, "recorded_by", "")


def run_again_by(source: EvidenceSource | None) -> tuple[str, ...]:
    """Return the command that runs the tests of a source's recording again."""
    return getattr(source, "command", ())

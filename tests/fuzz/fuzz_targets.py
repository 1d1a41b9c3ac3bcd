"""Every reader, as a function of bytes that somebody else wrote.

A target takes the bytes of one file and an empty folder. It may raise an `EvidenceError` or a `UsageError` with a
cause and a cure; anything else, and evidence that does not fit together, is a bug. The seeds of a target are the
files in ``corpus/NAME``, sound ones and those that once broke something.
"""

from __future__ import annotations

import io
import json
import struct
import zlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np

from suspectra.base.errors import EvidenceError, UsageError
from suspectra.evaluation.config import StudyConfig
from suspectra.evaluation.corpus import SubjectFile, read_index, read_subject
from suspectra.evaluation.faults import FaultList
from suspectra.evidence.c.source import CRecordingSource
from suspectra.evidence.evidence import Evidence, TestResult, Verdict
from suspectra.evidence.formats.cobertura import CoberturaSource
from suspectra.evidence.formats.coverage_source import CoverageSource
from suspectra.evidence.formats.gcov_json import GcovJsonSource
from suspectra.evidence.formats.gcovr import GcovrSource
from suspectra.evidence.formats.junit import read_junit
from suspectra.evidence.formats.lcov import LcovSource
from suspectra.evidence.formats.outcomes import read_outcomes
from suspectra.evidence.recording import RecordingSource
from suspectra.program.c.files import parse_notes, parse_profile
from suspectra.program.c.flow import CFlow
from suspectra.program.python.flow import PythonFlow
from suspectra.program.python.source import PythonSource
from suspectra.recording.merging import merge
from suspectra.selection.recorded_tests import recorded_tests
from suspectra.selection.selection import select
from suspectra_recorder.children.processes import ChildOfTest
from suspectra_recorder.instrumentation.cache import CodeCache, Instrumented
from suspectra_recorder.log.compaction import compact
from suspectra_recorder.log.frames import DAMAGE, FRAME, MAGIC
from suspectra_recorder.settings import RecordingSettings as RecorderSettings
from suspectra_server.session.navigation.learned_moves import LearnedMoves
from suspectra_server.settings import SETTINGS, read_settings
from suspectra_server.transport.wire import read_message

CORPUS = Path(__file__).with_name("corpus")
OUTCOMES = {"loops": TestResult("loops", Verdict.FAILED)}
JUNIT = (
    '<testsuite><testcase classname="t" name="test_one"><failure/></testcase>'
    '<testcase classname="t" name="test_two"/></testsuite>'
)
_KEY = bytes(32)

Target = Callable[[bytes, Path], None]
TARGETS: dict[str, Target] = {}


def target(function: Target) -> Target:
    TARGETS[function.__name__] = function
    return function


def run(name: str, data: bytes, folder: Path) -> None:
    """Give a target its bytes; a refusal must say what is wrong and what to do."""
    try:
        TARGETS[name](data, folder)
    except (EvidenceError, UsageError) as error:
        refused = error.problem
    else:
        return
    assert refused.cause, "a refusal without a cause"
    assert refused.cure, "a refusal without a cure"


def seeds(name: str) -> list[bytes]:
    return [path.read_bytes() for path in sorted((CORPUS / name).iterdir())]


def coherent(evidence: Evidence) -> None:
    """What is handed over fits together, and a spectrum can be made of it."""
    assert len(evidence.tests) == len(evidence.rows)
    for row in evidence.rows:
        assert (np.diff(row) > 0).all()
        assert not len(row) or 0 <= row[0] <= row[-1] < len(evidence.elements)
    for file in evidence.files:
        path = Path(file.path)
        assert not path.is_absolute(), file.path
        assert ".." not in path.parts, file.path
    assert (evidence.elements.line >= 1).all()
    for problem in evidence.problems:
        assert problem.cause
    evidence.spectrum(include_tests=True)


@target
def coverage(data: bytes, folder: Path) -> None:
    (folder / "a.py").write_text("def f(x):\n    if x:\n        return 1\n    return 2\n")
    (folder / ".coverage").write_bytes(data)
    (folder / "junit.xml").write_text(JUNIT)
    coherent(CoverageSource(folder, folder / ".coverage", folder / "junit.xml").read())


@target
def coverage_json(data: bytes, folder: Path) -> None:
    (folder / "a.py").write_text("def f(x):\n    if x:\n        return 1\n    return 2\n")
    (folder / "coverage.json").write_bytes(data)
    (folder / "junit.xml").write_text(JUNIT)
    coherent(CoverageSource(folder, folder / "coverage.json", folder / "junit.xml").read())


@target
def junit(data: bytes, folder: Path) -> None:
    (folder / "junit.xml").write_bytes(data)
    for case in read_junit(folder / "junit.xml", "junit.xml").cases:
        assert isinstance(case.name, str)


@target
def outcomes_xml(data: bytes, folder: Path) -> None:
    (folder / "o.xml").write_bytes(data)
    read_outcomes(folder / "o.xml")


@target
def outcomes_json(data: bytes, folder: Path) -> None:
    (folder / "o.json").write_bytes(data)
    read_outcomes(folder / "o.json")


@target
def outcomes_text(data: bytes, folder: Path) -> None:
    (folder / "o.txt").write_bytes(data)
    read_outcomes(folder / "o.txt")


@target
def recording(data: bytes, folder: Path) -> None:
    logs = folder / ".suspectra" / "recording"
    logs.mkdir(parents=True)
    (logs / "1.log").write_bytes(data)
    source = RecordingSource(folder, edges=True)
    try:
        coherent(source.read())
    finally:
        compact(str(logs), max_logs=0, min_waste=0)
        assert all(path.suffix == ".log" for path in logs.iterdir())


@target
def recording_frames(data: bytes, folder: Path) -> None:
    """The same with checksums that are right, so that what is behind them is reached."""
    recording(_summed(data), folder)


def _summed(data: bytes) -> bytes:
    out, at = bytearray(data[: len(MAGIC)]), len(MAGIC)
    while at + FRAME.size <= len(data):
        length, _, kind = FRAME.unpack_from(data, at)
        payload = data[at + FRAME.size : at + FRAME.size - 1 + max(1, min(length, len(data)))]
        out += FRAME.pack(len(payload) + 1, zlib.crc32(payload, zlib.crc32(bytes([kind]))), kind) + payload
        at += FRAME.size + len(payload)
    return bytes(out)


@target
def recording_c(data: bytes, folder: Path) -> None:
    logs = folder / ".suspectra" / "recording-c"
    logs.mkdir(parents=True)
    (logs / "tests.log").write_bytes(_c_summed(data))
    coherent(CRecordingSource(folder).read())


def _c_summed(data: bytes) -> bytes:
    at = data.find(b"\n") + 1
    out, head = bytearray(data[:at]), struct.Struct("<II")
    while at + head.size <= len(data):
        length, _ = head.unpack_from(data, at)
        payload = data[at + head.size : at + head.size + min(length, len(data))]
        out += head.pack(len(payload), zlib.crc32(payload)) + payload
        at += head.size + len(payload)
    return bytes(out)


@target
def memory(data: bytes, folder: Path) -> None:
    """What decides which tests to run again."""
    logs = folder / ".suspectra" / "recording"
    logs.mkdir(parents=True)
    (logs / "1.log").write_bytes(_summed(data))
    known = recorded_tests(logs)
    for version in known.versions():
        with suppress(*DAMAGE):
            version.masks()
    ran = [*known.tests.values(), *known.imported]
    for rows in [*(each.rows for each in ran), *known.shared.values()]:
        with suppress(ValueError, struct.error):
            assert all(number < len(rows.section.versions) for number in rows.touched())
            list(rows.bits())
    select(str(folder))


@target
def merged(data: bytes, folder: Path) -> None:
    """A folder of a recording that is merged with a sound one."""
    for name, log in (("one", _summed(data)), ("other", seeds("recording")[0])):
        (folder / name).mkdir()
        (folder / name / "1.log").write_bytes(log)
    merge(folder / "out", [folder / "one", folder / "other"])
    coherent(RecordingSource(folder, folder / "out").read())


@target
def child(data: bytes, folder: Path) -> None:
    """What a process that a test started left behind."""
    (folder / "1-x.log").write_bytes(_summed(data))
    (folder / "1-x.cells").write_bytes(data)
    for file in ChildOfTest(str(folder / "1-x.log"), 1, False).take()[0]:
        assert isinstance(file.path, str)


@target
def code_cache(data: bytes, folder: Path) -> None:
    """Instrumented code whose checksum is not right is not looked at."""
    cache = CodeCache(str(folder))
    cache.store("a.py", _KEY, Instrumented(compile("1", "a.py", "exec"), 8, b"map"))
    (stored,) = (path for path in folder.rglob("*") if path.is_file())
    whole = stored.read_bytes()
    stored.write_bytes(data)
    assert data == whole or cache.load("a.py", _KEY) is None


@target
def recorder_settings(data: bytes, folder: Path) -> None:
    RecorderSettings.from_json(data.decode("utf-8", "replace"))


@target
def python_source(data: bytes, folder: Path) -> None:
    for parse in (PythonSource.parse, PythonFlow.parse):
        with suppress(SyntaxError):
            parse(data)


@target
def framing(data: bytes, folder: Path) -> None:
    """The bytes a client sends, before they are messages."""
    stream = io.BytesIO(data)
    with suppress(ValueError):
        while (body := read_message(stream)) is not None:
            assert len(body) <= len(data)


@target
def gcov_notes(data: bytes, folder: Path) -> None:
    CFlow(parse_notes(data, "a.gcno").functions)


@target
def gcov_profile(data: bytes, folder: Path) -> None:
    notes = parse_notes(seeds("gcov_notes")[0], "a.gcno")
    profile = parse_profile(data, notes, "a.gcda")
    assert len(profile.counters) == notes.counters


def _line_reader(kind: type, suffix: str) -> Target:
    def read(data: bytes, folder: Path) -> None:
        (folder / f"loops{suffix}").write_bytes(data)
        coherent(kind(folder, folder / f"loops{suffix}", outcomes=OUTCOMES, mapping=[("/src/project", ".")]).read())

    return read


TARGETS["gcov_json"] = _line_reader(GcovJsonSource, ".json")
TARGETS["gcovr"] = _line_reader(GcovrSource, ".json")
TARGETS["lcov"] = _line_reader(LcovSource, ".info")


@target
def cobertura(data: bytes, folder: Path) -> None:
    reports = folder / "reports"
    reports.mkdir()
    (reports / "loops.xml").write_bytes(data)
    coherent(CoberturaSource(folder, "reports", outcomes=OUTCOMES, mapping=[("/src/project", ".")]).read())


@target
def corpus(data: bytes, folder: Path) -> None:
    (folder / "s.npz").write_bytes(data)
    subject = read_subject(SubjectFile("family", "name", folder / "s.npz"))
    assert all(0 <= i < len(subject.spectrum.elements) for i in subject.faulty)


@target
def corpus_index(data: bytes, folder: Path) -> None:
    (folder / "index.csv").write_bytes(data)
    files, _ = read_index(folder)
    assert all(file.path.resolve().is_relative_to(folder.resolve()) for file in files)


@target
def faults(data: bytes, folder: Path) -> None:
    (folder / "faults.txt").write_bytes(data)
    for places in FaultList.read(folder / "faults.txt").faults:
        assert all(1 <= place.first <= place.last for place in places)


@target
def study(data: bytes, folder: Path) -> None:
    (folder / "study.toml").write_bytes(data)
    StudyConfig.read(folder / "study.toml")


@target
def settings(data: bytes, folder: Path) -> None:
    """Every setting checks every value, and the default replaces what it does not take."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return
    given = value if isinstance(value, dict) else {setting.name: value for setting in SETTINGS}
    read, complaints = read_settings(given)
    assert read_settings({})[0] == read or len(complaints) < len(given)
    assert all(isinstance(complaint, str) for complaint in complaints)


@target
def learned(data: bytes, folder: Path) -> None:
    (folder / "learned.json").write_bytes(data)
    habit = LearnedMoves(folder / "learned.json").habit
    assert habit.jumps >= 0
    assert habit.returns >= 0

"""Reports of other tools on the same two runs: gcov's JSON, gcovr, lcov and Cobertura."""

import gzip
import json
import shutil
from pathlib import Path

import pytest

from suspectra.base.errors import EvidenceError
from suspectra.evidence.c.profiles import GcovRawSource
from suspectra.evidence.evidence import TestResult, Verdict
from suspectra.evidence.formats.cobertura import CoberturaSource
from suspectra.evidence.formats.gcov_json import GcovJsonSource
from suspectra.evidence.formats.gcovr import GcovrSource
from suspectra.evidence.formats.lcov import LcovSource
from suspectra.localizer import Localizer
from suspectra.program.statements import StatementKind
from suspectra.techniques import make_technique

REPORTS = Path(__file__).parents[1] / "fixtures" / "c_reports"
SOURCES = Path(__file__).parents[1] / "fixtures" / "c"
MAPPING = [("/src/project", ".")]
OUTCOMES = {"loops": TestResult("loops", Verdict.FAILED), "shares": TestResult("shares", Verdict.PASSED)}
FORMATS = {
    "gcov_json": (GcovJsonSource, "reports"),
    "gcovr": (GcovrSource, "reports"),
    "lcov": (LcovSource, "reports/all.info"),
    "cobertura": (CoberturaSource, "reports"),
}


@pytest.fixture(params=FORMATS)
def source(request, tmp_path):
    """A source over a copy of the reports of one format."""
    for name in ("flow.c", "other.c", "shared.h"):
        shutil.copy(SOURCES / name, tmp_path)
    shutil.copytree(REPORTS / request.param, tmp_path / "reports")
    kind, location = FORMATS[request.param]
    return kind(tmp_path, location, outcomes=OUTCOMES, mapping=MAPPING)


def executed(evidence):
    """For each test the lines it executed."""
    elements = evidence.elements
    return {
        test.name: {str(elements.location(int(i))) for i in row}
        for test, row in zip(evidence.tests, evidence.rows, strict=True)
    }


def cause(source):
    with pytest.raises(EvidenceError) as caught:
        source.read()
    assert caught.value.problem.cure
    return str(caught.value)


def test_every_format_says_the_same_as_the_raw_profiles(source, build_c, tmp_path_factory):
    program = build_c()
    profiles = tmp_path_factory.mktemp("profiles")
    for test, part in (("loops", "l5"), ("shares", "s5")):
        program.run(part, prefix=profiles / test)
    raw = GcovRawSource(program.workspace, profiles, outcomes=OUTCOMES).read()
    evidence = source.read()
    assert not evidence.problems
    assert executed(evidence) == executed(raw)
    assert [file.path for file in evidence.files] == ["flow.c", "other.c", "shared.h"]
    assert {file.path: file.line.tolist() for file in evidence.files} == {
        file.path: file.line.tolist() for file in raw.files
    }
    spectrum = evidence.spectrum()
    assert spectrum.failed.tolist() == [True, False]
    loops = spectrum.elements.at("flow.c", 15)
    assert spectrum.elements.function_name(loops) == "loops"


def test_branch_outcomes_become_edges_with_their_counts(source):
    evidence = source.read()
    edges = evidence.edges
    of_line = [i for i in range(len(edges.edges)) if edges.edges.source[i] == 18 and edges.edges.file[i] == 0]
    assert [int(edges.edges.target[i]) for i in of_line] == [-1, -2]
    taken = dict(zip(edges.rows[0].tolist(), edges.counts[0].tolist(), strict=True))
    counts = sorted(taken[i] for i in of_line)
    assert counts == ([1, 1] if isinstance(source, CoberturaSource) else [1, 3])
    assert not edges.graphs


def test_all_evidence_there_is_ranks_reports_of_every_format(source):
    report = Localizer(make_technique("evidence")).update(source.read())
    assert "tracebacks" in report.without
    elements = report.spectrum.elements
    (loops,) = (function for function in elements.functions if function.name == "loops")
    opening = elements.at("flow.c", loops.line)
    suspects = [suspect for suspect in report.suspects() if suspect.ef]
    assert report.suspect_of(opening).score == 0 < suspects[0].score
    kinds = {suspect.location.line: int(report.statements.kind[suspect.element]) for suspect in suspects}
    assert kinds[18] == StatementKind.DECISION


def test_reading_again_hands_over_the_same_objects(source):
    first, second = source.read(), source.read()
    assert all(a is b for a, b in zip(first.rows, second.rows, strict=True))
    assert first.elements is second.elements
    previous = first.spectrum()
    assert second.spectrum(previous=previous).rows[0] is previous.rows[0]


def test_missing_reports_and_outcomes_are_said(source):
    source._outcomes = {"loops": OUTCOMES["loops"], "never": TestResult("never", Verdict.FAILED)}
    evidence = source.read()
    assert [test.name for test in evidence.tests] == ["loops", "never"]
    assert len(evidence.rows[1]) == 0
    texts = " ".join(map(str, evidence.problems))
    assert "(test shares): it is not known how this test ended" in texts
    assert "no coverage of this test" in texts
    source._outcomes = "nowhere.json"
    assert "can't be read" in cause(source)


def test_sources_outside_the_workspace_are_left_out_and_said(source):
    kind = type(source)
    evidence = kind(source.workspace, source.location, outcomes=OUTCOMES).read()
    texts = " ".join(map(str, evidence.problems))
    if kind is GcovrSource:  # its paths are relative to its root
        assert len(evidence.files) == 3
    else:
        assert not evidence.files
        assert "/src/project/flow.c" in texts
        assert "/src/project=." in texts


def test_hostile_paths_stay_inside(tmp_path):
    document = {"gcovr/format_version": "0.15", "files": [], "data_sources": []}
    for path in ("../../etc/passwd", "/etc/passwd", "a\0b", "ok/../../x.c"):
        document["files"].append({"file": path, "lines": [{"line_number": 1, "count": 1}]})
    (tmp_path / "loops.json").write_text(json.dumps(document))
    evidence = GcovrSource(tmp_path, ".", outcomes=OUTCOMES).read()
    assert not evidence.files


DAMAGE = {
    "empty": b"",
    "noise": bytes(range(256)),
    "object": b"{}",
    "list": b"[1, 2",
    "deep": b"[" * 100_000,
    "entities": b'<?xml version="1.0"?><!DOCTYPE a [<!ENTITY b "c"><!ENTITY d "&b;&b;">]><coverage>&d;</coverage>',
    "record": b"SF:/src/project/flow.c\nDA:x,y\nend_of_record\n",
    "cut": b"TN:loops\nSF:/src/project/flow.c\nDA:1,2\n",
    "gzip": gzip.compress(b'{"files": []}')[:-9],
    "shape": b'{"files": [{"file": 3}], "gcovr/format_version": "0.15"}',
    "version": b'{"files": [], "gcovr/format_version": "7", "format_version": "9"}',
}


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("name", FORMATS)
def test_damaged_reports_are_problems(tmp_path, name, damage):
    kind, _ = FORMATS[name]
    folder = tmp_path / "reports"
    folder.mkdir()
    suffix = kind.suffixes[0]
    (folder / f"loops{suffix}").write_bytes(DAMAGE[damage])
    source = kind(tmp_path, folder / f"loops{suffix}" if name == "lcov" else "reports", outcomes=OUTCOMES)
    assert f"loops{suffix}" in cause(source)


def test_one_damaged_report_does_not_hide_the_others(tmp_path):
    shutil.copytree(REPORTS / "gcovr", tmp_path / "reports")
    (tmp_path / "reports" / "loops.json").write_bytes(b"{")
    evidence = GcovrSource(tmp_path, "reports", outcomes=OUTCOMES).read()
    assert executed(evidence)["shares"]
    assert any("is not JSON" in str(problem) for problem in evidence.problems)


def test_a_single_cobertura_report_ranks_nothing(tmp_path):
    shutil.copytree(REPORTS / "cobertura", tmp_path / "reports")
    assert "all tests together" in cause(CoberturaSource(tmp_path, "reports/loops.xml", outcomes=OUTCOMES))


def test_lcov_finds_outcomes_under_the_names_it_keeps(tmp_path):
    shutil.copytree(REPORTS / "lcov", tmp_path / "reports")
    text = (tmp_path / "reports" / "all.info").read_text().replace("TN:loops", "TN:suite_loops_1")
    (tmp_path / "reports" / "all.info").write_text(text)
    outcomes = {"suite/loops-1": TestResult("suite/loops-1", Verdict.FAILED), "shares": OUTCOMES["shares"]}
    evidence = LcovSource(tmp_path, "reports/all.info", outcomes=outcomes, mapping=MAPPING).read()
    assert {test.name for test in evidence.tests} == set(outcomes)


def test_gcovr_of_another_version_is_read_by_its_fields(tmp_path):
    shutil.copytree(REPORTS / "gcovr", tmp_path / "reports")
    for path in (tmp_path / "reports").iterdir():
        document = json.loads(path.read_text())
        document["gcovr/format_version"] = "0.9"
        path.write_text(json.dumps(document))
    assert executed(GcovrSource(tmp_path, "reports", outcomes=OUTCOMES).read())["loops"]

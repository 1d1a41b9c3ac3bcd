"""What no reader of evidence opens: pipes, devices, links out of the workspace, and endless files."""

import os
from pathlib import Path

import pytest

from suspectra.base.errors import EvidenceError
from suspectra.evidence.boundary import Boundary
from suspectra.evidence.discovery import foreign_c_source
from suspectra.evidence.formats.coverage_source import CoverageSource
from suspectra.evidence.formats.junit_reports import Reports
from suspectra.evidence.opening import MAX_EVIDENCE
from suspectra.recording.crash import not_run
from suspectra.recording.merging import merge
from suspectra.selection.changes import WorkspaceFiles
from suspectra.selection.recorded_tests import recorded_tests
from suspectra_recorder.log.frames import SUFFIX

NAMES = {"lcov": "t.info", "cobertura": "t.xml", "gcovr": "t.json", "gcov": "t.gcov.json"}


def pipe(path, outside):
    os.mkfifo(path)


def device(path, outside):
    path.symlink_to("/dev/zero")


def foreign(path, outside):
    secret = outside / "secret"
    secret.write_text("secret")
    path.symlink_to(secret)


def folder_elsewhere(path, outside):
    (outside / path.name).write_text("secret")
    path.parent.rmdir()
    path.parent.symlink_to(outside)


def endless(path, outside):
    with open(path, "wb") as file:
        file.truncate(MAX_EVIDENCE + 1)


KINDS = {
    pipe: "it is not a regular file",
    device: "leads out of the workspace",
    foreign: "leads out of the workspace",
    folder_elsewhere: "leads out of the workspace",
    endless: "it is larger than 1024 MB",
}


@pytest.fixture
def places(tmp_path):
    workspace, outside = tmp_path / "workspace", tmp_path / "outside"
    (workspace / "reports").mkdir(parents=True)
    outside.mkdir()
    return workspace, outside


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("form", NAMES)
def test_a_report_in_a_folder(form, kind, places):
    workspace, outside = places
    kind(workspace / "reports" / NAMES[form], outside)
    source = foreign_c_source(workspace, form, "reports", outcomes={})
    with pytest.raises(EvidenceError, match=KINDS[kind]):
        source.read()


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind is not folder_elsewhere])
@pytest.mark.parametrize("form", ["lcov", "gcovr", "gcov"])
def test_a_single_report(form, kind, places):
    workspace, outside = places
    kind(workspace / "reports" / NAMES[form], outside)
    source = foreign_c_source(workspace, form, f"reports/{NAMES[form]}", outcomes={})
    with pytest.raises(EvidenceError, match=KINDS[kind]):
        source.read()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["outcomes.json", "outcomes.xml", "outcomes.txt"])
def test_outcomes(name, kind, places):
    workspace, outside = places
    kind(workspace / "reports" / name, outside)
    (workspace / "t.info").write_text("TN:t\nSF:a.c\nDA:1,1\nend_of_record\n")
    source = foreign_c_source(workspace, "lcov", "t.info", outcomes=f"reports/{name}")
    with pytest.raises(EvidenceError, match=KINDS[kind]):
        source.read()


@pytest.mark.parametrize("kind", KINDS)
def test_raw_profiles(kind, places):
    workspace, outside = places
    test = workspace / "reports" / "t"
    test.mkdir()
    (workspace / "reports" / "outcomes.txt").write_text("passed t\n")
    (workspace / "reports" / "other.gcda").touch()  # it says that these are raw profiles
    kind(test / "a.gcda", outside)
    source = foreign_c_source(workspace, "gcov", "reports", outcomes="reports/outcomes.txt")
    with pytest.raises(EvidenceError):
        source.read()


@pytest.mark.parametrize("kind", KINDS)
def test_junit(kind, places):
    workspace, outside = places
    kind(workspace / "reports" / "r.xml", outside)
    with pytest.raises(EvidenceError, match=KINDS[kind]):
        Reports(Boundary(workspace)).read([workspace / "reports" / "r.xml"], [])


@pytest.mark.parametrize("name", ["data", "data.json"])
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind is not endless])
def test_data_of_coverage(kind, name, places):
    workspace, outside = places
    kind(workspace / "reports" / name, outside)
    with pytest.raises(EvidenceError, match=KINDS[kind]):
        CoverageSource(workspace, Path("reports", name)).read()


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in (folder_elsewhere, endless)])
def test_sources_of_the_workspace(kind, places):
    workspace, outside = places
    kind(workspace / "reports" / "a.py", outside)
    assert WorkspaceFiles(str(workspace)).content("reports/a.py") is None


@pytest.mark.parametrize("kind", [pipe, device, foreign])
def test_logs_of_a_recording(kind, places):
    workspace, outside = places
    recording = workspace / ".suspectra" / "recording"
    recording.mkdir(parents=True)
    kind(recording / f"0{SUFFIX}", outside)
    assert recorded_tests(recording).tests == {}
    assert not_run([str(recording / f"0{SUFFIX}")]) == 0
    with pytest.raises(EvidenceError):
        merge(workspace / "merged", [workspace])


def test_a_place_outside_that_the_user_named_is_read(places):
    workspace, outside = places
    (outside / "t.info").write_text("TN:t\nSF:a.c\nDA:1,1\nend_of_record\n")
    (workspace / "a.c").touch()
    (outside / "outcomes.txt").write_text("passed t\n")
    source = foreign_c_source(workspace, "lcov", outside / "t.info", outcomes=outside / "outcomes.txt")
    assert [test.name for test in source.read().tests] == ["t"]
    around = workspace / ".." / "outside" / "t.info"
    assert foreign_c_source(workspace, "lcov", around, outcomes=workspace / ".." / "outside" / "outcomes.txt").read()

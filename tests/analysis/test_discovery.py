import json
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import coverage
import pytest

from suspectra.base.errors import EvidenceError, NoEvidence
from suspectra.cli.main import run
from suspectra.evidence import places
from suspectra.evidence.boundary import Boundary
from suspectra.evidence.c.source import CRecordingSource
from suspectra.evidence.discovery import find_source, places_of_reports
from suspectra.evidence.formats.coverage_source import CoverageSource
from suspectra.evidence.recording import RecordingSource
from suspectra.evidence.test_code import TestCode
from suspectra_recorder.log.collection import CollectionError
from suspectra_recorder.log.frames import MAGIC, FrameKind, frame, with_json
from suspectra_recorder.recorded_files import RecordedFiles

REPORT = '<?xml version="1.0"?><testsuites><testsuite/></testsuites>'


def place(path: Path, content: str = "", *, age: int = 0) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)
    os.utime(path, (2_000_000_000 - age,) * 2)
    return path


def recorded(folder: Path, *, age: int = 0) -> None:
    place(folder / ".suspectra" / "recording" / "1.log", age=age)


def covered(folder: Path, *, age: int = 0) -> None:
    place(folder / ".coverage", age=age)
    place(folder / "results.xml", REPORT, age=age)


def test_nothing_there(tmp_path):
    with pytest.raises(EvidenceError, match=r"suspectra record -- pytest.*--coverage and --junit"):
        find_source(tmp_path)


def test_the_newest_is_taken(tmp_path):
    recorded(tmp_path, age=10)
    assert isinstance(find_source(tmp_path), RecordingSource)
    covered(tmp_path, age=20)
    assert isinstance(find_source(tmp_path), RecordingSource)
    covered(tmp_path, age=5)
    assert isinstance(find_source(tmp_path), CoverageSource)


def test_a_pytest_that_finds_no_test_does_not_hide_a_recording_of_c(tmp_path):
    place(tmp_path / ".suspectra" / "recording-c" / "tests.log", age=10)
    log = place(tmp_path / ".suspectra" / "recording" / "1.log")
    nothing = MAGIC + frame(FrameKind.RUN, b'{"run": "monday", "started": 1}')
    test = frame(FrameKind.TEST, with_json({"name": "test_total", "time": 11, "verdict": "passed"}))
    error = frame(FrameKind.ERROR, json.dumps(CollectionError("test_a.py", "OSError", "none").as_dict()).encode())
    for data in (nothing, nothing + test, nothing + error, nothing + test[:-1], nothing + frame(FrameKind.TEST, b"")):
        log.write_bytes(data)
        os.utime(log, (2_000_000_000,) * 2)
        assert isinstance(find_source(tmp_path), CRecordingSource if data == nothing else RecordingSource)


def test_a_pytest_that_finds_no_test_does_not_hide_coverage_data(tmp_path):
    log = place(tmp_path / ".suspectra" / "recording" / "1.log")
    log.write_bytes(MAGIC + frame(FrameKind.RUN, b'{"run": "monday", "started": 1}'))
    assert isinstance(find_source(tmp_path), RecordingSource)
    place(tmp_path / "results.xml", REPORT, age=10)
    data = coverage.CoverageData(str(tmp_path / ".coverage"))
    data.add_lines({str(tmp_path / "app.py"): [1]})
    data.write()
    os.utime(log, (2_000_000_000,) * 2)
    assert isinstance(find_source(tmp_path), RecordingSource), "which says that there were no tests"
    data.set_context("tests/test_app.py::test_it|run")
    data.add_lines({str(tmp_path / "app.py"): [2]})
    data.write()
    assert isinstance(find_source(tmp_path), CoverageSource)


def test_a_log_that_is_no_file_is_not_opened(tmp_path):
    place(tmp_path / ".suspectra" / "recording-c" / "tests.log", age=10)
    (tmp_path / ".suspectra" / "recording").mkdir()
    os.mkfifo(tmp_path / ".suspectra" / "recording" / "1.log")
    os.utime(tmp_path / ".suspectra" / "recording" / "1.log", (2_000_000_000,) * 2)
    assert isinstance(find_source(tmp_path), CRecordingSource)


def test_which_tests_of_c_a_change_can_affect_is_not_known(tmp_path, monkeypatch, capsys):
    place(tmp_path / ".suspectra" / "recording-c" / "tests.log")
    monkeypatch.chdir(tmp_path)
    assert run(["affected"]) == 2
    assert "Fix: build the program, and run `suspectra record-c` as before" in capsys.readouterr().err


def test_coverage_without_contexts_does_not_replace_a_recording(tmp_path):
    recorded(tmp_path, age=10)
    place(tmp_path / "results.xml", REPORT)
    data = coverage.CoverageData(str(tmp_path / ".coverage"))
    data.add_lines({str(tmp_path / "app.py"): [1]})
    data.write()
    os.utime(tmp_path / ".coverage", (2_000_000_000,) * 2)
    (unrecorded := tmp_path / "unrecorded").mkdir()
    shutil.copy(tmp_path / ".coverage", unrecorded)
    shutil.copy(tmp_path / "results.xml", unrecorded)
    assert isinstance(find_source(tmp_path), RecordingSource)
    with pytest.raises(NoEvidence, match=r"\.coverage names no tests\. Fix: run `suspectra record"):
        find_source(unrecorded)
    data.set_context("tests/test_app.py::test_it|run")
    data.add_lines({str(tmp_path / "app.py"): [2]})
    data.write()
    os.utime(tmp_path / ".coverage", (2_000_000_000,) * 2)
    assert isinstance(find_source(tmp_path), CoverageSource)


def test_coverage_without_report(tmp_path):
    place(tmp_path / ".coverage")
    with pytest.raises(EvidenceError, match=r"\.coverage: it says what each test executed, but .*--junit-xml"):
        find_source(tmp_path)
    recorded(tmp_path, age=10)
    assert isinstance(find_source(tmp_path), RecordingSource), "an older recording is better than half of the other"


def test_what_is_asked_for_wins(tmp_path):
    recorded(tmp_path)
    covered(tmp_path, age=50)
    place(tmp_path / "old" / "data", age=90)
    source = find_source(tmp_path, coverage="old/data")
    assert (source.coverage, source.reports()) == (tmp_path / "old/data", [tmp_path / "results.xml"])
    source = find_source(tmp_path, junit=Path("other.xml"))
    assert (source.coverage, source.reports()) == (tmp_path / ".coverage", [tmp_path / "other.xml"])
    assert isinstance(find_source(tmp_path, recording=Path("elsewhere")), RecordingSource)


def reports(folder: Path) -> list[str]:
    found = places.found(places_of_reports(folder), Boundary(folder))
    return [Path(path).relative_to(folder).as_posix() for path, _ in found]


def test_reports_are_known_by_what_is_in_them(tmp_path):
    assert reports(tmp_path) == []
    place(tmp_path / "results.xml", "<project/>")
    place(tmp_path / "report" / "a.xml", REPORT)
    place(tmp_path / "module" / "target" / "surefire-reports" / "TEST-b.xml", REPORT)
    place(tmp_path / "node_modules" / "c.xml", REPORT)
    place(tmp_path / ".cache" / "d.xml", REPORT)
    place(tmp_path / "env" / "pyvenv.cfg")
    place(tmp_path / "env" / "e.xml", REPORT)
    (tmp_path / "folder.xml").mkdir()
    (tmp_path / "loop.xml").symlink_to(tmp_path / "loop.xml")
    os.mkfifo(tmp_path / "pipe.xml")
    assert reports(tmp_path) == ["module/target/surefire-reports/TEST-b.xml", "report/a.xml"]
    place(tmp_path / "results.xml", REPORT)
    (tmp_path / "report" / "a.xml").unlink()
    (tmp_path / "again.xml").symlink_to("results.xml")
    assert reports(tmp_path) == ["again.xml", "module/target/surefire-reports/TEST-b.xml", "results.xml"]


def test_a_workspace_by_a_relative_path(tmp_path, monkeypatch):
    place(tmp_path / ".coverage.elsewhere.pid1.Xab.Hcd")
    place(tmp_path / "reports" / "a.xml", REPORT)
    monkeypatch.chdir(tmp_path)
    source = find_source(Path())
    assert [path.name for path in (*source.data_files(), *source.reports())] == [
        ".coverage.elsewhere.pid1.Xab.Hcd",
        "a.xml",
    ]
    assert all(map(os.path.isabs, source.watched()))


def test_reports_behind_links_that_lead_out_are_not_found(tmp_path):
    place(tmp_path / "outside" / "a.xml", REPORT)
    (tmp_path / "inside").mkdir()
    (tmp_path / "inside" / "b.xml").symlink_to(tmp_path / "outside" / "a.xml")
    (tmp_path / "inside" / "folder").symlink_to(tmp_path / "outside")
    assert reports(tmp_path / "inside") == []


def test_a_folder_that_did_not_change_is_not_listed_again(tmp_path, monkeypatch):
    for number in range(20):
        place(tmp_path / f"package{number}" / "report.xml", REPORT)
        os.utime(tmp_path / f"package{number}", (2_000_000_00,) * 2)
    os.utime(tmp_path, (2_000_000_00,) * 2)
    listed, scandir = [], os.scandir
    monkeypatch.setattr(os, "scandir", lambda path: listed.append(path) or scandir(path))
    assert len(reports(tmp_path)) == len(listed) - 1 == 20
    place(tmp_path / "package3" / "another.xml", REPORT)
    place(tmp_path / "package4" / "report.xml", REPORT + " ", age=5)
    listed.clear()
    assert len(reports(tmp_path)) == 21
    assert listed == [str(tmp_path / "package3")]


def test_data_of_a_process_that_runs_is_not_complete(tmp_path):
    host = socket.gethostname()
    with subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE) as running:
        for name in (
            f"{host}.pid{running.pid}.Xabc",
            f"{host}.{running.pid}.123456",
            f"elsewhere.pid{running.pid}.Xabc",
        ):
            (tmp_path / f".coverage.{name}").touch()
        place(tmp_path / f".coverage.elsewhere.pid{running.pid}.Xabc-journal")
        pattern = places.parts_of(tmp_path / ".coverage")
        assert [path for path, _ in places.found(pattern)] == [
            str(tmp_path / f".coverage.elsewhere.pid{running.pid}.Xabc")
        ]
        place(tmp_path / f".coverage.{host}.{running.pid}.123456", age=1_000_000_000)
        assert len(places.found(pattern)) == 2, "a number that another process has had before"
        running.communicate(b"")
    assert len(places.found(pattern)) == 3


@pytest.mark.parametrize(
    ("tests", "test_code", "product"),
    [
        (["tests/unit/test_a.py"], ["tests/helpers.py", "tests/data/x.py", "conftest.py"], ["src/tests_tool.py"]),
        (["unittests/test_a.py"], ["unittests/utility.py"], ["unittest_tool/utility.py"]),
        (["tests/test_a.py"], ["tests/test_not_run.py"], ["django/test/client.py", "latest/test_x.py", "contest.py"]),
        (["pkg/test/test_a.py"], ["pkg/test/support.py"], ["pkg/testing/case.py"]),
        (["test_a.py"], ["test_b.py", "b_test.py"], ["a.py", "sub/test_c.py"]),
        ([], ["conftest.py"], ["tests/x.py", "test_x.py"]),
    ],
)
def test_test_code(tests, test_code, product):
    code = TestCode(tests)
    assert [path for path in [*tests, *test_code, *product] if path in code] == [*tests, *test_code]


def test_a_coverage_file_that_is_not_there_is_said_first(tmp_path):
    with pytest.raises(EvidenceError, match="nowhere: there is no such file"):
        find_source(tmp_path, coverage="nowhere")


@pytest.mark.parametrize("folder", ["test", "_test", "unittests", "shop/integration_tests"])
@pytest.mark.parametrize(
    ("module", "has_tests"),
    [("test_cart.py", True), ("unit/cart/test_cart.py", True), ("cart.py", False), (".tox/test_cart.py", False)],
)
def test_a_recorded_helper_of_tests_is_test_code(tmp_path, folder, module, has_tests):
    beside = tmp_path / folder
    for path in (beside / module, beside / "utility.py"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    assert RecordedFiles(str(tmp_path)).is_test_code(str(beside / "utility.py")) == has_tests


@pytest.mark.parametrize("folder", ["pytest", "latest", "test_tools", "testing"])
def test_a_package_with_tests_in_it_is_no_test_code(tmp_path, folder):
    (tmp_path / folder).mkdir()
    for name in ("test_cart.py", "cart.py"):
        (tmp_path / folder / name).touch()
    assert not RecordedFiles(str(tmp_path)).is_test_code(str(tmp_path / folder / "cart.py"))


def test_links_are_followed_as_the_system_does(tmp_path):
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "module.py").touch()
    (tmp_path / "linked").symlink_to(tmp_path / "package")
    (tmp_path / "package" / "other.py").symlink_to(tmp_path / "package" / "module.py")
    (tmp_path / "package" / "outside.py").symlink_to(__file__)
    scope = RecordedFiles(str(tmp_path))
    names = ("module.py", "other.py", "outside.py", "missing.py", "..", ".")
    for path in [
        f"{tmp_path}/{folder}/{name}" for folder in ("package", "linked", "linked/../linked") for name in names
    ]:
        assert scope.real(path) == os.path.realpath(path), path
    assert scope(f"{tmp_path}/linked/other.py") == "package/module.py"
    assert scope(f"{tmp_path}/linked/outside.py") is None

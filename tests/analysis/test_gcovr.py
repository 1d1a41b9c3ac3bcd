"""gcovr beside our own reader: the same counts, its exclusions, and what only it reads."""

import json
import os
import shutil
import subprocess
import sys
from argparse import Namespace
from collections import Counter
from pathlib import Path
from threading import Event

import numpy as np
import pytest
from gcovr.__main__ import load_config

from suspectra.base.errors import EvidenceError
from suspectra.c.recording.gcovr import Gcovr
from suspectra.c.recording.gcovr_settings import LINES, READING, read_settings
from suspectra.c.recording.run import record_c
from suspectra.c.recording.suites import ctest_suite, shell_suite
from suspectra.evidence.c.source import CRecordingSource
from suspectra.evidence.c.store import FOLDER, CRecording
from suspectra.evidence.c.writer import CRecorder
from suspectra.evidence.source_paths import SourcePaths
from suspectra.program.c.files import parse_notes, parse_profile
from suspectra.program.c.flow import CFlow
from suspectra.program.c.object import Compiler

PREBUILT = Path(__file__).parents[1] / "fixtures" / "c_objects"
SOURCES = Path(__file__).parents[1] / "fixtures" / "c"
AFTER_SETJMP = {("flow.c", line) for line in range(58, 69)}  # clang counts no calls that do not return

# one process for all tests: most of gcovr's time is its start
GCOVR = """
import json, sys
from gcovr.__main__ import main
for arguments in json.load(sys.stdin):
    status = main(arguments)
    if status not in (0, 2):  # 2: the coverage is below the project's fail-under-line
        sys.exit(status)
"""


def by_gcovr(workspace, folders):
    """What gcovr counts of each folder of profiles, by (file, line), without what it excludes."""
    reports = [f"{folder}.json" for folder in folders]
    runs = [
        ["--root", str(workspace), "--gcov-object-directory", str(workspace), "--json", report, str(folder)]
        for folder, report in zip(folders, reports, strict=True)
    ]
    done = subprocess.run([sys.executable, "-c", GCOVR], input=json.dumps(runs), text=True, cwd=workspace)
    assert done.returncode == 0
    found = []
    for report in reports:
        counts = Counter()
        for file in json.loads(Path(report).read_text())["files"]:
            for line in file["lines"]:
                if not line.get("gcovr/excluded"):
                    counts[file["file"], line["line_number"]] += line["count"]
        found.append(dict(counts))
    return found


def by_counters(workspace, folder, exclusions):
    """What our own reader counts of a folder of profiles."""
    paths, counts = SourcePaths(workspace), Counter()
    for profile in folder.rglob("*.gcda"):
        notes = parse_notes(profile.with_suffix(".gcno").read_bytes(), profile.name)
        values = parse_profile(profile.read_bytes(), notes, profile.name).counters
        flow = CFlow(notes.functions)
        lines = flow.line_counts(flow.arc_counts(np.array([values])))[:, 0]
        for (_, file, line), count in zip(flow.lines, lines.tolist(), strict=True):
            source = paths.resolve(file, notes.folder)
            if source is not None and not exclusions.contains(source, line):
                counts[source, line] += count
    return dict(counts)


def executed(evidence, test):
    row = evidence.rows[[result.name for result in evidence.tests].index(test)]
    return {(place.file, place.line) for place in map(evidence.elements.location, row.tolist())}


def with_notes(folder, workspace):
    """Put the notes beside the profiles of a test, as gcovr wants them."""
    for profile in folder.rglob("*.gcda"):
        shutil.copy(Path("/", profile.relative_to(folder)).with_suffix(".gcno"), profile.parent)
    return folder


def mark(path, after, marker):
    """Put an exclusion marker behind the first line that contains a text."""
    lines = path.read_text().split("\n")
    at = next(i for i, line in enumerate(lines) if after in line)
    lines[at] += f" /* {marker} */"
    path.write_text("\n".join(lines))


@pytest.fixture(scope="module")
def marked_reckoner(build_reckoner, tmp_path_factory):
    """The example with markers and a gcovr.cfg, recorded; and a folder of profiles for each of its tests."""
    source = tmp_path_factory.mktemp("marked") / "reckoner"
    example = Path(__file__).parents[2] / "examples" / "reckoner"
    shutil.copytree(example, source, ignore=shutil.ignore_patterns("build", ".suspectra"))
    mark(source / "src" / "evaluate.c", "double result = 0;", "LCOV_EXCL_LINE")
    mark(source / "src" / "evaluate.c", "for (size_t i", "GCOVR_EXCL_START")
    mark(source / "src" / "evaluate.c", "return result;", "GCOVR_EXCL_STOP")
    (source / "gcovr.cfg").write_text("# whom we do not rank\nexclude = src/main\\.c\nfail-under-line = 100\n")
    configure = ["cmake", "-S", ".", "-B", "build"]
    subprocess.run(configure, cwd=source, check=True, capture_output=True)
    subprocess.run(["cmake", "--build", "build", "-j2"], cwd=source, check=True, capture_output=True)
    suite = ctest_suite(source, "build")
    run = record_c(source, suite)
    folders = {}
    for number, case in enumerate(suite.cases):
        folder = source.parent / "profiles" / str(number)
        subprocess.run(
            case.argv,
            cwd=case.folder,
            env={**os.environ, **case.environment, "GCOV_PREFIX": str(folder)},
            capture_output=True,
        )
        folders[case.name] = with_notes(folder, source)
    return source, run, folders


@pytest.mark.slow
def test_all_counts_are_gcovrs(marked_reckoner):
    """Every test's lines and counts, markers and filters included."""
    workspace, _, folders = marked_reckoner
    recording = CRecording(workspace / FOLDER)
    recording.update()
    evidence = CRecordingSource(workspace).read()
    oracle = by_gcovr(workspace, folders.values())
    assert len(oracle) == 40
    for (name, folder), expected in zip(folders.items(), oracle, strict=True):
        assert by_counters(workspace, folder, recording.exclusions) == expected, name
        assert executed(evidence, name) == {place for place, count in expected.items() if count}, name
    assert {(file.path, line) for file in evidence.files for line in file.line.tolist()} == set().union(*oracle)


@pytest.mark.slow
def test_what_is_excluded_is_said(marked_reckoner):
    workspace, run, _ = marked_reckoner
    evidence = CRecordingSource(workspace).read()
    assert [reader.partition(" ")[0] for reader in run.readers] == ["Suspectra"]
    (problem,) = [problem for problem in evidence.problems if "not ranked" in problem.cause]
    assert "exclude in gcovr.cfg, exclusion markers" in problem.cause
    assert "1 file and " in problem.cause
    assert evidence.edges.graphs  # gcovr said what counts, and our own reader how often


def test_all_counts_of_awkward_code_are_gcovrs(build_c, tmp_path):
    """Loops, recursion, longjmp, and a header that two objects include."""
    program = build_c()
    folders = []
    for part in ("l5", "c14", "s9", "j4"):
        program.run(part, prefix=tmp_path / part)
        folders.append(with_notes(tmp_path / part, program.workspace))
    recording = CRecording(program.workspace)
    for folder, expected in zip(folders, by_gcovr(program.workspace, folders), strict=True):
        assert by_counters(program.workspace, folder, recording.exclusions) == expected


# what only gcovr reads ----------------------------------------------------------------------------------------------


@pytest.fixture
def other_compiler(tmp_path):
    """A workspace whose test leaves a profile that was made elsewhere, as the program of another compiler does."""

    def make(prebuilt, change=lambda data: data, cfg=""):
        workspace = tmp_path / "workspace"
        (workspace / "build").mkdir(parents=True, exist_ok=True)
        for name in ("flow.c", "other.c", "shared.h"):
            shutil.copy(SOURCES / name, workspace)
            os.utime(workspace / name, (1, 1))
        for name in ("flow", "other"):
            for kind, folder in (("gcno", "build"), ("gcda", "")):
                data = (PREBUILT / prebuilt / f"{name}.{kind}").read_bytes()
                (workspace / folder / f"{name}.{kind}").write_bytes(change(data))
        (workspace / "gcovr.cfg").write_text(cfg)
        copies = 'mkdir -p "$GCOV_PREFIX$PWD/build" && cp flow.gcda other.gcda "$GCOV_PREFIX$PWD/build"'
        (workspace / "tests.sh").write_text(f"all\t{copies}\nfails\t{copies}; false\n")
        return workspace

    return make


def record(workspace, **options):
    return record_c(workspace, shell_suite(workspace, "tests.sh"), crash_handler=False, **options)


def expected_lines(prebuilt):
    printed = json.loads((PREBUILT / prebuilt / "expected.json").read_text())
    return {
        (os.path.normpath(file), int(line))
        for files in printed.values()
        for file, lines in files.items()
        for line, count in lines.items()
        if count
    }


@pytest.mark.parametrize("prebuilt", ["clang-14", "clang-22"])
def test_gcovr_says_of_programs_of_clang_what_is_excluded(other_compiler, tool, prebuilt, monkeypatch, tmp_path):
    tool("llvm-cov", "llvm")
    workspace = other_compiler(prebuilt, cfg="exclude = .*other\\.c\n")
    run = record(workspace)
    assert run.readers == ("Suspectra (clang)",)
    evidence = CRecordingSource(workspace).read()
    assert {file.path for file in evidence.files} == {"flow.c", "shared.h"}
    assert evidence.edges.graphs
    expected = {place for place in expected_lines(prebuilt) if place[0] != "other.c"}
    assert {place for place in expected ^ executed(evidence, "all") if place not in AFTER_SETJMP} == set()
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("sh", "mkdir", "cp", "false"):
        (tools / name).symlink_to(shutil.which(name))
    monkeypatch.setenv("PATH", str(tools))
    assert "there is no llvm-cov" in " ".join(map(str, record(workspace).problems))
    (workspace / "gcovr.cfg").write_text("")
    assert not record(workspace).problems
    assert {file.path for file in CRecordingSource(workspace).read().files} == {"flow.c", "other.c", "shared.h"}


def as_gcc_16(data):
    assert data[4:8] == b"*22B"
    return data[:4] + b"*16B" + data[8:]


def test_a_newer_gcc_is_read_by_its_own_gcov_or_not_at_all(other_compiler, tool):
    """No gcc 16 can be had here: what gcovr says of files with its version is what happens without its gcov."""
    tool("gcov", "gcc")
    workspace = other_compiler("gcc-12", as_gcc_16)
    run = record(workspace)
    messages = " / ".join(map(str, run.problems))
    assert "gcovr can't read the profile: it is of version B61*, and gcov reads B22*" in messages
    assert "install the gcov of the compiler that built the program" in messages
    assert "which is not known; known are gcc 9 to 15" in messages


def test_what_to_install_is_said_where_only_python_programs_were_served(tmp_path, monkeypatch):
    monkeypatch.setattr("sys.path", [])
    monkeypatch.delitem(sys.modules, "gcovr", raising=False)
    with pytest.raises(EvidenceError) as error:
        Gcovr(str(tmp_path), Event())
    assert f"install it: {sys.executable} -m pip install gcovr" in str(error.value)


def test_gcov_of_the_same_version_is_preferred(tmp_path, monkeypatch):
    for name in ("gcov", "gcov-16", "llvm-cov-9", "llvm-cov-19"):
        (tmp_path / name).touch(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    gcovr = Gcovr(str(tmp_path), Event())
    assert gcovr.gcov(Compiler("gcc", 16, 1)) == "gcov-16"
    assert gcovr.gcov(Compiler("gcc", 17, 0)) == "gcov"
    assert gcovr.gcov(Compiler("clang", 4, 8)) == "llvm-cov-19 gcov"


def test_tests_of_both_readers_are_ranked_together(tool, tmp_path, monkeypatch):
    """One test was recorded while the compiler was known."""
    workspace = tmp_path
    (workspace / "main.c").write_text(
        "int main(int n, char **w) {\n    if (n > 1)\n        return 1;\n    return 0;\n}\n"
    )
    build = [tool("gcc", "gcc"), "-O0", "-g", "--coverage", str(workspace / "main.c"), "-o", "main"]
    subprocess.run(build, cwd=workspace, check=True)
    (workspace / "tests.sh").write_text("all\t./main\nfails\t./main; false\n")
    record(workspace)
    both = CRecordingSource(workspace)
    by_counters = executed(both.read(), "all")
    monkeypatch.setattr("suspectra.program.c.object.KNOWN_GCC", ())
    run = record(workspace, select=["fails"])
    monkeypatch.undo()
    assert [reader.partition(" ")[0] for reader in run.readers] == ["gcovr"]
    assert "which is not known here, built the program: there are no flow graphs" in " ".join(map(str, run.problems))
    evidence = both.read()
    assert (
        executed(evidence, "all")
        == executed(evidence, "fails")
        == by_counters
        == {("main.c", line) for line in (1, 2, 4)}
    )
    assert "1 tests were recorded without gcovr" in " ".join(problem.cause for problem in evidence.problems)


def test_damaged_lines_of_a_test_are_said(other_compiler):
    workspace = other_compiler("clang-14")
    record(workspace)
    fields = {"verdict": "passed", "problems": []}
    with CRecorder(workspace, {}) as recorder:
        recorder.add_test("odd", fields, [], [], b'[{"file": "flow.c", "lines": [{"line_number": "x"}]}]')
        recorder.add_test("deep", fields, [], [], b"[" * 100_000)
    evidence = CRecordingSource(workspace).read()
    messages = " ".join(map(str, evidence.problems))
    assert executed(evidence, "odd") == executed(evidence, "deep") == set()
    assert "(test odd): its lines can't be used" in messages
    assert "(test deep): its lines can't be used" in messages


# settings -----------------------------------------------------------------------------------------------------------

CFG = """\
# a comment
exclude = third_party/.*  # not ours
exclude=generated.c

no-markers = no
exclude-noncode-lines = yes
merge-mode-functions = merge-use-line-0
html = report.html
"""

TOML = """
exclude = ["third_party/.*", "generated.c"]
no-markers = false
exclude-noncode-lines = true
merge-mode-functions = "merge-use-line-0"
html = "report.html"
"""


@pytest.mark.parametrize(
    ("name", "text"),
    [("gcovr.cfg", CFG), ("gcovr.toml", TOML), ("pyproject.toml", f"[tool.gcovr]\n{TOML}")],
)
def test_settings_are_those_that_gcovr_reads(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    theirs = load_config(Namespace(root=str(tmp_path), config=None))
    settings = read_settings(str(tmp_path))
    assert settings.file == name
    assert settings.choose_lines == ("exclude", "exclude-noncode-lines")
    ours = dict(settings.values)
    assert theirs["merge_mode_functions"] == ours["merge-mode-functions"]
    assert theirs["exclude_noncode_lines"] is True
    assert "--exclude-noncode-lines" in settings.arguments(str(tmp_path))
    assert [option.regex for option in theirs["exclude_filter"]] == [v for k, v in settings.values if k == "exclude"]
    assert not any("html" in option or "no-markers" in option for option in settings.arguments(str(tmp_path)))


def test_all_settings_that_are_passed_on_are_options_of_gcovr():
    done = subprocess.run([sys.executable, "-m", "gcovr", "--help"], capture_output=True, text=True, check=True)
    assert {key for key in LINES | READING if f"--{key}" not in done.stdout} == set()


@pytest.mark.parametrize(
    ("name", "text", "cause"),
    [
        ("gcovr.cfg", "nonsense\n", "line 1 is not of the form key = value"),
        ("gcovr.cfg", "no-markers = perhaps\n", "no-markers is 'perhaps', not yes or no"),
        ("gcovr.toml", "[", "gcovr's settings can't be read"),
        ("pyproject.toml", "[tool]\ngcovr = 3\n", "the section of gcovr is not a table"),
    ],
)
def test_damaged_settings_name_their_file(tmp_path, name, text, cause):
    (tmp_path / name).write_text(text)
    with pytest.raises(EvidenceError, match=name) as error:
        read_settings(str(tmp_path))
    assert cause in str(error.value)


# what a repository could try ------------------------------------------------------------------------------------------


def test_a_repository_can_neither_write_nor_delete_by_settings(other_compiler, tool, tmp_path):
    tool("llvm-cov", "llvm")
    hostile = f"json = {tmp_path}/stolen.json\noutput = {tmp_path}/stolen.txt\nhtml = stolen.html\n"
    hostile += "delete-input-files = yes\nkeep = yes\nfilter = other\\.c\nconfig = other.cfg\n"
    workspace = other_compiler("clang-14", cfg=hostile)
    for module in ("gcovr", "json", "logging", "jinja2", "lxml"):
        (workspace / f"{module}.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w').close()\n")
    before = {path.name for path in workspace.iterdir()} | {".suspectra"}
    record(workspace)
    assert {path.name for path in workspace.iterdir()} == before
    assert not {path.name for path in tmp_path.iterdir()} & {"ran", "stolen.json", "stolen.txt"}
    assert {file.path for file in CRecordingSource(workspace).read().files} == {"other.c"}


def test_settings_behind_a_link_out_of_the_workspace_are_not_read(tmp_path):
    (tmp_path / "elsewhere.cfg").write_text("exclude = .*\n")
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    (workspace / "gcovr.cfg").symlink_to(tmp_path / "elsewhere.cfg")
    assert read_settings(str(workspace)).file == ""


@pytest.mark.slow
def test_reading_a_recording_runs_nothing(other_compiler, tool, tmp_path):
    """A repository brings a recording, and settings that name a program: only recording runs it."""
    tool("llvm-cov", "llvm")
    ran = tmp_path / "ran"
    settings = f"gcov-executable = {tmp_path / 'gcov.sh'}\nexclude = .*other\\.c\n"
    workspace = other_compiler("clang-14", cfg=settings)
    (tmp_path / "gcov.sh").write_text(f'#!/bin/sh\ntouch {ran}\nexec llvm-cov gcov "$@"\n')
    (tmp_path / "gcov.sh").chmod(0o755)
    record(workspace)
    assert ran.exists()
    ran.unlink()
    (workspace / "flow.c").write_text("/* LCOV_EXCL_START */\n" + (workspace / "flow.c").read_text())
    assert {file for file, _ in executed(CRecordingSource(workspace).read(), "all")} == {"flow.c", "shared.h"}
    done = subprocess.run([sys.executable, "-m", "suspectra", "rank"], cwd=workspace, capture_output=True, text=True)
    assert "exclude in gcovr.cfg" in done.stderr
    assert not ran.exists()

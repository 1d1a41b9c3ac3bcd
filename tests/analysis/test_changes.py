"""What changed since each failing test passed, told by the recording alone: real runs of pytest."""

import json
import shutil
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from suspectra.cli.main import run
from suspectra.evidence.changes import besides
from suspectra.evidence.evidence import TestResult, Verdict
from suspectra.evidence.recording import RecordingSource
from suspectra.evidence.recording.changes import replaced
from suspectra.evidence.recording.recorded_file import RecordedFile
from suspectra.evidence.recording.records import Record, Section
from suspectra.evidence.recording.versions import changed_statements
from suspectra.evidence.source_changes import changed_lines
from suspectra.localizer import Localizer
from suspectra.recording.merging import merge
from suspectra.techniques import make_technique
from suspectra_recorder.log.compaction import compact
from suspectra_recorder.log.frames import MAGIC, FrameKind, frame, frames, split_json, with_json
from suspectra_recorder.log.history import MAX_PASSED_RUNS, EndedTest, last_passes, passes
from suspectra_recorder.log.reader import LoggedRun
from suspectra_recorder.log.sections import LogSection as MergedSection
from suspectra_recorder.log.sections import SectionReader, log_of

SHOP = '''\
RATE = 20  # percent


def total(prices):
    """Sum up."""
    result = 0
    for price in prices:
        result += price
    return result


def tax(amount):
    return amount * RATE // 100


def label(name):
    name = name.strip()
    return name.upper()


def flaky():
    return True
'''
TESTS = """\
import pathlib
import pytest
import shop

@pytest.mark.parametrize("prices, expected", [([1, 2], 3), ([5], 5)])
def test_total(prices, expected):
    assert shop.total(prices) == expected

def test_tax():
    assert shop.tax(100) == 20

def test_label():
    assert shop.label(" a ") == "A"

def test_never():
    assert shop.total([]) == 7

def test_now_and_then():
    assert shop.flaky() and not pathlib.Path("off").exists()
"""


class Project:
    """A workspace whose tests are recorded by real runs of pytest."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.write("shop.py", SHOP)
        self.write("tests/test_shop.py", TESTS)
        self.write("pytest.ini", "[pytest]\npythonpath = .\n")

    def write(self, name: str, text: str) -> None:
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)

    def edit(self, *changes: tuple[str, str], name: str = "") -> None:
        name = name or next(path.name for path in self.folder.glob("s*.py"))
        text = (self.folder / name).read_text()
        for old, new in changes:
            assert text.count(old) == 1, old
            text = text.replace(old, new)
        self.write(name, text)

    def run(self, *arguments: str) -> None:
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--suspectra", *arguments]
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, check=False)
        assert done.returncode in (0, 1), done.stdout + done.stderr

    def read(self):
        return RecordingSource(self.folder, edges=True).read()

    def changed(self, evidence=None) -> dict[str, list[str]]:
        """Texts of the changed lines of shop.py and others that the failing tests execute, by test."""
        evidence = evidence or self.read()
        elements, texts = evidence.elements, {}
        rows = dict(zip((test.name for test in evidence.tests), evidence.rows, strict=True))
        found = {}
        for test, changed in evidence.changed.items():
            found[test.rpartition("::")[2]] = lines = []
            for element in np.intersect1d(changed, rows[test]).tolist():
                place = elements.location(element)
                texts.setdefault(place.file, (self.folder / place.file).read_text().splitlines())
                lines.append(texts[place.file][place.line - 1].strip())
        return found


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path)


@pytest.fixture(scope="module")
def broken(tmp_path_factory):
    """A project that was green but for one test, and then changed in many ways; what a second run says of it."""
    project = Project(tmp_path_factory.mktemp("broken"))
    project.run()
    project.edit(
        ("result = 0", "result = 1"),
        ("RATE = 20  # percent", "RATE = 19  # per cent"),
        ("    name = name.strip()\n", ""),
        ('    """Sum up."""\n', "    # adds up\n\n"),
        ("    return True", "    # changed in nothing\n    return  True"),
    )
    project.write("off", "")
    project.run()
    return project


@pytest.mark.slow
def test_each_failing_test_knows_what_changed_since_it_passed(broken):
    assert broken.changed() == {
        "test_total[prices0-3]": ["result = 1"],
        "test_total[prices1-5]": ["result = 1"],
        "test_label": ["return name.upper()"],  # the one behind what was deleted
        "test_tax": [],
        "test_now_and_then": [],  # comments and white space are no change
    }  # test_never did never pass, and says nothing


def test_what_runs_at_import_is_named_besides(broken):
    assert besides(broken.read()) == ("Also changed, in code that runs at import: shop.py:1.",)


@pytest.mark.slow
def test_what_is_ranked_as_changed_is_not_named_besides(project, capsys, monkeypatch):
    project.write("rates.py", "REDUCED = 7\nUNUSED = 1\n\n\ndef reduced(price):\n    return price * REDUCED\n")
    project.write("tests/test_rates.py", "import rates\n\ndef test_rates():\n    assert rates.reduced(2) == 14\n")
    project.run()
    project.edit(("REDUCED = 7\nUNUSED = 1", "REDUCED = 8\nUNUSED = 2"), name="rates.py")
    project.run()
    monkeypatch.chdir(project.folder)
    run(["rank"])
    table = capsys.readouterr().out
    assert "Also changed, in code that runs at import: rates.py:2.\n" in table
    assert "rates.py:1" in table
    run(["rank", "--technique", "ochiai"])  # which ranks only what tests execute
    assert "Also changed, in code that runs at import: rates.py:1, 2.\n" in capsys.readouterr().out


@pytest.mark.slow
def test_what_changed_is_named_where_failing_tests_execute_nothing(project, capsys, monkeypatch):
    project.write("colours.py", "RED = 31\nBLUE = 34\n")
    project.write("tests/test_colours.py", "import colours\n\ndef test_blue():\n    assert colours.BLUE == 34\n")
    project.run("tests/test_colours.py")
    project.edit(("BLUE = 34", "BLUE = 35"), name="colours.py")
    project.run("tests/test_colours.py")
    monkeypatch.chdir(project.folder)
    assert run(["rank"]) == 1
    said = capsys.readouterr().err
    assert "; also changed, in code that runs at import: colours.py:2. Fix: look at what they use that ran" in said


def test_changes_come_first_and_say_so(broken, capsys, monkeypatch):
    monkeypatch.chdir(broken.folder)
    report = Localizer(make_technique("evidence")).update(broken.read())
    changed = {s.location.line: (s.changed, s.only_read) for s in report.suspects() if s.changed}
    assert changed == {7: (2, False), 18: (1, False), 1: (1, True)}  # a failing test reads what line 1 defines
    first = report.suspect(0)
    assert first.changed
    assert first.badge == "you changed this", "each failing test that executes it passed before"
    assert any(first.badge in sentence.lower() for sentence in report.explain(0).sentences)
    assert "w C" in report.explain(0).substituted
    assert run(["rank", "--technique", "evidence"]) == 0
    table = capsys.readouterr().out
    assert "Also changed" not in table
    assert "You changed this" in table
    assert "failed before your changes" in table
    assert run(["rank", "--technique", "ochiai", "--format", "json"]) == 0
    ranking = json.loads(capsys.readouterr().out)
    assert {s["line"]: s["changed"] for s in ranking["suspects"] if s["changed"]} == {7: 2, 18: 1}
    assert ranking["changed_besides"] == {"at_import": [{"file": "shop.py", "lines": [1]}], "replaced": []}
    assert run(["rank", "--format", "sarif"]) == 0
    log = json.loads(capsys.readouterr().out)["runs"][0]
    assert any("you changed this" in result["message"]["text"] for result in log["results"])
    assert run(["rank", "--format", "sarif", "--technique", "ochiai"]) == 0
    log = json.loads(capsys.readouterr().out)["runs"][0]
    notes = log["invocations"][0]["toolExecutionNotifications"]
    assert any("at import: shop.py:1" in note["message"]["text"] for note in notes)
    assert run(["rank", "--format", "agent", "--technique", "ochiai"]) == 0
    assert '"Also changed, in code that runs at import: shop.py:1."' in capsys.readouterr().out
    assert run(["rank", "--format", "agent"]) == 0
    text = capsys.readouterr().out
    assert '"You changed this.' in text
    assert run(["report", "--html", "page.html"]) == 0
    page = (broken.folder / "page.html").read_text()
    assert '<span class="badge">you changed this</span>' in page
    assert run(["report", "--html", "page.html", "--technique", "ochiai"]) == 0
    page = (broken.folder / "page.html").read_text()
    assert '<p class="besides">Also changed, in code that runs at import: shop.py:1.</p>' in page


def test_tidying_and_merging_keep_last_passes(broken, tmp_path):
    expected = broken.changed()
    copy = tmp_path / "copy"
    shutil.copytree(broken.folder, copy)
    recording = copy / ".suspectra" / "recording"
    compact(str(recording), max_logs=0)
    assert len(list(recording.glob("*.log"))) == 1
    assert broken.changed(RecordingSource(copy, edges=True).read()) == expected
    merged = merge(tmp_path / "merged", [broken.folder])
    assert (merged.tests, merged.replaced, merged.problems) == (6, 0, ())
    source = RecordingSource(broken.folder, tmp_path / "merged", edges=True)
    assert broken.changed(source.read()) == expected


@pytest.mark.slow
def test_a_pass_is_dropped_when_no_test_needs_it(project):
    """What came of many runs: a commit in between, partial runs, several workers, moves, and a pass at last."""
    project.run()
    git(project.folder, "init", "-q")
    git(project.folder, "add", ".")
    project.edit(("result = 0", "result = 1"))
    project.run("-k", "total")
    git(project.folder, "commit", "-qam", "whatever is committed meanwhile")
    project.edit(("    return name.upper()", "    return name.lower()"))
    project.run("-n", "1")  # other processes than those of the passes
    assert project.changed() == {
        "test_total[prices0-3]": ["result = 1"],
        "test_total[prices1-5]": ["result = 1"],
        "test_label": ["return name.lower()"],
    }
    (project.folder / "shop.py").rename(project.folder / "store.py")
    project.edit(("import shop", "import store as shop"), name="tests/test_shop.py")
    project.edit(("def label(name):", "def named(name):"), ("def tax", "label = lambda n: named(n)\n\n\ndef tax"))
    project.run()
    changed = project.changed()
    assert changed["test_total[prices0-3]"] == ["result = 1"]  # a file of another name is no change
    assert changed["test_label"] == ["label = lambda n: named(n)", "return name.lower()"]
    project.edit(("result = 1", "result = 0"), ("name.lower()", "name.upper()"))
    project.edit(("shop.total([]) == 7", "shop.total([]) == 0"), name="tests/test_shop.py")  # its first failure, too
    project.run()
    assert project.changed() == {}
    recording = project.folder / ".suspectra" / "recording"
    compact(str(recording), max_logs=0)
    assert [f.path for f in project.read().files if not f.is_test] == ["store.py"]
    (log,) = recording.glob("*.log")
    reader = SectionReader()
    reader.read(log.read_bytes())
    assert {path for section in reader.sections for path in section.digests if "test" not in path} == {"store.py"}


@pytest.mark.slow
def test_of_a_test_module_that_was_not_measured_before_nothing_is_known_to_have_changed(project):
    project.run()
    project.edit(("result = 0", "result = 1"))
    project.run("--suspectra-include-tests")
    assert project.changed()["test_total[prices1-5]"] == ["result = 1"]
    project.edit(("assert shop.tax(100) == 20", "assert shop.tax(100) == 21"), name="tests/test_shop.py")
    project.run("--suspectra-include-tests")
    assert project.changed()["test_tax"] == ["assert shop.tax(100) == 21"]


@pytest.mark.slow
def test_a_module_that_no_test_had_imported_by_then_is_new_only_if_it_was_not_there(project):
    """A part of the tests runs first, and all of them once one fails."""
    project.write("other.py", "OTHER = 1\n")
    project.write("tests/test_other.py", "import other\n\ndef test_other():\n    assert other.OTHER == 1\n")
    project.run("tests/test_shop.py")
    project.edit(("result = 0", "result = 1"))
    project.run()
    assert project.changed()["test_total[prices1-5]"] == ["result = 1"]
    assert besides(project.read()) == ()
    project.write("fees.py", "FEE = 1\n")
    project.edit(("RATE = 20", "import fees\n\nRATE = 20"))
    project.run()
    assert besides(project.read()) == ("Also changed, in code that runs at import: fees.py:1; shop.py:1.",)


@pytest.mark.slow
def test_a_module_that_was_emptied_keeps_the_ranking(project):
    """A commit that went wrong, or the moment in which an editor writes the file."""
    project.run()
    project.write("shop.py", "")
    project.run("-k", "never")
    evidence = project.read()
    assert [test.name for test in evidence.failing] == ["tests/test_shop.py::test_never"]
    assert len(evidence.elements) == 0
    project.write("shop.py", SHOP)
    project.run("-k", "never")
    assert project.read().elements.location(0).file == "shop.py"


def test_a_version_that_was_checked_out_again_is_written_once():
    """Shards of one run on several machines: only the time at which the file was written differs."""
    head = {"path": "shop.py", "digest": "9b5e", "is_test": False, "cells": 8}
    sources = [with_json({**head, "modified": number}, b"map") for number in (1, 2)]
    sections = [MergedSection(LoggedRun("a", 1, {"run": "a", "started": 1}), sources=[source]) for source in sources]
    found = [payload for kind, payload, _ in frames(b"".join(log_of(sections))) if kind == FrameKind.FILE]
    assert found == [sources[0], sources[0]]


def test_only_passes_of_the_last_runs_are_kept():
    count = MAX_PASSED_RUNS + 3
    records = [EndedTest(f"t{i}", i, True, f"run{i}") for i in range(count)]
    records += [EndedTest(f"t{i}", 100 + i, False, "now") for i in range(count)]
    live = {f"t{i}": 100 + i for i in range(count)}
    assert last_passes(records, live) == {f"t{i}": i for i in range(3, count)}


def test_a_pass_at_the_second_attempt_says_nothing():
    records = [
        EndedTest("t", 1, passes("passed", flaky=False), "a"),
        EndedTest("t", 2, passes("passed", flaky=True), "b"),
    ]
    assert last_passes(records, {"t": 3}) == {"t": 1}
    assert last_passes(records, {"t": 2}) == {"t": 1}


def test_replaced_packages_are_named():
    then = Section("a", 1, python="3.11.2", packages={"numpy": "1.26.4", "old": "1"})
    now = Section("b", 2, python="3.12.0", packages={"numpy": "2.1.0", "new": "2"})
    records = [Record(TestResult("t", Verdict.FAILED), 2, now, b"")]
    passed = {"t": Record(TestResult("t", Verdict.PASSED), 1, then, b"")}
    assert [str(one) for one in replaced(records, passed)] == [
        "Python 3.11.2 → 3.12.0",
        "new 2 is new",
        "numpy 1.26.4 → 2.1.0",
        "old 1 is gone",
    ]


def test_the_versions_of_packages_are_recorded(broken):
    section = _sections(broken)[0]
    assert section.packages["pytest"] == version("pytest")
    assert section.python.startswith("3.")


def _sections(project):
    source = RecordingSource(project.folder)
    source.read()
    return source._sections()


def git(folder: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True)


@pytest.mark.slow
def test_git_tells_where_no_pass_was_recorded(project, capsys, monkeypatch):
    """Of a branch what differs from where it left the default branch; nothing that the repository names is run."""
    folder = project.folder
    project.write("data/rates.csv", "20\n")
    project.write(".gitattributes", "*.py filter=trap diff=trap\n")
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "green")
    git(folder, "checkout", "-qb", "work")
    project.edit(("result = 0", "result = 1"), ("RATE = 20", "RATE = 19"))
    git(folder, "commit", "-qam", "broken")
    project.write("data/rates.csv", "19\n")
    project.write("data/kinds.csv", "book\n")
    git(folder, "add", "data/kinds.csv")
    project.write("build/shop.o", "a product of a build, which git does not ignore")
    for name in (
        "filter.trap.clean",
        "filter.trap.smudge",
        "diff.trap.textconv",
        "diff.trap.command",
        "core.fsmonitor",
    ):
        git(folder, "config", name, f"touch {folder}/trapped")
    project.run("-k", "not label")
    assert project.read().changed == {}
    monkeypatch.chdir(folder)

    def ranked(*arguments):
        assert run(["rank", "--format", "json", *arguments]) == 0
        ranking = json.loads(capsys.readouterr().out)
        changed = {s["line"]: s["changed"] for s in ranking["suspects"] if s["changed"]}
        return changed, [one["name"] for one in ranking["changed_besides"]["replaced"]], ranking

    changed, files, ranking = ranked()
    assert (changed, files) == ({6: 3, 1: 1}, [])  # a failing test reads what line 1 defines
    assert ranking["changed_besides"]["at_import"] == []
    assert ranked("--since", "main")[:2] == ({6: 3, 1: 1}, ["data/kinds.csv", "data/rates.csv"])
    assert ranked("--since", "HEAD")[:2] == ({}, ["data/kinds.csv", "data/rates.csv"])
    assert run(["rank", "--since", "nowhere"]) == 2
    assert "is not a revision" in capsys.readouterr().err
    assert not (folder / "trapped").exists()


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("int f(void) {\n  a();\n  b();\n}\n", "int f(void) {\n  a(); // why\n\n  c();\n}\n", [4]),
        ("a();\nb();\nc();\n", "a();\n/* b();\n*/\nc();\n", [1, 4]),
        ('puts("// no comment");\n', 'puts("// none");\n', [1]),
        (None, "a();\n\nb();\n", [1, 3]),
    ],
)
def test_lines_of_c(old, new, expected):
    assert changed_lines("f.c", old and old.encode(), new.encode()).tolist() == expected


def recorded_file(lines: list[str]) -> RecordedFile:
    return RecordedFile.from_text("m.py", "".join(f"{line}\n" for line in lines).encode())


BODY = st.lists(st.sampled_from(["a = 1", "b = a", "c = b + a", "print(c)", "d = [a, b]"]), max_size=12)


@given(BODY, BODY, st.booleans())
def test_lines_are_matched(old, new, in_function):
    """What is the same is no change; what is new is; and what only went marks both its neighbours."""
    head, indent = (["def f():", "    f"], "    ") if in_function else ([], "")
    one, other = (recorded_file([*head, *(indent + line for line in body)]) for body in (old, new))
    marks = changed_statements(one, other).tolist()
    changed = marks[len(head) :]
    assert not changed_statements(one, one).any()
    if old == new:
        assert not any(changed)
    kept = [line for line, differs in zip(new, changed, strict=True) if not differs]
    assert is_part(kept, old)  # what counts as the same is there before, in the same order
    for line, differs in zip(new, changed, strict=True):
        assert differs or line in old
    if marks and old != new and is_part(new, old):
        assert any(changed or marks)  # a deletion leaves a mark


@given(BODY, st.data())
def test_comments_and_white_space_are_no_change(body, data):
    one = recorded_file(["def f():", "    f", *(f"    {line}" for line in body)])
    blank = st.sampled_from([[], [""], ["    # said"], ["", "# left"]])
    spaced = [part for line in body for part in [*data.draw(blank), f"  {line.replace(' ', '  ')}  # why"]]
    assert not changed_statements(one, recorded_file(["def f( ):", "  f", *spaced])).any()


def is_part(part: list[str], whole: list[str]) -> bool:
    rest = iter(whole)
    return all(line in rest for line in part)


@pytest.mark.parametrize("damage", ["map", "digest", "packages", "pass"])
def test_damaged_sections_cost_no_more_than_themselves(broken, tmp_path, damage):
    """A log in which something of the pass was replaced by something else."""
    recording = tmp_path / ".suspectra" / "recording"
    recording.mkdir(parents=True)
    for number, path in enumerate(sorted((broken.folder / ".suspectra" / "recording").glob("*.log"))):
        parts = [MAGIC]
        for kind, payload, _ in frames(path.read_bytes()):
            parts.append(frame(FrameKind(kind), damaged(kind, payload, damage) if not number else payload))
        (recording / path.name).write_bytes(b"".join(parts))
    shutil.copytree(broken.folder / "tests", tmp_path / "tests")
    evidence = RecordingSource(tmp_path).read()
    Localizer(make_technique("evidence")).update(evidence)
    rows = {id(row) for row in evidence.changed.values()}
    assert len(rows) == (0 if damage == "pass" else 1)
    if damage in ("map", "pass"):
        assert any("does not contain what it should" in problem.cause for problem in evidence.problems)
    if damage == "digest":  # the lines are compared, whatever it says
        assert broken.changed(evidence) == broken.changed()
    if damage == "packages":
        assert evidence.replaced == ()


def damaged(kind: int, payload: bytes, damage: str) -> bytes:
    if kind == FrameKind.FILE and damage in ("map", "digest"):
        head, rest = split_json(payload)
        return with_json({**head, "digest": "0" * 64}, rest) if damage == "digest" else with_json(head, b"x")
    if kind == FrameKind.RUN and damage == "packages":
        return json.dumps({**json.loads(payload), "packages": [["numpy"], 7]}).encode()
    if kind == FrameKind.TEST and damage == "pass":
        head, rest = split_json(payload)
        return with_json({**head, "verdict": {"passed": 1}}, rest)
    return payload

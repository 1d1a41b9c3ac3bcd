"""Which change broke a test: real runs in a small project whose last commit passes."""

from __future__ import annotations

import hashlib
import json
import random
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from suspectra.changes.baselines import Baseline
from suspectra.changes.isolation import ChangeIsolation
from suspectra.changes.mixed_program import MixedProgram
from suspectra.cli.main import run
from suspectra.evidence.evidence import Evidence, TestResult, Verdict
from suspectra.evidence.logs.experiments import read_experiments
from suspectra.evidence.named_tests import uncollected_names
from suspectra.experiments.inquiry import RerunSetup
from suspectra.experiments.repeated_tests import FailingTest
from suspectra.output.changed_lines import changed_lines
from suspectra.recording import kept_texts
from suspectra.recording.kept_texts import KeptTexts
from suspectra_recorder.log.collection import CUT_OFF, CollectionError

PRICE = """\
import json
import pathlib

HERE = pathlib.Path(__file__).parent


def rounded(value):
    value = value * 100
    value = round(value)
    return value / 100


def scaled(value):
    return value * 2


def doubled(value):
    return scaled(value)


def rate(name):
    return json.loads((HERE / "rates.json").read_text())[name]


def label(name):
    return name.strip().upper()
"""
TESTS = """\
import shop.parts.tables
from shop.price import doubled, label, rate, rounded


def test_rounded():
    assert rounded(8.4915) == 8.49


def test_rounded_again():
    assert rounded(1.001) == 1


def test_doubled():
    assert doubled(2) == 4


def test_rate():
    assert rate("low") == 7


def test_label():
    assert label(" a ") == "A"


def test_old():
    assert label("a") == "b"
"""
RATES = '{\n "low": 7,\n "high": 19\n}\n'
EDITS = (
    ("    value = round(value)\n", ""),  # breaks the first two
    ("def scaled(value):\n    return value * 2", "def times(value, by):\n    return value * by"),
    ("return scaled(value)", "return times(value, 3)"),  # breaks the third, with the one above
    ("return name.strip().upper()", "name = name.strip()\n    return name.upper()"),  # harmless
    ("def label", "def unused():\n    return 1\n\n\ndef label"),  # harmless
)


def command(folder: Path, *words: str) -> None:
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stdout + done.stderr


def git(folder: Path, *words: str) -> None:
    command(folder, "git", "-c", "user.name=x", "-c", "user.email=x@x", *words)


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    folder = tmp_path_factory.mktemp("project")
    (folder / "shop").mkdir()
    (folder / "shop" / "__init__.py").write_text("import shop.price\n")
    (folder / "shop" / "parts").mkdir()  # a package without a file of its own
    (folder / "shop" / "parts" / "tables.py").touch()
    (folder / "shop" / "price.py").write_text(PRICE)
    (folder / "shop" / "rates.json").write_text(RATES)
    (folder / "test_price.py").write_text(TESTS)
    (folder / ".gitignore").write_text(".suspectra\n__pycache__\n.pytest_cache\n")
    git(folder, "init", "-q")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "one")
    text = PRICE
    for old, new in EDITS:
        assert text.count(old) == 1
        text = text.replace(old, new)
    (folder / "shop" / "price.py").write_text(text)
    (folder / "shop" / "rates.json").write_text(RATES.replace("7", "8"))
    command(folder, sys.executable, "-m", "suspectra", "record", "--", "pytest", "-q")
    return folder


def said(cause) -> list[tuple[str, str]]:
    return [(one["before"].strip(), one["after"].strip()) for one in cause["change"]]


def test_each_cause_is_found_and_nothing_in_the_workspace_changes(project, capsys, monkeypatch):
    monkeypatch.chdir(project)
    before = {path: path.read_bytes() for path in project.rglob("*") if path.is_file()}
    assert run(["changes", "--since", "HEAD", "--seconds", "120", "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    log = project / ".suspectra" / "experiments" / "log.jsonl"
    assert {path: path.read_bytes() for path in project.rglob("*") if path.is_file() and path != log} == before
    assert (found["baseline"], found["changes"], found["complete"]) == ("HEAD", 8, True)
    assert found["failed_before"] == ["test_price.py::test_old"]
    by_test = {tuple(cause["mends"]): cause for cause in found["causes"]}
    first = by_test["test_price.py::test_rounded", "test_price.py::test_rounded_again"]
    assert said(first) == [("value = round(value)", "")]
    assert first["alone_breaks"] == first["mends"]
    assert (first["change"][0]["line"], first["change"][0]["end_line"]) == (9, 8)
    assert first["first_difference"] == {
        "file": "shop/price.py",
        "line": 9,
        "name": "value",
        "before": "849",
        "after": "849.15",
        "equal": 4,
    }
    data = by_test[("test_price.py::test_rate",)]
    assert [(one["file"], one["line"]) for one in data["change"]] == [("shop/rates.json", 2)]
    renamed = by_test[("test_price.py::test_doubled",)]
    assert ("return scaled(value)", "return times(value, 3)") in said(renamed)
    assert renamed["first_difference"]["line"] == 13
    assert found["runs"] < 40
    # what was found comes first, as long as the sources are these
    assert run(["rank", "--format", "json"]) == 0
    groups = {one["tests"][0]: one for one in json.loads(capsys.readouterr().out)["groups"]}
    first = groups["test_price.py::test_doubled"]["suspects"][0]
    assert (first["file"], first["line"]) in {("shop/price.py", 13), ("shop/price.py", 17)}
    assert first["reason"] == "The failing test passes without your change here and 2 more."
    assert groups["test_price.py::test_old"]["since"] == "before"
    assert run(["status"]) == 0
    assert "\nWithout your change at shop/rates.json:2 test_rate passes.\n" in capsys.readouterr().out
    run(["fix", "*::test_rate", "--seconds", "0.5"])
    words = "Without your change at shop/rates.json:2 test_rate passes. `suspectra changes` shows it.\n"
    assert words in capsys.readouterr().out
    text = (project / "shop" / "price.py").read_bytes()
    (project / "shop" / "price.py").write_bytes(text + b"\n")
    assert read_experiments(project)[0] == ()
    (project / "shop" / "price.py").write_bytes(text)


def test_changes_in_functions_need_no_new_process(tmp_path):
    text = "LIMIT = 1\n\n\ndef f(a):\n    b = a + 1\n    return b\n"
    test = FailingTest("test_m.py::test_it", "test_m.py")
    workspace, copy = tmp_path / "workspace", tmp_path / "copy"
    for folder in (workspace, copy):
        folder.mkdir()
        (folder / "m.py").write_text(text)
        (folder / "n.py").write_text("")
        (folder / "test_m.py").write_text("import m\n\n\ndef test_it():\n    assert m.f(m.LIMIT) == 2\n")
    program = MixedProgram(RerunSetup(workspace, (sys.executable, "-m", "pytest")), copy, [test])

    def ends(**before: str) -> tuple[bool, bool]:
        texts = {f"{name}.py": text.encode() for name, text in before.items()}
        run = program.run(Baseline.from_texts("before", workspace, texts), (), [test.name], fresh=False)
        return run.exchanged, test.name in run.passed

    try:
        assert ends(m=text.replace("+ 1", "- 1")) == (False, False)
        assert ends(m=text.replace("+ 1", "+ 1 + 0")) == (True, True)
        assert ends(m=text.replace("LIMIT = 1", "LIMIT = 2")) == (False, False)
        assert ends(m=text.replace("(a)", "(a, c=1)")) == (False, True)
        assert ends(n="X = 1\n") == (False, True)  # another file than those that may differ
    finally:
        program.close()


@pytest.mark.parametrize(
    ("read", "exchanged"), [("def f():\n    return {}\n", True), ("X = {}\nf = lambda: X\n", False)]
)
def test_a_change_of_data_needs_no_new_process_until_something_reads_them(tmp_path, read, exchanged):
    text = "import pathlib\n\n" + read.format('int((pathlib.Path(__file__).parent / "n.txt").read_text())')
    test = FailingTest("test_m.py::test_it", "test_m.py")
    workspace, copy = tmp_path / "workspace", tmp_path / "copy"
    for folder in (workspace, copy):
        folder.mkdir()
        (folder / "m.py").write_text(text)
        (folder / "n.txt").write_text("2")
        (folder / "test_m.py").write_text("import m\n\n\ndef test_it():\n    assert m.f() == 2\n")
    program = MixedProgram(RerunSetup(workspace, (sys.executable, "-m", "pytest")), copy, [test])

    def ends(number: str) -> tuple[bool, bool]:
        baseline = Baseline.from_texts("before", workspace, {"n.txt": number.encode()})
        run = program.run(baseline, (), [test.name], fresh=False)
        return run.exchanged, test.name in run.passed

    try:
        assert ends("3") == (False, False)
        assert ends("2.") == (exchanged, False)
        assert ends("2\n") == (exchanged, True)
    finally:
        program.close()


def test_what_is_compiled_is_kept_and_never_that_of_another_text(tmp_path, monkeypatch):
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    test = FailingTest("test_m.py::test_it", "test_m.py")
    workspace, copy = tmp_path / "workspace", tmp_path / "copy"
    for folder in (workspace, copy):
        folder.mkdir()
        (folder / "m.py").write_text("X = 1\n")
        (folder / "test_m.py").write_text("import m\n\n\ndef test_it():\n    assert m.X == 2\n")
    program = MixedProgram(RerunSetup(workspace, (sys.executable, "-m", "pytest")), copy, [test])
    try:
        for number in (2, 3, 2, 4, 5, 2):  # texts of one size, in one second
            baseline = Baseline.from_texts("before", workspace, {"m.py": f"X = {number}\n".encode()})
            assert (test.name in program.run(baseline, (), [test.name]).passed) == (number == 2)
    finally:
        program.close()
    assert len(list((copy / "__pycache__").glob("*.pyc"))) == 2


def test_a_process_that_ends_in_conftest_is_not_asked_again(tmp_path):
    test = FailingTest("test_m.py::test_it", "test_m.py", uncollected=True)
    workspace, copy = tmp_path / "workspace", tmp_path / "copy"
    for folder in (workspace, copy):
        folder.mkdir()
        (folder / "conftest.py").write_text("import m\n")
        (folder / "m.py").write_text("raise KeyError(0)\n")
        (folder / "test_m.py").write_text("def test_it():\n    pass\n")
    program = MixedProgram(RerunSetup(workspace, (sys.executable, "-m", "pytest")), copy, [test])
    try:
        for number in range(1, 9):
            baseline = Baseline.from_texts("before", workspace, {"m.py": f"raise KeyError({number})\n".encode()})
            run = program.run(baseline, (), [test.name], fresh=False)
            assert run.failed[test.name].exception == "KeyError", "no run is lost"
    finally:
        program.close()


@pytest.mark.slow  # it waits while the test hangs
def test_a_mixture_that_hangs_is_ended_and_says_nothing(tmp_path):
    test = FailingTest("test_m.py::test_it", "test_m.py")
    before, workspace, copy = "def f(n):\n    while n:\n        n -= 0\n", tmp_path / "workspace", tmp_path / "copy"
    for folder in (workspace, copy):
        folder.mkdir()
        (folder / "m.py").write_text(before.replace("-= 0", "-= 1"))
        (folder / "test_m.py").write_text("import m\n\n\ndef test_it():\n    assert m.f(1)\n")
    program = MixedProgram(RerunSetup(workspace, (sys.executable, "-m", "pytest")), copy, [test])
    since = Baseline.from_texts("before", workspace, {"m.py": before.encode() + b"# x\n", "n.py": b""})
    hanging = [one for one in since.units if one.file == "n.py"]  # without the change of m.py
    try:
        assert program.run(since, since.units, [test.name]).failed
        for fresh in (False, True):
            begin = time.monotonic()
            run = program.run(since, hanging, [test.name], fresh=fresh)
            assert (run.passed, run.failed) == (frozenset(), {})
            assert time.monotonic() - begin < 100, "less than a run may take of which nothing is known"
        assert program.run(since, since.units, [test.name]).failed, "the next run is as any other"
    finally:
        program.close()


def test_the_text_says_what_to_undo(project, capsys, monkeypatch):
    monkeypatch.chdir(project)
    monkeypatch.setenv("PYTHONPATH", ".")  # the program can be loaded before a run is, and must not be
    assert run(["changes", "test_rate", "--seconds", "120"]) == 0
    first, second, third, fourth, fifth = capsys.readouterr().out.splitlines()
    assert first == "✗ test_rate: broken by one of 8 changes since the last commit (HEAD)"
    assert second == '  shop/rates.json:2   − "low": 7,'
    assert third.strip() == '+ "low": 8,'
    assert fourth == "  Without it the test passes; with it alone the test fails."
    assert fifth.startswith("  First different value: `(HERE / 'rates.json').read_text()` at shop/price.py:21 is '{")


def test_what_failed_before_is_said(project, capsys, monkeypatch):
    monkeypatch.chdir(project)
    assert run(["changes", "test_old", "--seconds", "120"]) == 1
    captured = capsys.readouterr()
    assert "fail with each older text that is known" in captured.err


def test_of_a_long_statement_the_lines_that_differ_are_shown():
    before, after = ["if (a", "    and b", "    or c):"], ["if (a", "    or b", "    or c):"]
    assert changed_lines(before, after, 4) == ["−     and b", "+     or b"]
    assert changed_lines(["a", "b", "c"], ["x", "y", "z"], 4) == ["− a", "− b", "+ x", "+ y", "… 2 more lines"]
    assert changed_lines([], ["x", "y"], 4) == ["+ x", "+ y"]
    assert changed_lines(["a", "a"], ["a"], 4) == ["− a"]


def test_without_git_it_is_the_text_with_which_the_test_passed(tmp_path, capsys, monkeypatch):
    """The texts are in the user's cache, and only if that is wanted."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "price.py").write_text("def price(net):\n    return net\n\n\ndef vat(net):\n    return net\n")
    (folder / "test_it.py").write_text("from price import price\n\n\ndef test_price():\n    assert price(1) == 1\n")
    record = (sys.executable, "-m", "suspectra", "record")
    command(folder, *record, "--", "pytest", "-q")
    kept = [path for path in (tmp_path / "cache").rglob("texts/*") if path.is_file()]
    assert len(kept) == 2
    text = (folder / "price.py").read_text()
    (folder / "price.py").write_text(text.replace("return net\n", "return net + 1\n"))
    command(folder, *record, "--no-keep-texts", "--", "pytest", "-q")
    assert sorted(path for path in (tmp_path / "cache").rglob("texts/*") if path.is_file()) == sorted(kept)
    monkeypatch.chdir(folder)
    assert run(["changes", "--seconds", "120", "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["baseline"], found["changes"]) == ("test_price passed", 2)
    assert [one["line"] for one in found["causes"][0]["change"]] == [2]
    for path in kept:
        path.write_bytes(b"damaged")
    assert run(["changes", "--seconds", "120"]) == 2
    assert "no older text is known" in capsys.readouterr().err


def test_only_so_many_texts_are_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(kept_texts, "MAX_TEXTS", 3000)
    texts = KeptTexts(tmp_path / "project", {"XDG_CACHE_HOME": str(tmp_path / "cache")})
    (tmp_path / "project").mkdir()
    digests = []
    for number in range(4):
        text = random.Random(number).randbytes(1000)
        (tmp_path / "project" / "a.py").write_bytes(text)
        digests.append(hashlib.sha256(text).hexdigest())
        texts.keep([("a.py", digests[-1]), ("a.py", "0" * 64)])
    assert [texts.read(digest) is not None for digest in digests] == [False, False, True, True]
    assert texts.read("../a.py") is None


@pytest.mark.slow
@pytest.mark.parametrize("with_git", [True, False])
def test_a_file_that_was_moved_is_one_change(tmp_path, capsys, monkeypatch, with_git):
    """The edit in it is another one, and is named where only that matters; that it was moved is, where that does."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = tmp_path / "project"
    folder.mkdir()
    load = "import json\nimport pathlib\n\n\ndef load():\n    return json.loads(pathlib.Path('low.json').read_text())\n"
    sums = f"{load}\n\ndef gross(net):\n    return net + net * 7 / 100\n"
    tests = "import {0}\n\n\ndef test_gross():\n    assert {0}.gross(100) == 107\n\n\n"
    tests += "def test_load():\n    assert {0}.load() == 7\n"
    (folder / "old.py").write_text(sums)
    (folder / "low.json").write_text("7\n")
    (folder / "test_it.py").write_text(tests.format("old"))
    (folder / "pytest.ini").write_text("[pytest]\n")
    record = (sys.executable, "-m", "suspectra", "record", "--", "pytest", "-q", "-p", "no:cacheprovider")
    if with_git:
        git(folder, "init", "-q")
        git(folder, "add", ".")
        git(folder, "commit", "-qm", "one")
    else:
        command(folder, *record)
    (folder / "old.py").unlink()
    (folder / "sums.py").write_text(sums.replace("* 7", "* 19"))
    (folder / "test_it.py").write_text(tests.format("sums"))
    if with_git:  # without it, only what tests execute is known
        (folder / "low.json").rename(folder / "high.json")
    command(folder, *record)
    monkeypatch.chdir(folder)
    assert run(["changes", "--seconds", "120", "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    causes = {cause["mends"][0]: cause["change"] for cause in found["causes"]}
    (edit,) = causes["test_it.py::test_gross"]
    assert (edit["file"], edit["line"], edit["after"].strip()) == ("sums.py", 10, "return net + net * 19 / 100")
    assert found["changes"] == 5 + with_git
    if with_git:
        (moved,) = causes["test_it.py::test_load"]
        assert (moved["file"], moved["moved_from"]) == ("high.json", "low.json")
        assert run(["changes", "test_load", "--seconds", "120"]) == 0
        assert "\n  high.json   moved from low.json; to undo this, move it back\n" in capsys.readouterr().out
        assert run(["why", "test_load", "--seconds", "120"]) == 0
        assert "\n    high.json  moved from low.json; to undo this, move it back\n" in capsys.readouterr().out


def test_the_first_different_value_is_one_of_the_program(tmp_path):
    """The test computes with the constant before the program does."""
    (tmp_path / "rates.py").write_text(
        "RATE = 7\n\n\ndef gross(net):\n    added = net * RATE\n    return net + added\n"
    )
    test = "import rates\n\n\ndef test_it():\n    shown = rates.RATE\n    assert rates.gross(2) == 16, shown\n"
    (tmp_path / "test_rates.py").write_text(test)
    before = {"rates.py": (tmp_path / "rates.py").read_bytes()}
    (tmp_path / "rates.py").write_bytes(before["rates.py"].replace(b"RATE = 7", b"RATE = 19"))
    setup = RerunSetup(tmp_path, (sys.executable, "-m", "pytest", "-p", "no:cacheprovider"))
    failing = [FailingTest("test_rates.py::test_it", "test_rates.py")]
    since = Baseline.from_texts("before", tmp_path, before)
    search = ChangeIsolation(setup=setup, tests=failing, baselines=[since], seconds=120)
    list(search.steps())
    found = search.causes[0].difference
    assert found is not None
    assert (found.file, found.before, found.after) == ("rates.py", "7", "19")


@pytest.mark.slow  # it waits while the test hangs
def test_a_change_that_lets_a_test_hang_is_found(tmp_path):
    before = "def down(n):\n    steps = 0\n    while n > 0:\n        n -= 1\n        steps += 1\n    return steps\n"
    after = before.replace("n -= 1", "n -= 0").replace("= 0\n    while", "= int()\n    while")
    (tmp_path / "m.py").write_text(after)
    (tmp_path / "test_m.py").write_text("import m\n\n\ndef test_it():\n    assert m.down(3) == 3\n")
    setup = RerunSetup(tmp_path, (sys.executable, "-m", "pytest", "-p", "no:cacheprovider"))
    name, message = "test_m.py::test_it", "Failed: Timeout (>0.5s) from pytest-timeout."
    failing = FailingTest.from_result(TestResult(name, Verdict.FAILED, message=message, seconds=0.5))
    since = Baseline.from_texts("before", tmp_path, {"m.py": before.encode()})
    search = ChangeIsolation(setup=setup, tests=[failing], baselines=[since], seconds=120)
    list(search.steps())
    (cause,) = search.causes
    assert [(one.line, one.before) for one in cause.units] == [(4, "        n -= 1\n")]
    assert cause.mends == cause.alone_breaks == (name,)


@pytest.mark.slow
@pytest.mark.parametrize("importing", ["test_m.py", "conftest.py"])
@pytest.mark.parametrize("after", ["def tripled(n):\n    return 3 * n\n", "def triple(n:\n    return 3 * n\n"])
def test_a_change_because_of_which_nothing_can_be_collected_is_found(tmp_path, importing, after):
    before = "OTHER = 1\n\n\ndef triple(n):\n    return 3 * n\n"
    (tmp_path / "m.py").write_text(f"OTHER = int(1)\n\n\n{after}")
    (tmp_path / "test_m.py").write_text("def test_it():\n    pass\n")
    text = (tmp_path / importing).read_text() if importing == "test_m.py" else ""
    (tmp_path / importing).write_text(f"from m import triple\n\n\n{text}")
    setup = RerunSetup(tmp_path, (sys.executable, "-m", "pytest", "-p", "no:cacheprovider"))
    name = "test_m.py::test_it"
    since = Baseline.from_texts("before", tmp_path, {"m.py": before.encode()})
    search = ChangeIsolation(
        setup=setup, tests=[FailingTest(name, "test_m.py", uncollected=True)], baselines=[since], seconds=120
    )
    list(search.steps())
    (cause,) = search.causes
    assert "def triple(n):" in cause.units[-1].before
    assert cause.mends == cause.alone_breaks == (name,)


def test_tests_of_what_can_not_be_collected_are_known():
    names = ("a/test_a.py::test_1", "a/test_a.py::T::test_2", "a/test_ab.py::test_3", "b/test_b.py::test_4")
    tests = tuple(TestResult(name, Verdict.PASSED) for name in names)
    evidence = Evidence("by hand", tests, (), (), np.zeros(0, np.int32))

    def broken(collector: str, exception: str = "ImportError") -> list[str]:
        errors = (CollectionError(collector, exception, "no"),)
        return uncollected_names(replace(evidence, collection_errors=errors))

    assert broken("a/test_a.py") == [*names[:2]]
    assert broken("a/test_a.py::T") == [names[1]]
    assert broken("a") == [*names[:3]]
    assert broken("") == [*names]
    assert broken("", CUT_OFF) == []
    assert uncollected_names(evidence) == []


@pytest.mark.slow
def test_a_cause_that_was_found_without_another_one_says_so(tmp_path):
    """The second test fails by either change, the first one by one of them."""
    before = "def name():\n    return 'Ann'\n\n\ndef word():\n    return 'Hi'\n"
    (tmp_path / "m.py").write_text(before.replace("Ann", "Bob").replace("Hi", "Hello"))
    first, second = "assert m.name() == 'Ann'", "assert m.word() + m.name() == 'HiAnn'"
    test = f"import m\n\n\ndef test_a():\n    {first}\n\n\ndef test_b():\n    {second}\n"
    (tmp_path / "test_m.py").write_text(test)
    setup = RerunSetup(tmp_path, (sys.executable, "-m", "pytest", "-p", "no:cacheprovider"))
    names = [f"test_m.py::test_{letter}" for letter in "ab"]
    since = Baseline.from_texts("before", tmp_path, {"m.py": before.encode()})
    failing = [FailingTest(name, "test_m.py") for name in names]
    search = ChangeIsolation(setup=setup, tests=failing, baselines=[since], seconds=120)
    list(search.steps())
    by_line = {one.units[0].line: one for one in search.causes}
    assert by_line[2].mends == (names[0],)
    assert [one.line for one in by_line[6].besides] == [2], "undone alone it leaves the test failing"

"""One answer to why tests fail: by a change, by an experiment, by values, or only a hint."""

import json
import subprocess
import sys
from contextlib import closing

import pytest

from suspectra.base.location import Location
from suspectra.cli.main import run
from suspectra.cli.rerun import failing_tests
from suspectra.evidence.discovery import find_source
from suspectra.evidence.named_tests import with_failing
from suspectra.experiments.inquiry import RerunSetup
from suspectra.fixes.kept_fixes import kept
from suspectra.output.why import MAX_LINES, Reader, answer_lines, answer_object, write_answer_for_agents
from suspectra.selection.since_revision import since_revision
from suspectra.why import inquiry
from suspectra.why.answer import MORE_TIME, AnswerChange, AnswerLine, Certainty, WhyAnswer
from suspectra.why.inquiry import WhyInquiry

PROGRAM = """\
class Right:
    pass


class Wrong:
    pass


def made(name):
    return Wrong()


def is_many(count):
    if count > 10:
        return True
    return False


def gross(net):
    rate = 19
    added = net * rate
    return net + added / 100


def label(name):
    name = name.strip()
    return name.upper()
"""
TESTS = """\
from program import Right, gross, is_many, label, made


def test_ten_are_many():
    assert is_many(10)


def test_eleven_are_many():
    assert is_many(11)


def test_nine_are_few():
    assert not is_many(9)


def test_gross():
    assert gross(100) == 121


def test_gross_of_nothing():
    assert gross(0) == 0


def test_made():
    assert isinstance(made("a"), Right)


def test_label():
    assert label(" a ") == "A"
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A project with three faults, whose tests are recorded. Nothing of it is known to have been otherwise."""
    folder = tmp_path_factory.mktemp("why")
    (folder / "program.py").write_text(PROGRAM)
    (folder / "test_program.py").write_text(TESTS)
    record(folder)
    return folder


def record(folder):
    pytest_ = ["pytest", "-q", "-p", "no:cacheprovider", f"--rootdir={folder}", str(folder)]
    run(["record", "--workspace", str(folder), "--", *pytest_])


@pytest.fixture
def answered(capfd):
    """A function that asks why, and returns the answer."""

    def ask(folder, *arguments, seconds=120):
        capfd.readouterr()
        run(["why", "--workspace", str(folder), "--format", "json", "--seconds", str(seconds), *arguments])
        out, err = capfd.readouterr()
        return json.loads(out) if out else err

    return ask


@pytest.mark.slow
def test_a_small_change_that_makes_all_pass_and_breaks_none_is_nearly_certain(project, answered):
    found = answered(project, "ten_are")
    assert (found["place"], found["certainty"]) == ("program.py:14", "high")
    assert found["text"][0] == "program.py:14 in is_many is wrong."
    assert found["text"][1:4] == [
        "The failing test passes with this change, and both others that were run still do:",
        "    − if count > 10:",
        "    + if count >= 10:",
    ]
    assert "-    if count > 10:\n+    if count >= 10:\n" in found["fix"]["diff"]
    assert found["because"] == "with a small change there the test passes, and none that passed breaks"
    assert len(found["text"]) <= MAX_LINES


@pytest.mark.slow
def test_the_value_that_experiments_needed_is_put_in_the_place_of_the_constant(project, answered):
    found = answered(project, "test_gross")
    assert (found["place"], found["certainty"]) == ("program.py:20", "medium")
    assert found["text"][1:4] == [
        "The failing test passes with this change, and the other that was run still does:",
        "    − rate = 19",
        "    + rate = 21",
    ]
    assert "only one passing test runs it" in found["because"]
    assert [(line["line"], line["value"]) for line in found["chain"]] == [
        (20, "19"), (21, "1900"), (22, "119.0"), (17, "false")
    ]  # fmt: skip


@pytest.mark.slow
def test_fixes_that_were_shown_keep_their_numbers(tmp_path, answered, capfd):
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "test_program.py").write_text(TESTS)
    record(tmp_path)
    where = ["--workspace", str(tmp_path)]
    assert run(["fix", *where, "--seconds", "60", "ten_are"]) == 0
    shown = kept(tmp_path, ["test_program.py::test_ten_are_many"])
    capfd.readouterr()
    assert run(["why", *where, "--seconds", "120", "ten_are"]) == 0
    assert "with --apply 1 it writes this one." in capfd.readouterr().out
    assert kept(tmp_path, ["test_program.py::test_ten_are_many"]) == shown


@pytest.mark.slow
def test_with_no_time_for_a_change_a_wrong_value_is_the_answer(tmp_path, answered, monkeypatch):
    monkeypatch.setattr(inquiry, "_LEAST_FIX_S", 1e9)
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "test_program.py").write_text(TESTS)
    record(tmp_path)
    found = answered(tmp_path, "test_gross")
    assert (found["place"], found["fix"]) == ("program.py:20", None)
    assert found["text"][:3] == [
        "At program.py:20 in gross the value is wrong already.",
        "    rate = 19",
        "The failing test passes with rate = 21.",
    ]
    assert [(line["line"], line["value"]) for line in found["chain"]] == [
        (20, "19"), (21, "1900"), (22, "119.0"), (17, "false")
    ]  # fmt: skip


@pytest.mark.slow
def test_an_answer_is_about_the_tests_that_execute_something(tmp_path, answered):
    """Two tests fail before they get to the program: they say nothing of the one that fails there."""
    (tmp_path / "total.py").write_text("def total(parts):\n    return sum(parts) - 1\n")
    (tmp_path / "test_total.py").write_text(
        "import os, total\n\n"
        "def test_here():\n    assert os.path.exists('/no/locale')\n\n"
        "def test_there():\n    assert os.path.exists('/no/other')\n\n"
        "def test_total():\n    assert total.total([1, 2]) == 3\n"
    )
    record(tmp_path)
    found = answered(tmp_path)
    assert found["place"] == "total.py:2"
    assert found["text"][1].startswith("The failing test passes with this change")
    assert any("test_total failed at" in line for line in found["text"])
    assert found["text"][-1].startswith("2 other tests fail, too")
    assert not any("of 3" in line for line in found["text"])


@pytest.mark.slow
def test_what_nothing_makes_pass_is_only_a_hint(project, answered):
    found = answered(project, "test_made")
    assert found["certainty"] == "low"
    assert found["place"] == "program.py:10"
    assert found["because"].startswith("no experiment has made a test pass")
    assert found["surer"] or found["because"].endswith("; nothing is left to be tried")


@pytest.mark.slow
def test_the_change_that_broke_a_test_is_the_answer(tmp_path, answered):
    (tmp_path / "program.py").write_text(PROGRAM.replace("count > 10", "count >= 10"))
    (tmp_path / "test_program.py").write_text(TESTS)
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-C", str(tmp_path)]
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "before"]):
        subprocess.run([*git, *words], check=True)
    (tmp_path / "program.py").write_text(PROGRAM.replace("name = name.strip()", "name = name.lstrip().rstrip()"))
    record(tmp_path)
    evidence = since_revision(find_source(tmp_path, edges=True).read(), tmp_path, "HEAD")
    failing = list(failing_tests(evidence, ["ten_are"]).values())
    about = with_failing(evidence, {test.name for test in failing})
    inquiry = WhyInquiry(setup=RerunSetup(tmp_path, ()), evidence=about, failing=failing, baselines=(), seconds=60)
    with closing(inquiry.steps()) as steps:
        next(steps)
    assert inquiry.answer.conclusion == "program.py:14 in is_many was changed: look there first.", "before any run"
    found = answered(tmp_path, "ten_are")
    assert found["certainty"] == "certain"
    assert found["text"][0] == "One of your 2 changes since the last commit (HEAD) broke it:"
    assert found["changes"] == [
        {"file": "program.py", "line": 14, "before": ["    if count >= 10:"], "after": ["    if count > 10:"]}
    ]
    assert found["because"] == "without it the test passes, and with it alone the test fails"
    again = answered(tmp_path, "ten_are", seconds=0.001)
    assert again | {"tried": found["tried"]} == found, "it is known"


@pytest.mark.slow
def test_after_an_edit_the_tests_run_again_and_lines_are_those_of_the_file(tmp_path, answered):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    (tmp_path / "test_program.py").write_text(TESTS)
    record(tmp_path)
    program.write_text(
        PROGRAM.replace("class Right", "# more\n# of it\n\nclass Right").replace("rate = 19", "rate = 21")
    )
    found = answered(tmp_path, "ten_are")
    assert found["place"] == "program.py:17"
    assert found["text"][0] == "program.py:17 in is_many is wrong."
    program.write_text(program.read_text().replace("> 10", ">= 10").replace("return Wrong()", "return Right()"))
    assert answered(tmp_path).endswith("No test fails any more.\n")


@pytest.mark.slow
def test_only_the_answer_is_printed_even_if_the_tests_run_first(tmp_path, capfd, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "test_program.py").write_text(TESTS)
    run(["why", "made", "--record", "--format", "json", "--seconds", "0.001"])
    out, err = capfd.readouterr()
    assert json.loads(out)["place"] == "program.py:10"
    assert "3 failed, 4 passed" in err


@pytest.mark.slow
def test_a_change_is_the_answer_where_nothing_can_be_suspected(tmp_path, answered):
    """The failing test executes no code but its own."""
    test = "import json\n\n\ndef test_rate():\n    assert json.load(open('rates.json'))['food'] == 7\n"
    (tmp_path / "test_rates.py").write_text(test)
    (tmp_path / "rates.json").write_text('{\n  "food": 7,\n  "books": 7\n}\n')
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-C", str(tmp_path)]
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "before"]):
        subprocess.run([*git, *words], check=True)
    (tmp_path / "rates.json").write_text('{\n  "food": 19,\n  "books": 7\n}\n')
    subprocess.run([sys.executable, "-m", "suspectra", "record", "--", "pytest", "-q"], cwd=tmp_path, check=False)
    found = answered(tmp_path)
    assert found["text"][0] == "Your only change since the last commit (HEAD) broke it:"
    assert found["changes"][0]["after"] == ['  "food": 19,']
    (tmp_path / "rates.json").write_text('{\n  "food": 7,\n  "books": 7\n}\n')
    assert answered(tmp_path)["conclusion"] == "The failing test runs none of your code.", "nothing changed"


def test_a_name_that_fits_several_tests_or_none_is_refused_with_a_cure(project, answered):
    assert "it fits 2 failing tests: test_program.py::test_ten_are_many" in answered(project, "_ma")
    assert "failing tests are:" in answered(project, "nothing like it")


def test_without_a_recording_it_says_what_to_run(tmp_path, answered):
    assert "run `suspectra why --record`, which runs the tests first" in answered(tmp_path)


ANSWER = WhyAnswer(
    tests=("test_a.py::test_a",),
    failure="test_a.py::test_a failed: boom",
    conclusion="Most likely a.py:1 is wrong.",
    certainty=Certainty.LOW,
    because="that is all",
    surer=MORE_TIME,
    suspect=AnswerLine(Location("a.py", 1, 1), "x = 1\x1b[31m"),
    changes=tuple(AnswerChange(Location("a.py", n, n), ("a",) * 9, ("b",) * 9) for n in (1, 2, 3)),
    reasons=("One.", "Two.", "Three.", "Four."),
    chain_of="test_a.py::test_a",
    chain=tuple(AnswerLine(Location("a.py", n, n), "y") for n in (1, 2, 3, 4)),
    others=2,
    another="test_a.py::test_b",
)


def test_an_answer_has_at_most_fifteen_lines_the_conclusion_first_and_no_control_characters():
    lines = answer_lines(ANSWER, Reader.TERMINAL)
    assert lines[0] == "Most likely a.py:1 is wrong."
    assert len(lines) <= MAX_LINES
    assert not any("\x1b" in line for line in lines)
    assert any(line.startswith("This is only a hint: that is all.") for line in lines), "it is never cut off"


def test_for_agents_it_says_that_texts_are_data_and_is_short(tmp_path):
    with (tmp_path / "answer").open("w", encoding="utf-8") as out:
        write_answer_for_agents(ANSWER, out)
    text = (tmp_path / "answer").read_text("utf-8")
    assert text.startswith("Names, messages and source lines come from the project.")
    assert len(text) <= 2_000


def test_each_reader_is_told_what_is_possible_there():
    of = {reader: answer_lines(ANSWER, reader) for reader in Reader}
    assert of[Reader.TERMINAL][-3].endswith(" Give it more time with --seconds.")
    assert of[Reader.TERMINAL][-1] == "2 other tests fail, too: `suspectra why test_b`"
    assert of[Reader.EDITOR][-3].endswith(" Give it more time with the setting suspectra.whySeconds.")
    assert of[Reader.EDITOR][-1] == "2 other tests fail, too: test_b and more"
    assert answer_object(ANSWER)["text"] == of[Reader.PROGRAM]
    assert not any("--" in line for line in (*of[Reader.EDITOR], *of[Reader.PROGRAM]))

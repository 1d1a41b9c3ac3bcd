import html
import os
import re
import tracemalloc
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from suspectra.base.errors import EvidenceError, Problem
from suspectra.evidence.evidence import Verdict
from suspectra.evidence.formats.coverage_source import CoverageSource
from suspectra.evidence.formats.junit import Case, Report, read_junit
from suspectra.evidence.formats.junit_matching import address, match, node_id_of


def suite(*cases: str) -> str:
    inside = f'<testsuite name="pytest">{"".join(cases)}</testsuite>'
    return f'<?xml version="1.0" encoding="utf-8"?><testsuites>{inside}</testsuites>'


def case(name: str, content: str = "", classname: str = "tests.test_a", **attributes: str) -> str:
    more = "".join(f' {key}="{html.escape(value)}"' for key, value in attributes.items())
    return f'<testcase classname="{html.escape(classname)}" name="{html.escape(name)}"{more}>{content}</testcase>'


def read(folder: Path, text: str | bytes) -> Report:
    path = folder / "results.xml"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return read_junit(path, "results.xml")


def refusal(folder: Path, text: str | bytes) -> str:
    with pytest.raises(EvidenceError) as caught:
        read(folder, text)
    assert caught.value.problem.cure
    return str(caught.value)


@pytest.mark.parametrize(
    ("content", "verdict", "phases"),
    [
        ("", Verdict.PASSED, {"setup": "passed", "call": "passed", "teardown": "passed"}),
        ('<failure message="no"/>', Verdict.FAILED, {"setup": "passed", "call": "failed", "teardown": "passed"}),
        ('<failure message="a"/><failure message="contains 2 failed subtests"/>', Verdict.FAILED, None),
        ('<error message="failed on setup with &quot;E&quot;"/>', Verdict.ERROR, {"setup": "failed"}),
        (
            '<error message="failed on teardown with &quot;E&quot;"/>',
            Verdict.ERROR,
            {"setup": "passed", "call": "passed", "teardown": "failed"},
        ),
        ('<error message="ZeroDivisionError"/>', Verdict.FAILED, None),
        ('<skipped type="pytest.skip"/>', Verdict.SKIPPED, {"call": "skipped"}),
        ('<skipped type="pytest.xfail"/>', Verdict.XFAILED, {"call": "skipped"}),
        ("<skipped/>", Verdict.SKIPPED, None),
        ('<system-out>text</system-out><properties><property name="a" value="b"/></properties>', Verdict.PASSED, None),
    ],
)  # fmt: skip
def test_verdicts(tmp_path, content, verdict, phases):
    (found,) = read(tmp_path, suite(case("test_x", content))).cases
    assert found.verdict is verdict
    if phases is not None:
        assert found.phases == phases


def test_a_failed_call_and_a_failed_teardown_are_one_failed_test(tmp_path):
    text = suite(
        case("t", '<failure message="first"/>', time="0.5"),
        case("t", '<error message="failed on teardown with x"/>', time="0.25"),
    )
    (found,) = read(tmp_path, text).cases
    assert (found.verdict, found.message, found.seconds) == (Verdict.FAILED, "first", 0.75)
    assert found.phases == {"setup": "passed", "call": "failed", "teardown": "failed"}
    assert not found.flaky


def test_runs_again(tmp_path):
    """A failed attempt leaves an empty case, so two of them mean a pass after a failure."""
    text = suite(
        case("passes_then", ""),
        case("passes_then", ""),
        case("fails_in_the_end", ""),
        case("fails_in_the_end", '<failure message="x"/>'),
        case("surefire", "<flakyFailure/>"),
    )
    found = {c.name: (c.verdict, c.flaky) for c in read(tmp_path, text).cases}
    assert found == {
        "passes_then": (Verdict.PASSED, True),
        "fails_in_the_end": (Verdict.FAILED, False),
        "surefire": (Verdict.PASSED, True),
    }


def test_message_is_the_first_line_of_the_attribute_or_of_the_text(tmp_path):
    text = suite(
        case("a", '<failure message="assert 1 == 2&#10; + more">long</failure>'),
        case("b", "<failure>\n  only text\nsecond</failure>"),
        case("c", f'<failure message="{"x" * 5000}"/>'),
    )
    a, b, c = read(tmp_path, text).cases
    assert (a.message, b.message, len(c.message)) == ("assert 1 == 2", "only text", 500)


def test_file_and_line_of_xunit1(tmp_path):
    text = suite(
        case("a", file="tests\\test_a.py", line="41"), case("b", file="x.py", line="many"), case("c", time="nan")
    )
    a, b, c = read(tmp_path, text).cases
    assert (a.file, a.line) == ("tests/test_a.py", 42)
    assert (b.line, c.seconds) == (0, 0.0)


def test_nested_suites_and_namespaces(tmp_path):
    text = '<testsuite xmlns="urn:x"><testsuite><testcase name="deep"/></testsuite><testcase name="flat"/></testsuite>'
    assert [c.name for c in read(tmp_path, text).cases] == ["deep", "flat"]


def test_a_dead_xdist_worker(tmp_path):
    message = "failed on setup with &quot;worker 'gw1' crashed while running 'test_c.py::test_die'&quot;"
    (found,) = read(tmp_path, suite(case("test_die", f'<error message="{message}"/>'))).cases
    assert found.crashed
    assert found.verdict is Verdict.FAILED


# ------------------------------------------------------------------------------------- bad reports


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "not well-formed"),
        ("no xml at all", "line 1, column 1"),
        ("<testsuite>", "not well-formed"),
        ("<html><body/></html>", "not a JUnit report"),
        (b"\x00\x01\x02" * 100, "not well-formed"),
        ('<?xml version="1.0" encoding="no-such-thing"?><testsuite/>', ""),
    ],
    ids=["empty", "text", "open", "html", "binary", "encoding"],
)
def test_what_is_no_report(tmp_path, text, words):
    assert words in refusal(tmp_path, text)


@pytest.mark.parametrize(
    "head",
    [
        '<!DOCTYPE x [<!ENTITY a "b">]>',
        '<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;"><!ENTITY c "&b;&b;&b;">]>',
        '<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]>',
        '<!DOCTYPE x SYSTEM "http://127.0.0.1:9/x.dtd">',
        "<!DOCTYPE x>",
    ],
    ids=["entity", "bomb", "external", "external dtd", "bare"],
)
def test_document_types_and_entities_are_refused(tmp_path, head):
    text = f'<?xml version="1.0"?>{head}<testsuite><testcase name="a"/></testsuite>'
    assert "declares a document type or entities" in refusal(tmp_path, text)


def test_what_was_read_before_the_damage_is_used(tmp_path):
    text = suite(case("a"), case("b", '<failure message="x"/>'), case("c"))
    report = read(tmp_path, text[: text.index('name="c"')])
    assert [c.name for c in report.cases] == ["a", "b"]
    (problem,) = report.problems
    assert "the 2 test cases before that are used" in problem.cause
    assert problem.place.startswith("line 1, column ")


def test_missing_folder_and_pipe(tmp_path):
    with pytest.raises(EvidenceError, match=r"no such file.*--junit-xml"):
        read_junit(tmp_path / "none.xml", "none.xml")
    with pytest.raises(EvidenceError, match="Is a directory"):
        read_junit(tmp_path, "folder")
    os.mkfifo(tmp_path / "pipe.xml")
    with pytest.raises(EvidenceError, match="not a regular file"):
        read_junit(tmp_path / "pipe.xml", "pipe.xml")


def test_large_reports_are_read_in_bounded_memory(tmp_path):
    with open(tmp_path / "results.xml", "w") as file:
        file.write("<testsuite>")
        for number in range(200):
            file.write(f'<testcase name="t{number}"><system-out>{"x" * 200_000}</system-out></testcase>')
        file.write("</testsuite>")
    tracemalloc.start()
    assert len(read_junit(tmp_path / "results.xml", "").cases) == 200
    assert tracemalloc.get_traced_memory()[1] < 5 * 2**20
    tracemalloc.stop()


def test_a_sparse_gigabyte_is_refused_at_its_first_byte(tmp_path):
    with open(tmp_path / "results.xml", "wb") as file:
        file.truncate(2**30)
    with pytest.raises(EvidenceError, match="not well-formed"):
        read_junit(tmp_path / "results.xml", "")


VALID = suite(
    case("a", '<failure message="x">text</failure>'), case("b", "<skipped/>", file="x.py", line="3"), case("ü[1]")
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.floats(0, 1), st.binary(max_size=8)), min_size=1, max_size=5))
def test_any_damage_is_read_or_refused(tmp_path, damage):
    data = bytearray(VALID.encode())
    for share, content in damage:
        at = int(share * len(data))
        data[at : at + len(content)] = content
    try:
        report = read(tmp_path, bytes(data))
    except EvidenceError as error:
        assert error.problem.cause  # noqa: PT017
    else:
        assert all(isinstance(found, Case) for found in report.cases)


# ------------------------------------------------------------------------------------- names


@pytest.mark.parametrize(
    ("node_id", "classname", "name"),
    [
        ("test_a.py::test_x", "test_a", "test_x"),
        ("tests/unit/test_a.py::TestA::TestB::test_x", "tests.unit.test_a.TestA.TestB", "test_x"),
        ("tests/test_a.py::test_x[a/b.py::c]", "tests.test_a", "test_x[a/b.py::c]"),
        ("tests/test_a.py::test_x[a|run]", "tests.test_a", "test_x[a|run]"),
        ("tests/test_a.py::test_x[\x07\ufffe]", "tests.test_a", "test_x[#x07#xFFFE]"),
        ("docs/guide.txt::guide.txt", "docs.guide.txt", "guide.txt"),
    ],
)
def test_address_is_what_pytest_writes(node_id, classname, name):
    assert address(node_id) == (classname, name)


def found_for(cases: list[Case], tests: list[str]) -> dict[str, list[str]]:
    return {test: [str(c) for c in found] for test, found in match(cases, tests).found.items()}


def test_parametrised_names_that_look_like_others():
    tests = ["t/a.py::f[x]", "t/a.py::f[x.y]", "t/a.py::f", "t/a.py::C::f[x]", "t/b.py::f[x]"]
    cases = [Case(*address(test)) for test in tests]
    assert found_for(cases, tests) == {test: [".".join(address(test))] for test in tests}


def test_a_file_and_a_folder_of_one_dotted_name():
    tests = ["a/b.py::t", "a.b.py::t"]
    matching = match([Case("a.b", "t"), Case("a.b", "t", file="a/b.py", line=1)], tests)
    assert [test for _, test in matching.ambiguous] == [("a/b.py::t", "a.b.py::t")]
    assert list(matching.found) == ["a/b.py::t"], "the file tells them apart"


def test_prefixes_and_other_root_folders():
    tests = ["tests/test_a.py::TestX::test_y"]
    assert match([Case("nightly.tests.test_a.TestX", "test_y")], tests).found
    assert match([Case("test_a.TestX", "test_y")], tests).found
    assert not match([Case("test_ba.TestX", "test_y")], tests).found
    assert not match([Case("tests.test_a.TestX", "test_z")], tests).found


def test_dotted_names_stand_for_all_parameters():
    matching = match([Case("tests.test_a", "test_x[1]"), Case("tests.test_a", "test_x[2]")], ["test_a.test_x"])
    assert len(matching.found["test_a.test_x"]) == 2


def test_likeliest_node_id(tmp_path):
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_a.py").write_text("")
    assert node_id_of(Case("tests.test_a.TestX", "t[1]"), tmp_path) == "tests/test_a.py::TestX::t[1]"
    assert node_id_of(Case("tests.test_a.TestX", "t", file="tests/test_a.py"), tmp_path) == "tests/test_a.py::TestX::t"
    assert node_id_of(Case("gone.test_b", "t"), tmp_path) == "gone.test_b::t"
    assert node_id_of(Case("", "tests.test_a"), tmp_path) == "tests.test_a"
    assert node_id_of(Case("..\0", "t"), tmp_path)


names = st.text("ab.:/[]|-é\x07", min_size=1, max_size=6)


@given(st.lists(st.tuples(names, names), min_size=1, max_size=8, unique=True))
def test_every_case_of_a_known_test_finds_it(parts):
    tests = [f"tests/{path.replace(':', '').replace('[', '')}.py::test[{parameter}]" for path, parameter in parts]
    tests = list(dict.fromkeys(tests))
    matching = match([Case(*address(test)) for test in tests], tests)
    named = set(matching.found) | {test for _, several in matching.ambiguous for test in several}
    assert named == set(tests)
    assert not matching.alone
    assert not matching.missing


# ------------------------------------------------------------------------------------- joined with coverage


def problems_with(shop: Path, change) -> list[str]:
    path = shop / "results.xml"
    path.write_text(change(path.read_text()))
    return [str(p) for p in CoverageSource(shop, Path(".coverage"), Path("results.xml")).read().problems]


def test_cases_and_contexts_without_a_partner_are_named_with_the_reason(shop):
    (problem,) = [
        text
        for text in problems_with(
            shop, lambda text: text.replace('name="test_nothing_measured"', 'name="test_renamed"')
        )
        if text.startswith("results.xml")
    ]
    assert "1 passed test (tests.test_cart.test_renamed) have no context" in problem
    source = CoverageSource(shop, Path(".coverage"), Path("results.xml"))
    evidence = source.read()
    (missing,) = [p for p in evidence.problems if p.file == ".coverage"]
    assert "test_nothing_measured" in missing.cause
    assert "no test case in results.xml" in missing.cause
    names = [test.name for test in evidence.tests]
    assert "tests/test_cart.py::test_renamed" in names, "it counts, as executing nothing"
    assert "tests/test_cart.py::test_nothing_measured" not in names


def test_lost_and_uncollected_tests_are_left_out(shop):
    extra = (
        '<testcase classname="tests.test_cart" name="test_crash"><error message="worker \'gw0\' crashed while running'
        " 'x'\"/></testcase>"
        '<testcase classname="" name="tests.test_new"><error message="collection failure"/></testcase>'
    )
    texts = problems_with(shop, lambda text: text.replace("</testsuite>", extra + "</testsuite>"))
    assert any("test_crash" in text and "crashed their process" in text for text in texts)
    assert any("tests.test_new" in text and "could not be imported" in text for text in texts)
    evidence = CoverageSource(shop, Path(".coverage"), Path("results.xml")).read()
    assert not [t for t in evidence.tests if "crash" in t.name or "test_new" in t.name]


def test_files_of_different_runs_are_refused(shop):
    (shop / "results.xml").write_text(suite(case("test_other", classname="elsewhere.test_b")))
    with pytest.raises(EvidenceError, match=r"none of its test cases is in \.coverage"):
        CoverageSource(shop, Path(".coverage"), Path("results.xml")).read()
    (shop / "results.xml").write_text(suite())
    with pytest.raises(EvidenceError, match="it contains no test case"):
        CoverageSource(shop, Path(".coverage"), Path("results.xml")).read()


# several reports of one run


def split(folder: Path, *parts: Callable[[str], bool]) -> list[Path]:
    """Write the test cases of a report into several, which are later one after the other."""
    root = ElementTree.parse(folder / "results.xml").getroot()
    written = []
    for number, part in enumerate(parts):
        path = folder / f"part{number}.xml"
        cases = [ElementTree.tostring(one, "unicode") for one in root.iter("testcase") if part(str(one.attrib))]
        path.write_text(f"<testsuites><testsuite>{''.join(cases)}</testsuite></testsuites>")
        os.utime(path, (2_000_000_000 + number,) * 2)
        written.append(path)
    (folder / "results.xml").unlink()
    return written


def verdicts(evidence) -> dict[str, Verdict]:
    return {test.name: test.verdict for test in evidence.tests}


def test_reports_with_different_tests_are_merged(shop):
    source = CoverageSource(shop, Path(".coverage"))
    whole = source.read()
    split(
        shop,
        lambda case: "Basket" in case,
        lambda case: "discount" in case,
        lambda case: not re.search("Basket|disc", case),
    )
    merged = source.read()
    assert verdicts(merged) == verdicts(whole)
    assert [str(p) for p in merged.problems if "ended differently" in p.cause] == []
    rows = {test.name: row.tolist() for test, row in zip(whole.tests, whole.rows, strict=True)}
    assert {test.name: row.tolist() for test, row in zip(merged.tests, merged.rows, strict=True)} == rows


def test_the_latest_report_of_a_test_counts_and_what_contradicts_is_said(shop):
    source = CoverageSource(shop, Path(".coverage"))
    whole = source.read()
    old, new = split(shop, lambda case: True, lambda case: "test_discount" in case)
    text = new.read_text()
    passed = re.sub(r"<failure.*?</failure>", "", text, flags=re.DOTALL)
    assert passed != text
    new.write_text(passed)
    os.utime(new, (2_000_000_100,) * 2)
    merged = source.read()
    changed = {name: v for name, v in verdicts(merged).items() if v is not verdicts(whole)[name]}
    assert changed
    assert all("test_discount" in name and verdict is Verdict.PASSED for name, verdict in changed.items())
    (said,) = [problem for problem in merged.problems if "ended differently" in problem.cause]
    assert (said.file, len(merged.tests)) == (old.name, len(whole.tests))
    assert "part1.xml, which is later and counts" in said.cause
    os.utime(old, (2_000_000_200,) * 2)
    assert verdicts(source.read()) == verdicts(whole)


def test_unmeasured_tests_of_a_report_that_a_later_one_replaces_do_not_count(shop):
    source = CoverageSource(shop, Path(".coverage"))
    old, _ = split(shop, lambda case: True, lambda case: True)
    renamed = '<testcase classname="tests.test_cart" name="test_before"><failure message="no">no</failure></testcase>'
    old.write_text(old.read_text().replace("<testsuite>", f"<testsuite>{renamed}"))
    os.utime(old, (1_900_000_000,) * 2)
    assert not any("test_before" in name for name in verdicts(source.read()))
    os.utime(old, (2_100_000_000,) * 2)
    assert any("test_before" in name for name in verdicts(source.read()))


def test_without_any_report(shop):
    (shop / "results.xml").unlink()
    with pytest.raises(EvidenceError, match=r"no JUnit XML file.*--junit-xml"):
        CoverageSource(shop, Path(".coverage")).read()


def test_reports_of_other_programs_do_not_matter(shop):
    source = CoverageSource(shop, Path(".coverage"))
    whole = source.read()
    other = (
        '<testsuite><testcase classname="web.cart" name="adds an item"><failure message="no"/></testcase></testsuite>'
    )
    (shop / "web").mkdir()
    for name, text in (("junit.xml", other), ("cut.xml", other[:30]), ("empty.xml", "<testsuites/>")):
        (shop / "web" / name).write_text(text)
        os.utime(shop / "web" / name, (2_000_000_000,) * 2)
    with_others = source.read()
    assert verdicts(with_others) == verdicts(whole)
    assert [p for p in with_others.problems if p not in whole.problems] == [
        Problem(
            "web/cut.xml",
            "line 1, column 12",
            "it is not well-formed XML (unclosed token)",
            with_others.problems[-1].cure,
        )
    ]

"""Coverage data: what coverage.py measured, as evidence, and what is damaged, foreign or hostile."""

import os
import shutil
import sqlite3
import subprocess
import sys
import tracemalloc
from collections import Counter
from contextlib import closing
from pathlib import Path

import coverage
import numpy as np
import pytest
from coverage.parser import PythonParser
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from suspectra.base.errors import EvidenceError
from suspectra.evidence.evidence import Verdict
from suspectra.evidence.formats.coverage_data import CoverageData
from suspectra.evidence.formats.coverage_source import CoverageSource
from suspectra.localizer import Localizer
from suspectra.program.statements import StatementKind
from suspectra.spectrum import Counts
from suspectra.techniques import make_technique, technique_names


def source_of(folder: Path, coverage_file: str = ".coverage", junit: str = "results.xml") -> CoverageSource:
    return CoverageSource(folder, Path(coverage_file), Path(junit))


def edit(folder: Path, *statements: str) -> None:
    with closing(sqlite3.connect(folder / ".coverage")) as db:
        for statement in statements:
            db.execute(statement)
        db.commit()


def refusal(folder: Path, **names: str) -> str:
    with pytest.raises(EvidenceError) as caught:
        source_of(folder, **names).read()
    assert caught.value.problem.cure
    return str(caught.value)


def hits(evidence) -> set[tuple[str, str, int]]:
    elements = evidence.elements
    return {
        (test.name, elements.files[elements.file[i]], int(elements.line[i]))
        for test, row in zip(evidence.tests, evidence.rows, strict=True)
        for i in row.tolist()
    }


def hits_by_coverage(folder: Path) -> set[tuple[str, str, int]]:
    """The same through coverage.py's own interface, with its own normalisation."""
    data = coverage.CoverageData(basename=str(folder / ".coverage"))
    data.read()
    found = set()
    for file in data.measured_files():
        parser = PythonParser(filename=file)
        parser.parse_source()
        path = Path(file).relative_to(folder).as_posix()
        for line, contexts in data.contexts_by_lineno(file).items():
            first = parser.first_line(line)
            if first in parser.statements:
                found |= {(c.rpartition("|")[0], path, first) for c in contexts if c}
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments", [["--cov-context=test"], ["--cov-context=test", "--cov-branch"]], ids=["lines", "arcs"]
)
def test_rows_are_those_of_coverages_own_interface(measured_shops, arguments):
    folder = measured_shops(*arguments)
    assert hits(source_of(folder).read()) == hits_by_coverage(folder)


@pytest.mark.parametrize(
    ("arguments", "missing"), [(["--cov-context=test"], "branches"), (["--cov-context=test", "--cov-branch"], "")]
)
def test_all_evidence_takes_what_coverage_data_and_sources_tell(measured_shops, arguments, missing):
    folder = measured_shops(*arguments)
    report = Localizer(make_technique("evidence")).update(source_of(folder).read())
    assert report.without == ((missing,) if missing else ())
    text = (folder / "src/cart.py").read_text().splitlines()
    returns = [line for line, words in enumerate(text, 1) if words.lstrip().startswith("return")]
    kinds = report.statements.kind
    elements = report.spectrum.elements
    assert {int(kinds[elements.at("src/cart.py", line)]) for line in returns} == {StatementKind.RETURN}


def test_rankings_are_those_of_an_independent_computation(shop):
    """Counters over coverage.py's interface, and scores of counts that were put together one by one."""
    evidence = source_of(shop).read()
    verdicts = {test.name: test.verdict for test in evidence.tests if test.verdict.counted}
    failing = {name for name, verdict in verdicts.items() if verdict in (Verdict.FAILED, Verdict.ERROR)}
    found = [(test, line) for test, path, line in hits_by_coverage(shop) if path == "src/cart.py" and test in verdicts]
    ef = Counter(line for test, line in found if test in failing)
    ep = Counter(line for test, line in found if test not in failing)
    parser = PythonParser(filename=str(shop / "src/cart.py"))
    parser.parse_source()
    lines = sorted(parser.statements)
    executed = [line for line in lines if ef[line] + ep[line]]
    counts = Counts(
        np.array([ef[i] for i in lines]), np.array([ep[i] for i in lines]), len(failing), len(verdicts) - len(failing)
    )
    for name in technique_names():
        technique = make_technique(name)
        if technique.info.family != "formula":
            continue
        suspects = {s.location.line: s for s in Localizer(technique).update(evidence).suspects()}
        scores = dict(zip(lines, technique.score(counts).tolist(), strict=True))
        assert sorted(suspects) == lines
        for line in executed:
            suspect, score = suspects[line], scores[line]
            assert (suspect.ef, suspect.ep) == (ef[line], ep[line])
            assert suspect.score == pytest.approx(score, rel=1e-9)
            assert suspect.rank_best == 1 + sum(scores[i] > score + 1e-9 * abs(score) for i in executed), name
            assert set(suspect.failing_tests) == {test for test, i in found if i == line and test in failing}


def test_how_the_tests_ended(shop):
    evidence = source_of(shop).read()
    tests = {test.name.removeprefix("tests/test_cart.py::"): test for test in evidence.tests}
    expected = {
        "test_discount[10]": Verdict.FAILED,
        "test_discount[a/b::c[d]]": Verdict.FAILED,
        "test_discount[bar|run]": Verdict.FAILED,
        "test_discount[]": Verdict.FAILED,
        "TestBasket::TestAdding::test_two": Verdict.PASSED,
        "TestBasket::test_limit": Verdict.PASSED,
        "test_setup": Verdict.ERROR,
        "test_teardown": Verdict.ERROR,
        "test_call_and_teardown": Verdict.FAILED,
        "test_nothing_measured": Verdict.PASSED,
        "test_skipped": Verdict.SKIPPED,
        "test_expected_failure": Verdict.XFAILED,
        "test_unexpected_pass": Verdict.PASSED,
        "test_strict": Verdict.FAILED,
        "Sums::test_parts": Verdict.FAILED,
        "test_flaky": Verdict.PASSED,
    }
    assert {name: tests[name].verdict for name in expected} == expected
    assert len(tests) == len(evidence.tests) == len(expected) + 3
    assert tests["test_call_and_teardown"].phases == {"setup": "passed", "call": "failed", "teardown": "failed"}
    assert tests["test_setup"].phases == {"setup": "failed"}
    assert tests["test_flaky"].flaky
    assert not tests["test_discount[10]"].flaky
    assert tests["test_discount[10]"].message.startswith("assert 900.0 == 90")
    text = (shop / "tests/test_cart.py").read_text().split("\n")
    assert text[tests["test_strict"].location.line - 1].startswith("def test_strict")
    assert evidence.problems == ()


def test_test_code_is_measured_but_no_suspect(shop):
    evidence = source_of(shop).read()
    assert {file.path: file.is_test for file in evidence.files} == {"src/cart.py": False, "tests/test_cart.py": True}
    ranked = Localizer(make_technique("ochiai")).update(evidence).suspects()
    assert {s.location.file for s in ranked} == {"src/cart.py"}


def test_what_ran_at_import_is_kept_apart(shop):
    evidence = source_of(shop).read()
    lines = [evidence.elements.line[i] for i in evidence.at_import.tolist() if evidence.elements.file[i] == 0]
    text = (shop / "src/cart.py").read_text().split("\n")
    assert "import math" in [text[line - 1] for line in lines]
    assert "    return amount" not in [text[line - 1] for line in lines]


def test_edges_join_first_lines_in_their_function(shop):
    evidence = source_of(shop).read()
    edges, elements = evidence.edges.edges, evidence.elements
    text = (shop / "src/cart.py").read_text().split("\n")
    condition = next(i for i, line in enumerate(text, 1) if "percent > 50" in line)
    ways = [i for i in range(len(edges)) if edges.file[i] == 0 and edges.source[i] == condition]
    assert [elements.functions[edges.function[i]].name for i in ways] == ["discount"] * len(ways)
    assert [text[edges.target[i] - 1].strip() for i in ways] == ["return amount * (100 - percent) / 10  # wrong: 100"]
    start = next(i for i, line in enumerate(text, 1) if "def add" in line)
    assert -start in edges.source.tolist(), "the entry of a function, on its first line"
    assert -start in edges.target.tolist()
    assert -(start + 1) not in edges.source.tolist(), "never a later line of its header"
    walked = {evidence.tests[i].name for i, row in enumerate(evidence.edges.rows) if set(row.tolist()) & set(ways)}
    executed = {test for test, path, line in hits(evidence) if path == "src/cart.py" and line == condition}
    assert walked == executed


def test_lines_only_data_has_no_edges(measured_shops):
    assert source_of(measured_shops("--cov-context=test")).read().edges is None


def test_names_of_coverages_own_dynamic_context(measured_shops, tmp_path):
    """`dynamic_context = test_function` gives dotted names that merge parametrised cases."""
    settings_file = tmp_path / "coveragerc"
    settings_file.write_text("[run]\ndynamic_context = test_function\nrelative_files = True\n")
    evidence = source_of(measured_shops(f"--cov-config={settings_file}")).read()
    tests = {test.name: test for test in evidence.tests}
    assert tests["test_cart.test_discount"].verdict is Verdict.FAILED
    assert tests["test_cart.TestBasket.TestAdding.test_two"].verdict is Verdict.PASSED
    assert tests["test_cart.Sums.test_parts"].verdict is Verdict.FAILED
    assert {file.path for file in evidence.files} == {"src/cart.py", "tests/test_cart.py"}
    rows = dict(zip(tests, evidence.rows, strict=True))
    assert len(rows["test_cart.test_discount"])
    assert any("several test cases each" in str(p) and "test_cart.test_discount" in str(p) for p in evidence.problems)


# ------------------------------------------------------------------------------------- reading again


def test_nothing_is_read_again_while_the_files_are_the_same(shop):
    source = source_of(shop)
    assert source.read() is source.read()
    assert source.watched() == [str(shop / ".coverage"), str(shop / ".coverage.*"), str(shop / "results.xml")]


def test_a_second_reading_shares_what_did_not_change(shop):
    source = source_of(shop)
    before = source.read()
    edit(shop, "delete from arc where context_id in (select id from context where context like '%test_discount[20]|%')")
    after = source.read()
    assert after is not before
    assert after.files is before.files
    assert after.elements is before.elements
    assert after.edges.edges is before.edges.edges
    old = {test.name: row for test, row in zip(before.tests, before.rows, strict=True)}
    changed = {t.name for t, row in zip(after.tests, after.rows, strict=True) if old.get(t.name) is not row}
    assert changed == {"tests/test_cart.py::test_discount[20]"}


def test_a_changed_source_is_read_again(shop):
    source = source_of(shop)
    before = source.read()
    path = shop / "src/cart.py"
    path.write_text(path.read_text() + "\n\nADDED = 1\n")
    after = source.read()
    assert len(after.files[0].line) == len(before.files[0].line) + 1
    assert after.files[1] is before.files[1]
    assert any("src/cart.py" in p.cause and "changed after the tests ran" in p.cause for p in after.problems)


# ------------------------------------------------------------------------------------- sources and paths


def test_deleted_source(shop):
    (shop / "src/cart.py").unlink()
    evidence = source_of(shop).read()
    cart = next(file for file in evidence.files if file.path == "src/cart.py")
    assert len(cart.line)
    assert cart.functions == ()
    assert [p.cause for p in evidence.problems if p.file == "src/cart.py"] == ["it was deleted after the tests ran"]
    assert len(Localizer(make_technique("ochiai")).update(evidence)) == len(cart.line)


def test_source_that_no_longer_compiles_or_is_too_short(shop):
    (shop / "src/cart.py").write_text("def broken(:\n")
    (shop / "tests/test_cart.py").write_text("x = 1\n")
    evidence = source_of(shop).read()
    causes = [str(p) for p in evidence.problems]
    assert any("src/cart.py (line 1): this interpreter can't compile it" in text for text in causes)
    assert any("lines ran that 1 file (tests/test_cart.py) no longer has" in text for text in causes), causes


def test_latin_1_and_crlf_sources(shop):
    path = shop / "src/cart.py"
    before = source_of(shop).read()
    text = path.read_text().split("\n")
    text[0] = "# -*- coding: latin-1 -*-"
    text[1] = "# caf\xe9"
    path.write_bytes("\r\n".join(text).encode("latin-1"))
    after = source_of(shop).read()
    assert after.files[0].line.tolist() == before.files[0].line.tolist()
    assert hits(after) == hits(before)
    assert not [p for p in after.problems if "compile" in p.cause]


def test_files_outside_the_workspace_are_named_and_left_out(shop, tmp_path):
    outside = tmp_path / "elsewhere.py"
    outside.write_text("x = 1\n")
    (shop / "src/link.py").symlink_to(outside)
    (shop / "src/loop.py").symlink_to(shop / "src/loop.py")
    edit(
        shop,
        f"insert into file (path) values ('{outside}')",
        f"insert into file (path) values ('{shop / 'src/link.py'}')",
        f"insert into file (path) values ('{shop / 'src/loop.py'}')",
        "insert into file (path) values ('../../../../etc/passwd')",
        "insert into file (path) values ('nul' || char(0) || 'l')",
    )
    evidence = source_of(shop).read()
    assert {file.path for file in evidence.files} - {"src/cart.py", "tests/test_cart.py"} <= {"src/loop.py"}
    text = "\n".join(map(str, evidence.problems))
    assert "4 files" in text or "5 files" in text
    assert "elsewhere.py" in text
    assert "link.py" in text
    assert "passwd" in text


@pytest.mark.parametrize("root", ["/home/ci/build/shop", "C:\\build\\shop", "/srv"])
def test_paths_of_another_machine_are_found_by_their_ends(shop, root):
    slash = "\\" if "\\" in root else "/"
    edit(shop, f"update file set path = replace(replace(path, '{shop}', '{root}'), '/', '{slash}')")
    evidence = source_of(shop).read()
    assert {file.path for file in evidence.files} == {"src/cart.py", "tests/test_cart.py"}
    assert any("recorded in another folder" in p.cause for p in evidence.problems)


def test_files_of_two_paths_that_are_one_are_joined(shop):
    """Relative and absolute names of one file, as `coverage combine` can leave them."""
    before = hits(source_of(shop).read())
    edit(
        shop,
        "insert into file (id, path) values (90, 'src/cart.py')",
        f"update or ignore arc set file_id = 90 where context_id % 2 = 0 and file_id ="
        f" (select id from file where path = '{shop / 'src/cart.py'}')",
    )
    assert hits(source_of(shop).read()) == before


def test_static_contexts_before_the_tests(shop):
    before = hits(source_of(shop).read())
    edit(shop, "update context set context = case context when '' then 'nightly' else 'nightly|' || context end")
    evidence = source_of(shop).read()
    assert hits(evidence) == before
    assert len(evidence.at_import)


# ------------------------------------------------------------------------------------- bad data files


def test_missing(shop):
    (shop / ".coverage").unlink()
    assert "there is no such file" in refusal(shop)


def divided(folder: Path) -> list[Path]:
    """The data of a shop as two processes of another machine leave it: every second context each."""
    whole = folder / ".coverage"
    parts = [folder / f".coverage.elsewhere.pid{number}.XabcY" for number in (77, 78)]
    for number, part in enumerate(parts):
        shutil.copy(whole, part)
        with closing(sqlite3.connect(part)) as db:
            for table in ("arc", "line_bits"):
                db.execute(f"delete from {table} where context_id % 2 = {number}")
            db.execute(f"delete from context where id % 2 = {number}")
            db.commit()
    whole.unlink()
    return parts


@pytest.mark.parametrize("arguments", [["--cov-context=test"], ["--cov-context=test", "--cov-branch"]])
def test_data_of_single_processes_is_read_as_if_combined(measured_shops, tmp_path, arguments):
    shop = tmp_path / "shop"
    shutil.copytree(measured_shops(*arguments), shop)
    combined = source_of(shop).read()
    parts = divided(shop)
    source = source_of(shop)
    separate = source.read()
    assert hits(separate) == hits(combined)
    assert separate.at_import.tolist() == combined.at_import.tolist()
    assert (separate.edges is None) == (combined.edges is None)
    parts[1].write_bytes(parts[1].read_bytes()[:5000])
    damaged = source.read()
    assert [parts[1].name in str(problem) for problem in damaged.problems].count(True) == 1
    assert hits(damaged) < hits(combined)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "it is empty"),
        (b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 8, "not coverage.py's SQLite data"),
        (b'!coverage.py: This is a private format, don\'t read it directly!{"lines":{}}', "coverage.py 4 wrote it"),
        (b"SQLite format 3\x00", "damaged or cut short"),
        (b"SQLite format 3\x00" + bytes(4096), "damaged or cut short"),
    ],
    ids=["empty", "binary", "version 4", "head only", "zeros"],
)
def test_foreign_bytes(shop, content, words):
    (shop / ".coverage").write_bytes(content)
    assert words in refusal(shop)


@pytest.mark.parametrize("share", [0.1, 0.4, 0.6, 0.9])
def test_truncated(shop, share):
    data = (shop / ".coverage").read_bytes()
    (shop / ".coverage").write_bytes(data[: int(len(data) * share)])
    assert "delete it and run the tests with coverage again" in refusal(shop)


def test_huge_sparse_file(shop):
    """A gigabyte that is no data file, and a gigabyte of nothing behind a data file: neither is read through."""
    tracemalloc.start()
    with open(shop / "zeros", "wb") as file:
        file.truncate(2**30)
    assert "not coverage.py's" in refusal(shop, coverage_file="zeros")
    expected = hits(source_of(shop).read())
    os.truncate(shop / ".coverage", 2**30)
    try:
        assert hits(source_of(shop).read()) == expected
    except EvidenceError as error:
        assert "damaged" in str(error)  # noqa: PT017
    assert tracemalloc.get_traced_memory()[1] < 50 * 2**20
    tracemalloc.stop()


def test_a_row_far_too_large_is_refused_before_it_is_loaded(measured_shops, tmp_path):
    measured, folder = measured_shops("--cov-context=test"), tmp_path / "shop"
    shutil.copytree(measured, folder)
    edit(folder, f"update file set path = replace(path, '{measured}', '{folder}')")
    edit(folder, "update line_bits set numbits = zeroblob(200000000) where rowid = 3")
    tracemalloc.start()
    assert "line numbers above" in refusal(folder) or "damaged" in refusal(folder)
    assert tracemalloc.get_traced_memory()[1] < 50 * 2**20
    tracemalloc.stop()


def test_locked(shop):
    with closing(sqlite3.connect(shop / ".coverage", isolation_level=None)) as db:
        db.execute("begin exclusive")
        assert "another process has it locked" in refusal(shop)


def test_unreadable_and_not_a_file(shop):
    (shop / ".coverage").unlink()
    (shop / ".coverage").mkdir()
    assert "name the data file itself, normally .coverage" in refusal(shop)
    (shop / ".coverage").rmdir()
    os.mkfifo(shop / ".coverage")
    assert "name the data file itself, normally .coverage" in refusal(shop)
    (shop / ".coverage").unlink()
    (shop / ".coverage").symlink_to(shop / ".coverage")
    assert "can't be read" in refusal(shop)


def test_foreign_database(shop):
    (shop / ".coverage").unlink()
    edit(shop, "create table people (name text)")
    assert "no table" in refusal(shop)


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("update coverage_schema set version = 8", "newer than 7"),
        ("update coverage_schema set version = 6", "not 7"),
        ("delete from coverage_schema", "not 7"),
    ],
)
def test_other_schemas(shop, statement, words):
    edit(shop, statement)
    assert words in refusal(shop)


@pytest.mark.parametrize("arguments", [["--cov-context=test"], ["--cov-context=test", "--cov-branch"]])
def test_a_newer_schema_is_read_by_the_library(measured_shops, tmp_path, monkeypatch, arguments):
    shop = tmp_path / "shop"
    shutil.copytree(measured_shops(*arguments), shop)
    known = source_of(shop).read()
    edit(shop, "update coverage_schema set version = 8", "alter table meta rename column value to text")
    before = (shop / ".coverage").read_bytes()
    text = refusal(shop)
    for words in ("newer than 7", f"coverage.py {coverage.__version__} can't read it either", "coverage json"):
        assert words in text
    edit(shop, "alter table meta rename column text to value", "create table extra (x)")
    before = (shop / ".coverage").read_bytes()
    monkeypatch.setattr(coverage.sqldata, "SCHEMA_VERSION", 8)
    newer = source_of(shop).read()
    assert hits(newer) == hits(known)
    assert newer.at_import.tolist() == known.at_import.tolist()
    assert (newer.edges is None) == (known.edges is None)
    assert (shop / ".coverage").read_bytes() == before
    monkeypatch.setitem(sys.modules, "coverage", None)
    assert "newer than 7, the newest this version" in refusal(shop)
    edit(shop, "create view v as select 1")
    assert "it is not a plain table" in refusal(shop)


def as_json(folder: Path, *arguments: str) -> Path:
    command = [sys.executable, "-m", "coverage", "json", "-q", "-i", *arguments]
    subprocess.run(command, cwd=folder, check=True)
    return folder / "coverage.json"


def test_the_json_report_has_the_same_lines(measured_shops, tmp_path):
    shop = tmp_path / "shop"
    shutil.copytree(measured_shops("--cov-context=test"), shop)
    known = source_of(shop).read()
    report = as_json(shop, "--show-contexts")
    evidence = source_of(shop, coverage_file="coverage.json").read()
    assert hits(evidence) == hits(known)
    text = report.read_text()
    for damaged, words in (
        (text[: len(text) // 2], "cut off"),
        ("[]", "it has no files"),
        ('{"files": {"a.py": {"contexts": {"1": 2}}}}', "odd value"),
        ('{"files": {"a.py": {"contexts": {"0": ["t"]}}}}', "line numbers"),
        ('{"files": {"a.py": {"contexts": {"99999999999999999999": ["t"]}}}}', "odd value"),
    ):
        report.write_text(damaged)
        assert words in refusal(shop, coverage_file="coverage.json")
    as_json(shop)
    assert "--show-contexts" in refusal(shop, coverage_file="coverage.json")


def test_without_contexts(measured_shops):
    text = refusal(measured_shops("--cov-branch"))
    for words in ("--cov-context=test", "dynamic_context = test_function", "core = ctrace"):
        assert words in text


BOMB = "with recursive n(i) as (select 1 union all select i + 1 from n)"


@pytest.mark.parametrize(
    "statements",
    [
        [
            "drop table arc",
            f"create view arc as {BOMB} select 1 as file_id, i as context_id, 1 as fromno, 2 as tono from n",
        ],
        ["drop table context", f"create view context as {BOMB} select i as id, 'a' || i as context from n"],
        [
            "drop table arc",
            "create table arc (file_id integer, context_id integer, fromno integer,"
            " tono integer generated always as (length(hex(zeroblob(100000000)))))",
            "insert into arc (file_id, context_id, fromno) values (1, 1, 1)",
        ],
        ["alter table arc rename column tono to somewhere"],
        ["update arc set fromno = 'ten' where rowid % 9 = 0"],
        ["update arc set tono = 1 << 60 where rowid % 9 = 0"],
        ["update arc set context_id = -context_id where rowid % 9 = 0"],
        ["update context set context = cast(zeroblob(70000) as text) where rowid = 2"],
    ],
    ids=["view", "endless view", "generated column", "renamed column", "text", "large", "negative", "long name"],
)
def test_hostile_tables(shop, statements):
    edit(shop, *statements)
    assert "damaged" in refusal(shop) or "table" in refusal(shop)


def test_triggers_never_fire_and_nothing_is_written(shop):
    edit(shop, "create trigger t after insert on meta begin delete from arc; end")
    before = (shop / ".coverage").read_bytes()
    source_of(shop).read()
    assert (shop / ".coverage").read_bytes() == before
    assert not list(shop.glob(".coverage-*"))


def test_read_only_workspace(shop):
    expected = hits(source_of(shop).read())
    for path in (shop / ".coverage", shop):
        path.chmod(path.stat().st_mode & ~0o222)
    try:
        assert hits(source_of(shop).read()) == expected
    finally:
        shop.chmod(0o755)


def test_rows_of_unknown_contexts_and_files_do_no_harm(shop):
    expected = hits(source_of(shop).read())
    edit(shop, "insert into arc values (1, 999, 1, 2)", "insert into arc values (999, 1, 1, 2)")
    assert hits(source_of(shop).read()) == expected


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.floats(0, 1), st.binary(min_size=1, max_size=64)), min_size=1, max_size=6))
def test_any_damage_is_read_or_refused(shop, damage):
    data = bytearray((shop / ".coverage").read_bytes())
    for share, content in damage:
        at = int(share * (len(data) - len(content)))
        data[at : at + len(content)] = content
    (shop / "damaged").write_bytes(data)
    try:
        evidence = source_of(shop, coverage_file="damaged").read()
    except EvidenceError as error:
        assert error.problem.cause  # noqa: PT017
    else:
        assert len(evidence.tests) == len(evidence.rows)
        for row in evidence.rows:
            assert (np.diff(row) > 0).all()
            assert len(row) == 0 or row[-1] < len(evidence.elements)


def test_lines_above_the_bound_are_refused_one_by_one(shop):
    with CoverageData(shop / ".coverage", ".coverage") as data:
        assert data.has_arcs
        contexts, source, target = data.arcs(data.files[0][0])
        assert len(contexts) == len(source) == len(target) > 0
        assert (source < 0).any()

"""Raw profiles as evidence: rows, edges, graphs, and everything that can be wrong with a folder of profiles."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from suspectra.base.errors import EvidenceError
from suspectra.evidence.c.optimisation import optimised_by
from suspectra.evidence.c.profiles import GcovRawSource
from suspectra.evidence.evidence import TestResult, Verdict
from suspectra.evidence.formats.outcomes import read_outcomes
from suspectra.evidence.source_paths import SourcePaths

PREBUILT = Path(__file__).parents[1] / "fixtures" / "c_objects"
PARTS = {"loops": "l5", "choice": "c14", "shares": "s9", "jumps": "j4"}
OUTCOMES = {name: TestResult(name, Verdict.FAILED if name == "loops" else Verdict.PASSED) for name in PARTS}


@pytest.fixture
def recorded(build_c):
    """The program and a folder of profiles of four tests."""
    program = build_c()
    profiles = program.workspace / "profiles"
    for name, part in PARTS.items():
        program.run(part, prefix=profiles / name)
    return program, profiles


def read(program, profiles, **options):
    return GcovRawSource(program.workspace, profiles, outcomes=options.pop("outcomes", OUTCOMES), **options).read()


def lines_of(evidence, test):
    index = [result.name for result in evidence.tests].index(test)
    return {str(evidence.elements.location(int(i))) for i in evidence.rows[index]}


def texts(evidence):
    return " / ".join(map(str, evidence.problems))


def profile_of(profiles, test, name):
    return next((profiles / test).rglob(f"{name}.gcda"))


def test_rows_are_the_lines_gcov_shows(recorded):
    program, profiles = recorded
    evidence = read(program, profiles)
    assert not evidence.problems
    for test in PARTS:
        counts = {}
        for path in (profiles / test).rglob("*.gcda"):
            shutil.copy(path, program.profile(path.stem))
            for key, count in program.gcov(program.profile(path.stem)).items():
                counts[key] = counts.get(key, 0) + count
        assert lines_of(evidence, test) == {f"{file}:{line}" for (file, line), count in counts.items() if count}
    digests = {file.path: file.digest for file in evidence.files}
    assert all(digests.values())
    assert evidence.spectrum().failed.sum() == 1


def test_edges_conserve_flow_block_by_block(recorded):
    evidence = read(*recorded)
    edges = evidence.edges
    dense = np.zeros((len(edges.rows), len(edges.edges)), np.int64)
    for row, columns, counts in zip(dense, edges.rows, edges.counts, strict=True):
        row[columns] = counts
    checked = 0
    names = evidence.elements.functions
    for graph in edges.graphs:
        assert (edges.edges.function[graph.edge] == graph.function).all()
        if names[graph.function].name in ("main", "jumps", "jumper", "leave"):
            continue  # these contain calls that did not return
        for block in range(2, graph.blocks):
            into = dense[:, graph.edge[graph.target == block]].sum(axis=1)
            out = dense[:, graph.edge[graph.source == block]].sum(axis=1)
            assert (into == out).all()
            checked += 1
    assert checked > 50


def test_a_function_that_two_objects_share_is_one_graph(recorded):
    evidence = read(*recorded)
    shared = [graph for graph in evidence.edges.graphs if evidence.elements.functions[graph.function].name == "shared"]
    (graph,) = shared
    test = [result.name for result in evidence.tests].index("shares")
    counts = dict(zip(evidence.edges.rows[test].tolist(), evidence.edges.counts[test].tolist(), strict=True))
    entry = graph.edge[graph.source == 0]
    assert sum(counts[int(edge)] for edge in entry) == 10  # once from flow.c, nine times from other.c
    lines = {int(evidence.elements.line[element]) for element in graph.element}
    assert lines == {5, 6, 7, 8}
    assert graph.exits.tolist() == [1]


def test_only_what_changed_is_read_again(recorded):
    program, profiles = recorded
    source = GcovRawSource(program.workspace, profiles, outcomes=OUTCOMES)
    first = source.read()
    shutil.rmtree(profiles / "loops")
    program.run("l2", prefix=profiles / "loops")
    second = source.read()
    same = {t.name: a is b for t, a, b in zip(first.tests, first.rows, second.rows, strict=True)}
    assert same == {"loops": False, "choice": True, "shares": True, "jumps": True}
    assert second.elements is first.elements
    assert second.edges.edges is first.edges.edges
    assert set(source.watched()) == {str(profiles), str(profiles / "**" / "*")}


def test_two_processes_that_write_one_file_add_up(build_c, tmp_path):
    program = build_c()
    running = [
        subprocess.Popen([program.program, "r9"], env={**os.environ, "GCOV_PREFIX": str(tmp_path / "loops")})
        for _ in range(4)
    ]
    assert [process.wait(60) for process in running] == [0] * 4
    evidence = read(program, tmp_path, outcomes={"loops": OUTCOMES["loops"]})
    assert not evidence.problems
    main = next(g for g in evidence.edges.graphs if evidence.elements.functions[g.function].name == "main")
    counts = dict(zip(evidence.edges.rows[0].tolist(), evidence.edges.counts[0].tolist(), strict=True))
    assert sum(counts[int(edge)] for edge in main.edge[main.source == 0]) == 4


def test_a_profile_of_another_build_is_said(recorded, build_c):
    program, profiles = recorded
    text = (program.workspace / "flow.c").read_text()
    build_c(
        {
            "flow.c": text.replace("return sum;", "return sum + !sum;", 1),
            "other.c": (program.workspace / "other.c").read_text(),
        },
        workspace=program.workspace,
    )
    evidence = read(program, profiles)
    assert "of another build" in texts(evidence)
    assert "and so it is with 3 others" in texts(evidence)
    assert "other.c" in {file.path for file in evidence.files}


def test_missing_notes_are_said(recorded):
    program, profiles = recorded
    program.notes("flow").unlink()
    evidence = read(program, profiles)
    assert "flow.gcno, are missing" in texts(evidence)
    assert [file.path for file in evidence.files] == ["other.c", "shared.h"]
    program.notes("other").unlink()
    with pytest.raises(EvidenceError, match="are missing"):
        read(program, profiles)


def test_empty_and_cut_profiles_are_said(recorded):
    program, profiles = recorded
    profile_of(profiles, "choice", "flow").write_bytes(b"")
    path = profile_of(profiles, "loops", "flow")
    path.write_bytes(path.read_bytes()[:200])
    evidence = read(program, profiles)
    assert "the program was killed, or the disk was full" in texts(evidence)
    assert "breaks off" in texts(evidence)
    assert len(evidence.tests) == 4


def test_a_killed_test_counts_and_is_said(recorded):
    program, profiles = recorded
    shutil.rmtree(profiles / "loops")
    evidence = read(program, profiles)
    assert "it left no profile" in texts(evidence)
    assert len(evidence.rows[[t.name for t in evidence.tests].index("loops")]) == 0


def test_profiles_without_an_outcome_are_left_out_and_said(recorded):
    program, profiles = recorded
    evidence = read(program, profiles, outcomes={"loops": OUTCOMES["loops"]})
    assert [test.name for test in evidence.tests] == ["loops"]
    assert "not known how this test ended" in texts(evidence)
    (profiles / "outcomes.json").write_text(json.dumps(dict.fromkeys(PARTS, "passed")))
    assert len(GcovRawSource(program.workspace, profiles).read().tests) == 4
    with pytest.raises(EvidenceError, match="no such folder"):
        read(program, profiles / "nowhere")


def test_a_source_that_changed_since_the_build_is_said(recorded):
    program, profiles = recorded
    later = program.notes("flow").stat().st_mtime_ns + 10**9
    os.utime(program.workspace / "flow.c", ns=(later, later))
    evidence = read(program, profiles)
    assert "flow.c: it changed after it was compiled" in texts(evidence)
    assert {file.path: file.digest is None for file in evidence.files}["flow.c"]


TINY = "static int twice(int n) {\n  return n * 2;\n}\nint main(int n, char **v) {\n  return !v + twice(n) > 99;\n}\n"


@pytest.mark.parametrize(("flags", "said"), [("-O2", True), ("-O1 -g", True), ("-O0 -g", False), ("-Og -g", True)])
def test_an_optimised_build_is_said(build_c, flags, said):
    """By the compiler's options where there is debug information, else by functions that were inlined."""
    program = build_c({"tiny.c": TINY}, flags=flags.split())
    program.run(prefix=program.workspace / "profiles" / "shares")
    evidence = read(program, "profiles", outcomes={"shares": OUTCOMES["shares"]})
    assert ("built with optimisation" in texts(evidence)) == said


COMPILERS = ("gcc", "clang-14")
FORMS = ("-c", "-shared -fPIC", "-c -fcf-protection=full", "-c -fsanitize=address", "-shared -fPIC -g")


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize(("flag", "said"), [("-O0", False), ("-O1", True), ("-O2", True), ("-Os", True)])
def test_optimisation_is_seen_in_the_code_that_the_compiler_adds(tmp_path, tool, compiler, flag, said):
    (tmp_path / "tiny.c").write_text("int other(int);\nint once(int n) {\n  return other(n) + 1;\n}\n")
    path = tool(compiler, compiler)
    for form in FORMS:
        subprocess.run([path, flag, "--coverage", *form.split(), "tiny.c", "-o", "tiny"], cwd=tmp_path, check=True)
        assert bool(optimised_by((tmp_path / "tiny").read_bytes())) == said, form


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        ("-O1 -fno-omit-frame-pointer", "optimisation"),
        ("-Og -fno-omit-frame-pointer", "optimisation"),
        ("-O0 -fomit-frame-pointer", ""),
        ("-O0 -mcmodel=large", ""),
        ("-O0 -fno-pie -no-pie", ""),
        ("-O2 -O0 -g", ""),
        ("-O0 -O2 -g", "-O2"),
        ("-O0 -O -g", "-O"),
        ("-O0 -s", None),
        ("-O2 -g -s", None),
    ],
)
def test_optimisation_of_whole_programs_of_gcc(tmp_path, tool, flags, said):
    """From version 12 on; stripped programs say nothing."""
    (tmp_path / "tiny.c").write_text(TINY)
    subprocess.run([tool("gcc", "gcc"), "--coverage", *flags.split(), "tiny.c", "-o", "tiny"], cwd=tmp_path, check=True)
    assert optimised_by((tmp_path / "tiny").read_bytes()) == said


def test_a_damaged_program_says_nothing_of_optimisation(tmp_path, tool):
    (tmp_path / "tiny.c").write_text(TINY)
    subprocess.run([tool("gcc", "gcc"), "-O2", "--coverage", "-c", "tiny.c"], cwd=tmp_path, check=True)
    data = (tmp_path / "tiny.o").read_bytes()
    assert optimised_by(data)
    for end in range(0, len(data), 31):
        optimised_by(data[:end])
        optimised_by(data[:end] + b"\xff" * (len(data) - end))


def test_profiles_of_another_machine_need_a_mapping(tmp_path):
    """The prebuilt objects were compiled in /src; here the folder is another one."""
    workspace, profiles = tmp_path / "here", tmp_path / "profiles"
    workspace.mkdir()
    for name in ("flow", "other"):
        shutil.copy(PREBUILT / "gcc-12" / f"{name}.gcno", workspace)
        target = profiles / "loops" / "src" / f"{name}.gcda"
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(PREBUILT / "gcc-12" / f"{name}.gcda", target)
    outcomes = {"loops": OUTCOMES["loops"]}
    with pytest.raises(EvidenceError, match="map its folder with --map"):
        GcovRawSource(workspace, profiles, outcomes=outcomes).read()
    evidence = GcovRawSource(workspace, profiles, outcomes=outcomes, mapping=[("/src", ".")]).read()
    assert [file.path for file in evidence.files] == ["flow.c", "other.c", "shared.h"]
    assert len(evidence.rows[0]) > 30


def test_notes_outside_the_workspace_are_read_only_on_request(recorded, tmp_path):
    program, profiles = recorded
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    mapping = [(str(program.workspace), str(elsewhere))]
    with pytest.raises(EvidenceError, match="outside the workspace and are not read"):
        GcovRawSource(elsewhere, profiles, outcomes=OUTCOMES).read()
    evidence = GcovRawSource(elsewhere, profiles, outcomes=OUTCOMES, build=[program.workspace]).read()
    assert not evidence.files
    assert "lie outside the workspace and are left out" in texts(evidence)
    assert mapping


def test_the_folder_to_map_is_the_one_below_which_the_same_file_is_here(tmp_path):
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "tax.c").write_text("int tax;\n")
    paths = SourcePaths(tmp_path)
    assert paths.resolve("/build/shop-1.2/src/tax.c") is None
    assert paths.resolve("/build/shop-1.2/src/cart.c") is None
    assert paths.problems("all.info")[0].cure.endswith("for example /build/shop-1.2=.")


@pytest.mark.parametrize("compiler", ["gcc-9", "gcc-12", "gcc-14", "gcc-15"])
def test_instances_of_a_template_are_functions_of_their_own(tmp_path, compiler):
    for suffix in ("gcno", "gcda"):
        folder = tmp_path / ("profiles/loops/src" if suffix == "gcda" else ".")
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copy(PREBUILT / compiler / f"templates.{suffix}", folder)
    evidence = GcovRawSource(
        tmp_path, "profiles", outcomes={"loops": OUTCOMES["loops"]}, mapping=[("/src", ".")]
    ).read()
    names = {function.name for function in evidence.elements.functions}
    assert {"int largest<int>(int const*, int)", "double largest<double>(double const*, int)"} <= names
    assert "Square::area() const" in names
    edges = evidence.edges
    instances = [g for g in edges.graphs if evidence.elements.functions[g.function].line == 5]
    taken = set(edges.rows[0].tolist())
    assert len(instances) == 2
    assert all(taken & set(graph.edge.tolist()) for graph in instances)
    assert np.array_equal(instances[0].own_elements, instances[1].own_elements)


def test_outcomes_come_as_junit_json_or_text(tmp_path):
    junit = tmp_path / "junit.xml"
    junit.write_text(
        '<testsuites><testsuite><testcase name="a" classname="a" time="0.5"/>'
        '<testcase name="b" classname="s"><failure message="f.c:3&#10;Expected 1"/></testcase>'
        '<testcase name="b" classname="t" status="disabled"><skipped/></testcase></testsuite></testsuites>'
    )
    outcomes = read_outcomes(junit)
    assert {name: o.verdict for name, o in outcomes.items()} == {
        "a": Verdict.PASSED,
        "s.b": Verdict.FAILED,
        "t.b": Verdict.SKIPPED,
    }
    assert outcomes["s.b"].message == "f.c:3 Expected 1"
    text = tmp_path / "outcomes.txt"
    text.write_text("# comment\npassed a\nnot ok b c\n")
    assert {name: o.verdict.value for name, o in read_outcomes(text).items()} == {"a": "passed", "b c": "failed"}
    for content, name, word in (
        ("<a>", "x.xml", "not XML"),
        ('<!DOCTYPE a [<!ENTITY b "c">]><a/>', "x.xml", "entities"),
        ("<a/>", "x.xml", "contains no test"),
        ("[]", "x.json", "not a JSON object"),
        ("{", "x.json", "not JSON"),
        ('{"a": "maybe"}', "x.json", "is not a verdict"),
        ("maybe a", "x.txt", "is not a verdict"),
        ("", "x.txt", "contains no test"),
    ):
        (tmp_path / name).write_text(content)
        with pytest.raises(EvidenceError, match=word):
            read_outcomes(tmp_path / name)

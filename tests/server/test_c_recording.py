"""A recording of C tests in the editor: marked, explained and followed like one of Python."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys

import pytest

from suspectra.techniques import technique_infos
from suspectra_mcp.running import recorded_build

FAULTY = "src/evaluate.c"
FIX = ("double result = 0; /* fault", "double result = numbers[0]; /* no fault")


def suspectra(folder, *arguments):
    command = [sys.executable, "-m", "suspectra", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, check=False)


def ranked(folder, *options):
    """(file, line) of twenty that the command line ranks and failing tests execute: the editor's, by its words.

    These are the best three of each of the first five functions, and the next ones by rank, without those that only
    open or close a function or a block, which have no mark.
    """
    done = suspectra(folder, "rank", "--format", "json", *options)
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    leading = [(f["file"], line) for f in answer["functions"][:5] for line in f["lines"]]
    executed = [(s["file"], s["line"]) for s in answer["suspects"] if s["ef"]]
    places = list(dict.fromkeys([*leading, *executed]))[:20]
    text = {(file, line): (folder / file).read_text(errors="replace").splitlines()[line - 1] for file, line in places}
    return {place for place in places if re.match(r"\s.*\w", text[place])}


@pytest.fixture(scope="module")
def shared(build_reckoner, tmp_path_factory):
    """The example with a recording of its tests; not to be changed."""
    folder = build_reckoner(tmp_path_factory.mktemp("c") / "reckoner")
    done = suspectra(folder, "record-c", "--ctest", "build")
    assert done.returncode == 1, done.stderr
    return folder


def hover(client, uri, line):
    position = {"line": line, "character": 0}
    answer = client.request("textDocument/hover", {"textDocument": {"uri": uri}, "position": position})
    return answer["contents"]["value"] if answer else ""


@pytest.mark.slow
def test_marks_are_those_of_the_command_line(client, shared):
    """On statements: neither the first line of a function nor a brace has one."""
    client.start(shared)
    client.wait(lambda: client.marks(shared))
    assert client.marks(shared).keys() == ranked(shared)
    assert client.messages == []


def test_lines_are_explained_and_functions_get_lenses(client, shared, find_line):
    client.start(shared)
    uri = client.open(shared / FAULTY)
    client.wait(lambda: uri in client.diagnostics)
    assert re.search(
        r"Both failing tests run it.*Suspect \d", hover(client, uri, find_line(shared / FAULTY, FIX[0])), re.DOTALL
    )
    lenses = client.request("textDocument/codeLens", {"textDocument": {"uri": uri}})
    assert find_line(shared / FAULTY, "static double largest(") in [lens["range"]["start"]["line"] for lens in lenses]


def test_cp_says_which_edges_carry_the_suspicion_and_from_where(client, shared, find_line):
    client.start(shared)
    uri = client.open(shared / FAULTY)
    seen = len(client.statuses)
    assert client.command("selectTechnique", "cp") == "cp"
    client.wait_for_state("ready", after=seen)
    client.wait(lambda: client.statuses[-1]["technique"] == "cp")
    words = hover(client, uri, find_line(shared / FAULTY, "if (numbers[i] > result)"))
    assert re.search(r"of the suspicion of lines? \d+.* comes from here: the edge from lines? \d+ .*Δ", words)


@pytest.mark.slow
@pytest.mark.parametrize("technique", [*(i.name for i in technique_infos() if i.wants_edges), "ochiai+cp"])
def test_techniques_of_control_flow_are_selected_like_formulas(client, shared, technique):
    client.start(shared, options={"technique": technique, "cloneFailed": technique != "ochiai+cp"})
    status = client.wait_for_state("ready", "error", "stale")
    assert (status["state"], status["technique"]) == ("ready", technique)
    listed = client.request("suspectra/suspects", {"limit": 20})["suspects"]
    assert {(s["file"], s["line"]) for s in listed} == ranked(shared, "--technique", technique)
    marks = client.marks(shared).keys()
    assert marks  # SBBFL marks regions, by their first lines; the others mark each line
    assert technique == "sbbfl" or marks == {(s["file"], s["line"]) for s in listed}


def offered(client, uri, line):
    """The commands of the code actions on a line."""
    here = {"start": {"line": line, "character": 0}, "end": {"line": line, "character": 0}}
    params = {"textDocument": {"uri": uri}, "range": here, "context": {"diagnostics": []}}
    actions = client.request("textDocument/codeAction", params)
    return {one["command"]["command"].removeprefix("suspectra.server.") for one in actions}


COMPARES = ("why", "comparePassing", "investigate", "compareValues")
REFUSED = ("findFix", "findChange", "findCause", "showValues")


def test_what_is_refused_for_c_is_not_offered(client, shared, find_line):
    client.start(shared)
    uri = client.open(shared / FAULTY)
    client.wait(lambda: uri in client.diagnostics)
    assert {key: client.statuses[-1][key] for key in ("compiled", "onlyRead")} == {"compiled": True, "onlyRead": False}
    on_fault = offered(client, uri, find_line(shared / FAULTY, FIX[0]))
    assert on_fault >= {*COMPARES, "testSuspect", "explain"}
    assert on_fault.isdisjoint({*REFUSED, "debugHere", "whatLedHere", "whatThisInfluenced", "compareRuns"})
    lenses = client.request("textDocument/codeLens", {"textDocument": {"uri": uri}})
    assert "Why?" in [lens["command"]["title"] for lens in lenses]
    searches = client.request("suspectra/techniques", {"for": "paths"})
    assert [one["name"] for one in searches] == ["nearest-path", "apg"]
    with pytest.raises(client.Error, match=r"Only tests that pytest runs .*compare them with passing runs"):
        client.command("findFix")
    with pytest.raises(client.Error, match="works on tests of Python only"):
        client.command("comparePassing", None, None, None, "cause-transitions")


def test_without_a_build_folder_nothing_is_run_again(client, shared, tmp_path, find_line):
    folder = tmp_path / "reckoner"
    shutil.copytree(shared, folder, ignore=shutil.ignore_patterns("build"))
    client.start(folder)
    uri = client.open(folder / FAULTY)
    client.wait(lambda: uri in client.diagnostics)
    assert client.statuses[-1]["onlyRead"]
    assert offered(client, uri, find_line(folder / FAULTY, FIX[0])).isdisjoint({*COMPARES, *REFUSED})
    for command in COMPARES[1:]:  # `why` names what it needs itself
        with pytest.raises(client.Error, match="no build folder of CMake"):
            client.command(command)


def test_clones_are_refused_where_a_technique_knows_none(client, shared):
    client.start(shared)
    with pytest.raises(client.Error, match="only formulas can clone the failing tests"):
        client.command("selectTechnique", "cp", {"cloneFailed": True})


@pytest.mark.slow
def test_failing_tests_of_ctest_are_compared_and_altered(client, build_reckoner, tmp_path, find_line):
    folder = build_reckoner(tmp_path / "reckoner")
    suspectra(folder, "record-c", "--ctest", "build")
    client.start(folder, options={"investigationSeconds": 300})
    client.wait_for_state("ready")
    assert client.command("compareValues") is True
    assert "src/evaluate.c:31: In both failing tests that were observed `result < 0` here" in client.outcome()
    client.agree()
    assert client.command("investigate") is True
    client.wait(lambda: any("passes if this comes out true" in one["message"] for one in client.logged))
    client.command("cancelInvestigation")
    client.wait(lambda: "cancelled after" in client.messages[-1]["message"])
    which = r"(1 failing test passes|1 of 2 failing tests passes|Both failing tests pass)"  # by what was tried
    passes = rf"src/evaluate\.c:31: {which} if this comes out true"
    assert re.match(passes, client.messages[-1]["message"])
    uri = client.open(folder / FAULTY)
    client.wait(lambda: uri in client.diagnostics)
    assert client.command("testSuspect", uri, find_line(folder / FAULTY, "if (numbers[i] > result)")) is True
    client.wait(lambda: "cancelled" not in client.messages[-1]["message"])
    assert re.match(passes, client.outcome())
    assert client.command("testSuspect", uri, find_line(folder / FAULTY, FIX[0])) is True
    client.wait(lambda: "it decides nothing, and in tests of C and C++ only" in client.messages[-1]["message"])
    client.outcome()
    asked = {"tool": "investigate", "arguments": {"tests": ["largest_below_zero"], "seconds": 2}}
    answer = json.loads(client.request("suspectra/agentAnswer", asked)["text"])
    assert any("src/evaluate.c:31" in one["place"] for one in answer["findings"])


def test_an_agent_asks_about_tests_of_the_build_folder(shared, tmp_path):
    assert recorded_build(shared) == "build"
    assert recorded_build(tmp_path) == ""


@pytest.mark.slow
def test_run_tests_builds_and_records_what_was_recorded_last(client, build_reckoner, tmp_path):
    folder = build_reckoner(tmp_path / "reckoner")
    suspectra(folder, "record-c", "--ctest", "build")
    client.start(folder)
    source = folder / FAULTY
    source.write_text(source.read_text().replace(*FIX))
    assert client.command("runTests") is True
    client.wait_for_state("noFailingTests")
    client.wait(lambda: not client.marks(folder))
    client.wait(lambda: client.progress[-1]["kind"] == "end")
    assert any(value.get("percentage") == 100 for value in client.progress)


@pytest.mark.slow
def test_run_tests_takes_the_options_that_are_set(client, build_reckoner, tmp_path):
    folder = build_reckoner(tmp_path / "reckoner")
    client.start(folder, options={"cTests": ["--ctest", "build", "--select", "largest*"]})
    assert client.command("runTests") is True
    client.wait_for_state("ready")
    assert client.suspects()["suspects"][0]["file"] == FAULTY
    assert client.statuses[-1]["failed"] == 2


@pytest.mark.slow
def test_bytes_of_old_encodings_are_shown_as_they_are(client, build_reckoner, tmp_path, find_line):
    folder = build_reckoner(tmp_path / "reckoner")
    source = folder / FAULTY
    source.write_bytes(source.read_bytes().replace(b"/* fault", b"/* f\xfcr alle: fault"))
    subprocess.run(["cmake", "--build", "build"], cwd=folder, check=True, capture_output=True)
    suspectra(folder, "record-c", "--ctest", "build")
    client.start(folder)
    client.wait(lambda: client.marks(folder))
    assert client.marks(folder).keys() == ranked(folder)


@pytest.mark.slow
def test_the_first_run_of_a_cmake_project_is_that_of_ctest(client, build_reckoner, tmp_path):
    folder = build_reckoner(tmp_path / "reckoner")
    client.start(folder)
    assert client.command("runTests") is True
    client.wait(lambda: client.progress and client.progress[-1]["kind"] == "end")
    expected = ranked(folder)
    client.wait(lambda: client.marks(folder).keys() == expected)  # one ranking may have come during the run
    assert any("record-c --make cmake --build build --ctest build" in str(p) for p in client.progress)


def test_a_cmake_project_that_is_not_configured_is_told_how(client, tmp_path):
    (tmp_path / "CMakeLists.txt").write_text("project(a C)\nenable_testing()\nadd_test(NAME a COMMAND a)\n")
    client.start(tmp_path)
    assert client.command("runTests") is True
    client.wait(lambda: any("suspectra build-c" in str(message) for message in client.logged))
    assert not (tmp_path / "build").exists()


PRICE = {
    "CMakeLists.txt": """\
cmake_minimum_required(VERSION 3.14)
project(price C)
enable_testing()
add_executable(test_price price.c test_price.c)
add_test(NAME doubled COMMAND test_price)
""",
    "price.c": """\
int doubled(int value)
{
    return value * 3;
}
""",
    "test_price.c": """\
int doubled(int value);

int main(void)
{
    return doubled(2) != 4;
}
""",
}


@pytest.mark.slow
def test_what_the_button_configures_and_builds_is_run_and_a_failing_test_leads_to_its_source(client, tmp_path, tool):
    tool("cmake", "cmake")
    for name, text in PRICE.items():
        (tmp_path / name).write_text(text)
    client.start(tmp_path)
    line = client.request("suspectra/commandLine", {"folder": tmp_path.as_uri(), "build": True})["commandLine"]
    done = subprocess.run(["sh", "-c", line], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert client.command("runTests") is True
    client.wait_for_state("ready")
    first = client.suspects()["suspects"][0]
    assert (first["file"], first["line"]) == ("price.c", 3)
    (failing,) = client.request("suspectra/explanation", {"uri": first["uri"], "line": 2})["failing"]
    assert (failing["uri"], failing["line"]) == ((tmp_path / "test_price.c").as_uri(), 3)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["conftest.py", "tests/test_binding.py"])
def test_a_cmake_project_with_tests_of_python_runs_those(client, build_reckoner, tmp_path, name):
    folder = build_reckoner(tmp_path / "reckoner")
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_text("def test_binding():\n    assert False\n")
    client.start(folder)
    assert client.command("runTests") is True
    client.wait(lambda: any("pytest" in str(p) for p in client.progress))


PROGRAM = """\
#include <stdlib.h>
static int twice(int n) {
    return n * 3;
}
static int half(int n) {
    return n / 3;
}
int main(int argc, char **argv) {
    int n = atoi(argv[2]);
    if (argv[1][0] == 't')
        return twice(n) != 2 * n;
    if (argv[1][0] == 'h')
        return half(n) != n / 2;
    return n < 0;
}
"""


@pytest.mark.slow
def test_groups_of_c_tests_are_perhaps_right(client, build_c):
    folder = build_c({"program.c": PROGRAM}).workspace
    calls = [*(f"{way} {n}" for n in (4, 6, 8) for way in ("t", "h")), *(f"other {n}" for n in range(24))]
    (folder / "tests.sh").write_text("".join(f"{call}\t./build/program {call}\n" for call in calls))
    assert suspectra(folder, "record-c", "--shell", "tests.sh", "--build", "build").returncode == 1
    client.start(folder)
    client.wait(lambda: "in perhaps 2 groups" in client.statuses[-1]["message"])
    assert client.statuses[-1]["message"] == "6 failing tests in perhaps 2 groups, 24 passing tests"
    groups = client.suspects()["groups"]
    assert [group["sure"] for group in groups] == [False, False]
    assert [group["heading"] for group in groups] == [
        "✗ 3 tests, perhaps with one fault: program.c:6",
        "✗ 3 tests, perhaps with one fault: program.c:3",
    ]
    first = [client.request("suspectra/group", {"folder": folder.as_uri(), "id": g["id"]})["suspects"] for g in groups]
    assert [found[0]["line"] for found in first] == [6, 3]
    uri = client.open(folder / "program.c")
    client.wait(lambda: client.diagnostics.get(uri))
    suspects = [one for one in client.diagnostics[uri] if one["code"] != "failing-test"]
    assert all("of 3 failing tests" in one["message"] for one in suspects)
    done = suspectra(folder, "rank")
    assert all(group["heading"] in done.stdout for group in groups)


@pytest.mark.slow
def test_marks_find_their_lines_in_a_source_that_was_edited_before_the_server_started(client, shared, tmp_path):
    folder = tmp_path / "reckoner"
    shutil.copytree(shared, folder)
    marks = ranked(folder)
    path = folder / FAULTY
    text = path.read_text()
    path.write_text("/* new */\n\n" + text.replace(*FIX))
    fault = text[: text.index(FIX[0])].count("\n") + 1
    client.start(folder)
    moved = {(file, line + 2 if file == FAULTY else line) for file, line in marks - {(FAULTY, fault)}}
    client.wait(lambda: client.marks(folder))
    assert client.statuses[-1]["state"] == "stale"
    assert client.marks(folder).keys() == moved


@pytest.mark.slow
def test_a_passing_run_of_c_is_found_as_on_the_command_line(client, shared):
    client.start(shared)
    client.wait_for_state("ready")
    found = client.command("comparePassing", None, "largest_below_zero")
    # what `suspectra paths largest_below_zero --ctest build` says, by a test of its own
    assert (found["passing"], found["candidates"], found["problems"]) == ("mean_below_zero", 20, [])
    places = {(one["uri"].rpartition("/")[2], one["range"]["start"]["line"] + 1) for one in found["report"]}
    assert ("evaluate.c", 50) in places
    client.wait(lambda: any(one["code"] == "nearest-path" for ones in client.diagnostics.values() for one in ones))
    answer = client.command("why", None, ["largest_below_zero"])
    assert "mean_below_zero passes" in " ".join(answer["sentences"])

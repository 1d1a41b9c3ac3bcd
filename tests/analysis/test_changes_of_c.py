"""Which change broke a test of CTest: real builds of a small project whose last commit passes."""

from __future__ import annotations

import json
import subprocess

import pytest

from suspectra.cli.main import run

FILES = {
    "CMakeLists.txt": """\
cmake_minimum_required(VERSION 3.16)
project(shop C)
enable_testing()
add_executable(test_price price.c test_price.c)
add_test(NAME price COMMAND test_price)
add_test(NAME missing COMMAND test_price wrong)
""",
    "price.c": """\
int doubled(int value)
{
    int found = value * 2;

    return found;
}

int tripled(int value)
{
    return value * 3;
}
""",
    "test_price.c": """\
#include <assert.h>

int doubled(int value);
int tripled(int value);

int main(int count, char **given)
{
    assert(count == 1);
    assert(doubled(2) == 4);
    assert(tripled(2) == 6);
    return given == 0;
}
""",
    ".gitignore": "build\n.suspectra\n",
}


def git(folder, *words):
    subprocess.run(["git", "-c", "user.name=x", "-c", "user.email=x@x", *words], cwd=folder, check=True)


@pytest.fixture
def changed(tmp_path, tool):
    """A project with two changes since the last commit, built so that it can be recorded."""
    tool("cmake", "cmake")
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    for words in (("init", "-q"), ("add", "."), ("commit", "-qm", "one")):
        git(tmp_path, *words)
    source = tmp_path / "price.c"
    source.write_text(source.read_text().replace("value * 2", "value + 3").replace("value * 3", "3 * value"))
    for words in (("-S", ".", "-B", "build", "-DCMAKE_C_FLAGS=--coverage"), ("--build", "build")):
        subprocess.run(["cmake", *words], cwd=tmp_path, check=True, capture_output=True)
    return tmp_path


@pytest.mark.slow
def test_a_change_of_c_is_found(changed, capsys, monkeypatch):
    tmp_path, source = changed, changed / "price.c"
    text = source.read_text()
    assert subprocess.run(["ctest"], cwd=tmp_path / "build", check=False, capture_output=True).returncode
    monkeypatch.chdir(tmp_path)
    assert run(["changes", "--ctest", "build", "--seconds", "200", "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (sorted(found["tests"]), found["failed_before"]) == (["missing", "price"], ["missing"])
    (cause,) = found["causes"]
    assert [(one["file"], one["line"]) for one in cause["change"]] == [("price.c", 3)]
    assert (cause["mends"], cause["alone_breaks"]) == (["price"], ["price"])
    difference = cause["first_difference"]
    assert difference.pop("equal") > 0
    assert difference == {"file": "price.c", "line": 3, "name": "found", "before": "4", "after": "5"}
    assert source.read_text() == text
    assert run(["changes", "--ctest", "nowhere"]) == 2
    assert run(["changes", "--ctest", "build", "--", "pytest"]) == 2


LIBRARY = """\
enum level { LOW, MIDDLE, HIGH };
struct item { const char *name; int count; };

int shipping(int total)
{
    if (total >= 100) {
        return 0;
    }
    return 5;
}

const char *greeting(int formal)
{
    const char *found = "Hello";

    if (formal) found = "Dear";
    return found;
}

void split(int value, int *rest)
{
    *rest = value % 3;
}

double total(struct item one)
{
    double sum = 0.5;
    for (int i = 0; i < one.count; i++)
        sum += 2;
    return sum;
}

enum level level(int n)
{
    enum level found = LOW;
    switch (n / 10) {
    case 1:
        found = MIDDLE;
        break;
    case 3:
        found = HIGH;
    }
    return found;
}
"""
CHANGES = {
    "shipping": ("total >= 100", "total > 100"),
    "greeting": ('"Dear"', '"Dear,"'),
    "split": ("value % 3", "value % 4"),
    "total": ("sum += 2", "sum += 3"),
    "level": ("case 1:", "case 2:"),
}
SUITE = """\
#include <stdlib.h>
#include <string.h>
#include "library.h"
int main(int count, char **given)
{
    const char *name = count > 1 ? given[1] : "";
    if (strcmp(name, "shipping") == 0)
        return shipping(100) != 0;
    if (strcmp(name, "greeting") == 0)
        return strcmp(greeting(1), "Dear") != 0;
    if (strcmp(name, "split") == 0) {
        int rest;
        split(11, &rest);
        return rest != 2;
    }
    if (strcmp(name, "total") == 0) {
        struct item one = {"pen", 3};
        return total(one) != 6.5;
    }
    return level(12) != MIDDLE;
}
"""


@pytest.mark.slow
@pytest.mark.parametrize("compiler", ["gcc", "clang-14", "clang-16", "clang-19"])
def test_the_first_different_value_of_c_is_a_variable_or_a_decision(tmp_path, tool, capsys, monkeypatch, compiler):
    tool("cmake", "cmake")
    tool(compiler, compiler)
    tests = "".join(f"add_test(NAME {name} COMMAND suite {name})\n" for name in CHANGES)
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.16)\nproject(parts C)\nenable_testing()\n"
        f"add_executable(suite library.c test_library.c)\n{tests}"
    )
    head = "".join(f"{line};\n" for line in LIBRARY.splitlines() if line.endswith(")") and not line.startswith(" "))
    (tmp_path / "library.h").write_text("\n".join([*LIBRARY.splitlines()[:2], head]))
    source = '#include "library.h"\n' + LIBRARY.partition("\n\n")[2]
    (tmp_path / "library.c").write_text(source)
    (tmp_path / "test_library.c").write_text(SUITE)
    for words in (("init", "-q"), ("add", "."), ("commit", "-qm", "one")):
        git(tmp_path, *words)
    for old, new in CHANGES.values():
        source = source.replace(old, new)
    (tmp_path / "library.c").write_text(source)
    for words in (("-S", ".", "-B", "build", f"-DCMAKE_C_COMPILER={compiler}"), ("--build", "build")):
        subprocess.run(["cmake", *words], cwd=tmp_path, check=True, capture_output=True)
    monkeypatch.chdir(tmp_path)
    assert run(["record-c", "--ctest", "build"]) == 1  # nothing is measured, as the build has no --coverage
    capsys.readouterr()
    assert run(["changes", *CHANGES, "--seconds", "500", "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["changes"] == 5  # the build folder, which git does not ignore, is none
    lines = source.splitlines()
    other = "`return found;`" if compiler == "gcc" else "none of its cases"  # code that clang has for that
    differences = {cause["tests"][0]: cause["first_difference"] for cause in found["causes"]}
    named = {
        test: (lines[one["line"] - 1].strip(), one["name"], one["before"], one["after"])
        for test, one in differences.items()
        if one["file"] == "library.c"
    }
    assert named == {
        "shipping": ("if (total > 100) {", "total > 100", "true", "false"),
        "greeting": ('if (formal) found = "Dear,";', "found", '"Dear"', '"Dear,"'),
        "total": ("sum += 3;", "sum", "2.5", "3.5"),
        "level": ("switch (n / 10) {", "what follows `n / 10`", "`found = MIDDLE;`", other),
    }
    assert (differences["split"]["name"], differences["split"]["after"]) == ("rest", "3")


@pytest.mark.slow
def test_why_a_test_of_c_fails_is_a_change_or_where_the_nearest_passing_run_parts(changed, capfd, monkeypatch):
    monkeypatch.chdir(changed)
    assert run(["record-c", "--ctest", "build"]) in (0, 1)
    capfd.readouterr()

    def answer(*words):
        status = run(["why", "price", "--seconds", "200", "--format", "json", *words])
        out, err = capfd.readouterr()
        return json.loads(out) if out else (status, err)

    assert "it is for tests of Python" in answer("--ctest", "build", "--", "pytest")[1]
    log = changed / ".suspectra" / "experiments" / "log.jsonl"
    found = answer("--hide-values")  # the recording says which build it is
    assert not [line for line in found["text"] if line.startswith("The first value")]
    log.unlink()
    found = answer()
    assert [line for line in found["text"] if line.startswith("The first value")]
    assert (found["place"], found["certainty"]) == ("price.c:3", "certain")
    assert found["text"][0] == "One of your 2 changes since the last commit (HEAD) broke it:"
    source = changed / "price.c"
    source.write_text(f"/* edited */\n{source.read_text()}")
    refused = answer()[1]
    assert (
        "Fix: build, and record the tests again: `cmake --build build && suspectra record-c --ctest build`" in refused
    )
    assert answer("--record")["place"] == "price.c:4"
    git(changed, "commit", "-q", "--amend", "-am", "one")
    log.unlink()
    found = answer("--ctest", "build")
    assert found["certainty"] == "low"
    assert found["place"].startswith(("price.c:", "test_price.c:"))
    assert "suspectra paths price --ctest build" in found["surer"]


PARTED = """\
cmake_minimum_required(VERSION 3.16)
project(shop C)
enable_testing()
add_executable(test_price price.c test_price.c)
add_test(NAME price COMMAND test_price)
add_executable(till price.c till.c)
add_custom_command(TARGET till POST_BUILD COMMAND ${CMAKE_COMMAND} -E touch ${BUILT})
add_executable(test_till test_till.c)
target_compile_definitions(test_till PRIVATE TILL="$<TARGET_FILE:till>")
add_test(NAME till COMMAND test_till)
"""
TILL = "int doubled(int value);\n\nint main(void)\n{\n    return doubled(2) != 4;\n}\n"
STARTS_IT = "#include <stdlib.h>\n\nint main(void)\n{\n    return system(TILL) != 0;\n}\n"


@pytest.mark.slow
@pytest.mark.parametrize(("test", "built"), [("price", False), ("till", True)])
def test_only_the_programs_of_the_failing_tests_are_built_again(tmp_path, tool, capfd, monkeypatch, test, built):
    """Unless a test starts a program of the project that is no part of it."""
    tool("cmake", "cmake")
    project, mark = tmp_path / "shop", tmp_path / "built"
    project.mkdir()
    added = {"CMakeLists.txt": PARTED, "till.c": TILL, "test_till.c": STARTS_IT}
    for name, text in {**FILES, **added}.items():
        (project / name).write_text(text)
    for words in (("init", "-q"), ("add", "."), ("commit", "-qm", "one")):
        git(project, *words)
    source = project / "price.c"
    source.write_text(source.read_text().replace("value * 2", "value + 3"))
    for words in (("-S", ".", "-B", "build", f"-DBUILT={mark}"), ("--build", "build")):
        more = ["-DCMAKE_C_FLAGS=--coverage"] if "-S" in words else []
        subprocess.run(["cmake", *words, *more], cwd=project, check=True, capture_output=True)
    monkeypatch.chdir(project)
    assert run(["record-c", "--ctest", "build"]) in (0, 1)
    mark.unlink()
    capfd.readouterr()
    assert run(["why", test, "--seconds", "200", "--format", "json"]) == 0
    found = json.loads(capfd.readouterr().out)
    assert (found["place"], found["certainty"]) == ("price.c:3", "certain")
    assert mark.exists() is built

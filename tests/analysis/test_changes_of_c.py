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
    assert (cause["mends"], cause["alone_breaks"], cause["first_difference"]) == (["price"], ["price"], None)
    assert source.read_text() == text
    assert run(["changes", "--ctest", "nowhere"]) == 2
    assert run(["changes", "--ctest", "build", "--", "pytest"]) == 2


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
    found = answer()  # the recording says which build it is
    assert (found["place"], found["certainty"]) == ("price.c:3", "certain")
    assert found["text"][0] == "One of your 2 changes since the last commit (HEAD) broke it:"
    git(changed, "commit", "-q", "--amend", "-am", "one")
    (changed / ".suspectra" / "experiments" / "log.jsonl").unlink()
    found = answer("--ctest", "build")
    assert found["certainty"] == "low"
    assert found["place"].startswith(("price.c:", "test_price.c:"))
    assert "suspectra paths price --ctest build" in found["surer"]

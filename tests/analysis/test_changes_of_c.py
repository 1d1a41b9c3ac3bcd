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


@pytest.mark.slow
def test_a_change_of_c_is_found(tmp_path, tool, capsys, monkeypatch):
    tool("cmake", "cmake")
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    git = ("git", "-c", "user.name=x", "-c", "user.email=x@x")
    for words in (("init", "-q"), ("add", "."), ("commit", "-qm", "one")):
        subprocess.run([*git, *words], cwd=tmp_path, check=True)
    source = tmp_path / "price.c"
    text = source.read_text().replace("value * 2", "value + 3").replace("value * 3", "3 * value")
    source.write_text(text)
    for words in (("-S", ".", "-B", "build"), ("--build", "build")):
        subprocess.run(["cmake", *words], cwd=tmp_path, check=True, capture_output=True)
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

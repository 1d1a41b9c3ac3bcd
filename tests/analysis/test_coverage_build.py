"""Configuring and building with coverage: each build system in a folder of its own, and what is said if it fails."""

import os
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from suspectra.base.errors import EvidenceError, UsageError
from suspectra.c.coverage_build import coverage_build
from suspectra.cli.main import cli

PROGRAM = "int main(int count, char **words) { (void)words; return count > 1; }\n"


def written(folder, **files):
    for name, text in files.items():
        (folder / name.replace("_txt", ".txt").replace("_c", ".c")).write_text(text)
    return folder


def commands(build):
    return [" ".join(step.command).replace(str(build.folder), "BUILD") for step in build.steps]


@pytest.mark.parametrize(
    ("file", "system", "tests"),
    [
        ("CMakeLists.txt", "CMake", ("--ctest", "build")),
        ("meson.build", "Meson", ("--meson", "build")),
        ("configure.ac", "autoconf", ()),
        ("SConstruct", "SCons", ()),
        ("Makefile", "make", ()),
    ],
)
def test_each_build_system_is_known_by_a_file(tmp_path, file, system, tests):
    (tmp_path / file).touch()
    build = coverage_build(tmp_path)
    assert (build.build_system, build.tests) == (system, tests)
    assert not (tmp_path / "build").exists()  # nothing is done yet


def test_options_reach_the_step_that_configures(tmp_path):
    for name in ("CMakeLists.txt", "meson.build", "configure", "Makefile"):
        (tmp_path / name).touch()
    for system, begin in {"cmake": "cmake -S", "meson": "meson setup", "automake": f"{tmp_path}/configure"}.items():
        chosen = [step for step in commands(coverage_build(tmp_path, None, system, ["--own"])) if "--own" in step]
        assert [step.startswith(begin) for step in chosen] == [True]
    (tmp_path / "Makefile.am").write_text("check_PROGRAMS = t\nTESTS = t\n")
    build = coverage_build(tmp_path, "there", "automake")
    assert build.tests == ("--automake", "there")
    assert commands(build)[-1].endswith("check TESTS=")  # builds the tests, and runs none


def test_a_folder_of_others_is_not_touched(tmp_path):
    (tmp_path / "CMakeLists.txt").touch()
    (tmp_path / "build").mkdir()
    assert coverage_build(tmp_path).folder.name == "build-coverage"
    (tmp_path / "build" / "suspectra-coverage.cmake").touch()  # built before by the same command
    assert coverage_build(tmp_path).folder.name == "build"


def test_a_set_up_of_meson_that_failed_is_made_anew(tmp_path):
    (tmp_path / "meson.build").touch()
    private = tmp_path / "build" / "meson-private"
    private.mkdir(parents=True)
    assert "--reconfigure" not in commands(coverage_build(tmp_path, "build"))[0]
    (private / "build.dat").touch()
    assert "--reconfigure" in commands(coverage_build(tmp_path, "build"))[0]


def test_a_workspace_without_build_system_is_refused(tmp_path):
    with pytest.raises(UsageError, match=r"there is none of CMakeLists\.txt, meson\.build"):
        coverage_build(tmp_path)


def test_a_makefile_compiles_with_coverage_whatever_flags_it_sets(tmp_path):
    rules = "CFLAGS = -O2\nprogram: main.o\n\tgcc -o $@ $^\nmain.o: main.c\n\t$(CC) $(CFLAGS) -c -o $@ $<\n"
    written(tmp_path, Makefile=rules, main_c=PROGRAM)
    ended = CliRunner().invoke(cli, ["build-c", "--workspace", str(tmp_path)])
    assert ended.exit_code == 0, ended.output
    assert "make built 1 object with coverage" in ended.output
    assert ended.output.splitlines()[-1] == "suspectra record-c --shell FILE"
    assert (tmp_path / "main.gcno").exists()
    assert (tmp_path / ".suspectra" / ".gitignore").read_text() == "*\n"


@pytest.mark.slow
def test_a_makefile_that_must_not_make_everything_again_is_cleaned_first(tmp_path):
    rules = "program: main.o settings\n\tgcc -o $@ main.o\nmain.o: main.c\n\t$(CC) -c -o $@ $<\n"
    rules += "settings:\n\t@echo run ./configure first; false\nclean:\n\trm -f main.o program\n"
    written(tmp_path, Makefile=rules, main_c=PROGRAM)
    (tmp_path / "settings").touch()
    subprocess.run(["make"], cwd=tmp_path, check=True)
    assert coverage_build(tmp_path).make() == 1
    assert (tmp_path / "main.gcno").exists()


SCONSTRUCT = """\
env = Environment(CCFLAGS=["-O2"], CC="gcc")
part = env.Object("part.c", CPPDEFINES=marks())
env.Program("program", ["main.c", part])
"""


@pytest.mark.slow
def test_scons_compiles_with_coverage_whatever_environment_a_project_makes(tmp_path, tool):
    """Also where it was built before, with its own site_scons; the command of each step is as it was."""
    tool("scons", "scons")
    written(tmp_path, SConstruct=SCONSTRUCT, main_c=PROGRAM, part_c="int part(void) { return MARK; }\n")
    (tmp_path / "site_scons").mkdir()
    (tmp_path / "site_scons" / "site_init.py").write_text("def marks():\n    return {'MARK': 3}\n")
    subprocess.run(["scons", "-Q"], cwd=tmp_path, check=True)
    assert not list(tmp_path.glob("*.gcno"))
    ended = CliRunner().invoke(cli, ["build-c", "--workspace", str(tmp_path)])
    assert ended.exit_code == 0, ended.output
    assert "SCons built 2 objects with coverage" in ended.output
    assert ended.output.splitlines()[-1] == "suspectra record-c --shell FILE"
    assert sorted(path.name for path in tmp_path.glob("*.gcno")) == ["main.gcno", "part.gcno"]
    assert subprocess.run(["./program"], cwd=tmp_path, check=False).returncode == 0
    assert (tmp_path / "main.gcda").exists()


def test_what_fails_is_said_with_its_step(tmp_path, monkeypatch):
    written(tmp_path, Makefile="all:\n\tfalse\n")
    with pytest.raises(EvidenceError, match="it ended with status 2"):
        coverage_build(tmp_path).make()
    written(tmp_path, Makefile="all:\n\ttrue\n")
    (tmp_path / "older.gcno").touch()
    os.utime(tmp_path / "older.gcno", (1, 1))
    with pytest.raises(EvidenceError, match="nothing with coverage"):
        coverage_build(tmp_path).make()
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(EvidenceError, match="install make"):
        coverage_build(tmp_path).make()


@pytest.mark.slow
def test_a_cmake_project_with_flags_of_its_own_and_another_project_inside(tmp_path, tool):
    tool("cmake", "cmake")
    lists = (
        "cmake_minimum_required(VERSION 3.14)\nproject(small C)\nset(CMAKE_C_FLAGS -O2)\n"
        "set(CMAKE_EXE_LINKER_FLAGS -s)\nenable_testing()\nadd_executable(program main.c)\n"
        "add_test(NAME alone COMMAND program)\nadd_test(NAME more COMMAND program x)\n"
        "include(ExternalProject)\n"
        'ExternalProject_Add(part SOURCE_DIR ${CMAKE_SOURCE_DIR}/part INSTALL_COMMAND "")\n'
    )
    written(tmp_path, CMakeLists_txt=lists, main_c=PROGRAM)
    (tmp_path / "part").mkdir()
    part = "cmake_minimum_required(VERSION 3.14)\nproject(part C)\nadd_library(part STATIC part.c)\n"
    written(tmp_path / "part", CMakeLists_txt=part, part_c="int part(void) { return 1; }\n")
    ended = CliRunner().invoke(cli, ["build-c", "--workspace", str(tmp_path), "--", "-DANY=1"])
    assert ended.output.splitlines()[-1] == "suspectra record-c --ctest build"
    assert [*(tmp_path / "build").rglob("part.c.gcno")]
    assert "ANY:UNINITIALIZED=1" in Path(tmp_path, "build", "CMakeCache.txt").read_text()
    ended = CliRunner().invoke(cli, ["record-c", "--workspace", str(tmp_path), "--ctest", str(tmp_path / "build")])
    assert "recorded 2 tests, 1 failed" in ended.output
    assert "read by Suspectra" in ended.output
    assert os.listdir(tmp_path / ".suspectra" / "recording-c")


def test_settings_that_leave_out_the_tests_are_named(tmp_path):
    build = coverage_build(written(tmp_path, CMakeLists_txt=""))
    build.folder.mkdir()
    cache = f"CMAKE_HOME_DIRECTORY:INTERNAL={tmp_path}\nZ_TESTING:BOOL=OFF\nA_BUILD_TESTS:BOOL=OFF\nB_TESTS:BOOL=ON\n"
    (build.folder / "CMakeCache.txt").write_text(cache)
    assert build.tests_left_out() == ("A_BUILD_TESTS", "Z_TESTING")
    (build.folder / "CTestTestfile.cmake").write_text("add_test(one one)\n")
    assert build.tests_left_out() == ()


def test_flags_stand_behind_those_of_a_target(tmp_path):
    files = {path.name: text for path, text in coverage_build(written(tmp_path, CMakeLists_txt="")).files}
    assert files["suspectra-compile"].endswith('"$@" -O0 -g --coverage\n')
    assert "suspectra-compile" in files["suspectra-coverage.cmake"]

"""Fetch Debian's source of Lua, plant a fault, and write a CMake project whose tests are Lua scripts."""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent

# name: (file, text, what takes its place)
FAULTS = {
    "insert": ("ltablib.c", "for (i = e; i > pos; i--) {", "for (i = e; i > pos + 1; i--) {"),
    "rep": ("lstrlib.c", "while (n-- > 1) {", "while (n-- > 2) {"),
    "floor": ("lvm.c", "if ((m ^ n) < 0 && m % n != 0)", "if ((m ^ n) < 0 && m % n > 0)"),
    "none": ("lua.c", "", ""),
}

LISTS = """\
cmake_minimum_required(VERSION 3.14)
project(lua C)
file(GLOB sources src/*.c)
list(FILTER sources EXCLUDE REGEX "/luac\\\\.c$")
add_executable(lua ${sources})
target_compile_definitions(lua PRIVATE LUA_USE_POSIX LUA_USE_DLOPEN)
target_compile_options(lua PRIVATE -O0 -g --coverage)
target_link_options(lua PRIVATE --coverage -rdynamic -Wl,-u,__gcov_dump)
target_link_libraries(lua m dl)
enable_testing()
file(GLOB scripts tests/*.lua)
foreach(script ${scripts})
  get_filename_component(name ${script} NAME_WE)
  add_test(NAME ${name} COMMAND lua ${script})
  set_tests_properties(${name} PROPERTIES TIMEOUT 20 PASS_REGULAR_EXPRESSION "right" FAIL_REGULAR_EXPRESSION "wrong")
endforeach()
"""

CHECK = 'local function check(c) print(({[true] = "right", [false] = "wrong"})[not not c]) end '


def fetch(folder: Path) -> Path:
    """The sources of Debian's lua5.4."""
    done = subprocess.run(
        ["apt-get", "source", "-q", "lua5.4"], cwd=folder, capture_output=True, text=True, check=False
    )
    found = sorted(folder.glob("lua5.4-*/src"))
    if done.returncode or not found:
        sys.exit(f"apt-get source lua5.4 failed; add a deb-src line and run apt-get update\n{done.stderr}")
    return found[0]


def tests() -> dict[str, str]:
    """The sections of tests.lua by name."""
    found: dict[str, str] = {}
    name = ""
    for line in (HERE / "tests.lua").read_text(encoding="utf-8").splitlines(keepends=True):
        if line.startswith("--- "):
            name = line[4:].strip()
            found[name] = ""
        elif name:
            found[name] += line
    return found


def prepare(folder: Path, fault: str = "insert", source: Path | None = None) -> Path:
    """Write the project; returns the file the fault is in."""
    (folder / "tests").mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        origin = source or fetch(Path(scratch))
        shutil.copytree(origin, folder / "src", dirs_exist_ok=True)
    header = folder / "src" / "lua5.4-deb-multiarch.h"
    if not header.exists():  # Debian's own build writes it
        header.write_text('#define DEB_HOST_MULTIARCH "."\n')
    file, old, new = FAULTS[fault]
    path = folder / "src" / file
    text = path.read_text()
    if old and text.count(old) != 1:
        sys.exit(f"{file} of this version of Lua has no place for the fault {fault}")
    path.write_text(text.replace(old, new) if old else text)
    (folder / "CMakeLists.txt").write_text(LISTS)
    for name, script in tests().items():
        (folder / "tests" / f"{name}.lua").write_text(CHECK + script, encoding="utf-8")
    return path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--fault", choices=FAULTS, default="insert")
    parser.add_argument("--source", type=Path, help="a folder with the sources, instead of apt-get source")
    parser.add_argument("--list", action="store_true", help="print the faults")
    options = parser.parse_args()
    if options.list or options.folder is None:
        for name, (file, old, new) in FAULTS.items():
            print(f"{name}: {file}: {old} -> {new}")
        return
    path = prepare(options.folder, options.fault, options.source)
    print(f"{options.folder}: {len(tests())} tests, fault {options.fault} in {path.name}")


if __name__ == "__main__":
    main()

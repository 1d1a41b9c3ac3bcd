"""Which lines are statements: the recorder's table against that of coverage.py, file by file over packages from PyPI.

    python benchmarks/statement_tables.py
    python benchmarks/statement_tables.py --python python3.10 --python python3.14

Each Python gets an environment with coverage.py and the packages. Files that it can't compile are counted apart.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
from pathlib import Path

from recording_overhead import tag

PACKAGES = ("attrs", "click", "jinja2", "lark", "markdown", "networkx", "parso", "pyparsing", "rich", "werkzeug")
ANALYSIS = Path(__file__).parents[1] / "analysis"
COMPARE = """
import json, sys, sysconfig, warnings
from pathlib import Path

sys.path.insert(0, sys.argv[1])
import coverage
from coverage.exceptions import CoverageException
from coverage.parser import PythonParser
from suspectra_recorder.instrumentation.rewriting import instrument

warnings.simplefilter("ignore")
files = statements = refused = 0
differences = []
for path in sorted(Path(sys.argv[2]).rglob("*.py")):
    data = path.read_bytes()
    try:
        found = {s.line for s in instrument(data, str(path), "cells")[1].statements}
    except SyntaxError:
        found = None
    try:
        parser = PythonParser(filename=str(path))
        parser.parse_source()
        theirs = parser.statements
    except CoverageException:
        theirs = None
    if found is None or theirs is None:
        refused += 1
        if found is not theirs:
            differences.append([str(path), 0, "refused by one of them", ""])
        continue
    files += 1
    statements += len(theirs)
    text = data.decode("utf-8", "replace").split("\\n")
    for line in sorted(found ^ theirs):
        which = "only the recorder" if line in found else "only coverage.py"
        differences.append([str(path), line, which, text[line - 1].strip()])
summary = {"coverage": coverage.__version__, "files": files, "statements": statements, "refused": refused}
print(json.dumps({**summary, "differences": differences}))
"""


def environment(python: str, coverage: str, cache: Path) -> tuple[Path, Path]:
    """The interpreter with coverage.py, and the folder of the packages; made once."""
    home = cache / f"statements-{tag(python)}-{coverage.replace('=', '')}"
    if not (home / "ready").exists():
        shutil.rmtree(home, ignore_errors=True)
        subprocess.run([python, "-m", "venv", "--without-pip", str(home / "venv")], check=True)
        pip = [sys.executable, "-m", "pip", "--python", str(home / "venv/bin/python"), "-q"]
        subprocess.run([*pip, "--disable-pip-version-check", "install", coverage], check=True)
        target = ["install", "--no-deps", "--target", str(home / "packages"), *PACKAGES]
        subprocess.run([*pip, "--disable-pip-version-check", *target], check=True)
        (home / "ready").touch()
    return home / "venv/bin/python", home / "packages"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--python", action="append", help="repeatable; this one by default")
    parser.add_argument("--coverage", default="coverage", help="such as coverage==7.10.0")
    parser.add_argument("--cache", type=Path, default=Path.home() / ".cache" / "suspectra" / "benchmarks")
    options = parser.parse_args()
    results = {}
    for base in options.python or [sys.executable]:
        python, packages = environment(base, options.coverage, options.cache)
        command = [str(python), "-c", COMPARE, str(ANALYSIS), str(packages)]
        found = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
        results[tag(base)] = found
        print(f"{tag(base)}, coverage.py {found['coverage']}: {found['statements']:,} statements", end=" ")
        print(f"in {found['files']:,} files, {len(found['differences'])} differences;", end=" ")
        print(f"{found['refused']} files can't be compiled", flush=True)
        for path, line, which, text in found["differences"]:
            print(f"    {Path(path).relative_to(packages)}:{line} {which}: {text}")
    print(json.dumps({"benchmark": "statement_tables", "packages": PACKAGES, "pythons": results}))


if __name__ == "__main__":
    main()

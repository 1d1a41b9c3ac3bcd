"""How large the house is, and how many of its modules a reader crosses to follow three things that happen.

Counted are lines of code, docstrings, comments and documents, modules, folders, and public classes of one name. The
modules crossed are those in which a function is called: by `suspectra rank`, by the server from its start to the first
marks of a recording, and by the server from a save to the marks of the tests that ran. The subject is examples/ledger.

    python benchmarks/size.py
    git worktree add ../before v0.1.0; python benchmarks/size.py --source ../before
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from editor_client import TIMEOUT_S, Client, Message

ROOT = Path(__file__).resolve().parent.parent
SETTLED_TIMEOUT_S = 2.0
"""For what still goes on after the first marks."""

# runs `suspectra ARGUMENTS`; at its end and at each SIGUSR1 the files in which a function was called since are written
WATCHED = """
import json, os, signal, sys, threading
os.chdir(sys.argv[1])
target, tops = sys.argv[2], tuple(sys.argv[3].split(os.pathsep))
os.environ["PYTHONPATH"] = sys.argv[3]
sys.argv[1:] = sys.argv[4:]
sys.path[:0] = tops
files, number = set(), 1
def called(frame, event, argument):
    if event == "call" and frame.f_code.co_name != "<module>":
        files.add(frame.f_code.co_filename)
def write(*_):
    global number
    found = sorted(path for path in files if path.startswith(tops))
    files.clear()
    while os.path.exists(f"{target}.{number}"):
        number += 1
    with open(f"{target}.part", "w") as file:
        json.dump(found, file)
    os.replace(f"{target}.part", f"{target}.{number}")
signal.signal(signal.SIGUSR1, write)
from suspectra.__main__ import main
threading.setprofile(called)
sys.setprofile(called)
try:
    main()
finally:
    sys.setprofile(None)
    write()
"""


def sizes(source: Path) -> dict[str, int]:
    """Lines by what they are, modules, the largest folder, and names that stand for several public classes."""
    found: Counter[str] = Counter()
    folders: Counter[Path] = Counter()
    classes: dict[str, set[Path]] = {}
    for path in _modules(source):
        text = path.read_text(encoding="utf-8")
        tree = ast.parse(text)
        documented = set(_docstring_lines(tree))
        lines = list(enumerate(text.splitlines(), 1))
        found["docstring lines"] += len(documented)
        found["comment lines"] += sum(line.lstrip().startswith("#") for n, line in lines if n not in documented)
        found["lines with a comment behind code"] += sum(
            "  # " in line and not line.lstrip().startswith("#") for n, line in lines if n not in documented
        )
        found["code lines"] += sum(
            bool(line.strip()) and n not in documented and not line.lstrip().startswith("#") for n, line in lines
        )
        found["modules"] += 1
        folders[path.parent] += 1
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                classes.setdefault(node.name, set()).add(path)
    documents = [*source.glob("*.md"), *(source / "docs").rglob("*.md"), *(source / "benchmarks").glob("*.md")]
    found["lines of documents"] = sum(len(path.read_text(encoding="utf-8").splitlines()) for path in documents)
    found["modules in the largest folder"] = max(folders.values())
    found["names of several public classes"] = sum(len(paths) > 1 for paths in classes.values())
    return dict(found)


def _modules(source: Path) -> Iterator[Path]:
    for top in ("analysis", "server"):
        yield from sorted(path for path in (source / top).rglob("*.py") if "build" not in path.parts)


def _docstring_lines(tree: ast.Module) -> Iterator[int]:
    for node in ast.walk(tree):
        if not isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        if ast.get_docstring(node) is not None:
            yield from range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1)


class Watched:
    """How a version of Suspectra is started such that it notes which of its modules are crossed."""

    def __init__(self, source: Path, folder: Path, scratch: Path):
        self._target, self._written = scratch / f"crossed-{folder.name}", 0
        script = scratch / "watched.py"
        script.write_text(WATCHED, encoding="utf-8")
        tops = os.pathsep.join(str(source / top) for top in ("analysis", "server"))
        self.command = [sys.executable, str(script), str(folder), str(self._target), tops]

    def modules(self, process: subprocess.Popen[bytes] | None = None) -> int:
        """How many modules were crossed since the last time; a process that goes on is asked."""
        self._written += 1
        written = Path(f"{self._target}.{self._written}")
        if process is not None:
            process.send_signal(signal.SIGUSR1)
        _wait(written.exists)
        return len(json.loads(written.read_text(encoding="utf-8")))


def _wait(condition: Callable[[], object]) -> None:
    end = time.monotonic() + TIMEOUT_S
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError("it did not happen")
        time.sleep(0.02)


def crossed(source: Path) -> dict[str, int]:
    """How many modules are crossed in the three walks."""
    with tempfile.TemporaryDirectory() as created:
        scratch, folder = Path(created), Path(created, "ledger")
        shutil.copytree(source / "examples" / "ledger", folder, ignore=shutil.ignore_patterns(".suspectra", "*.html"))
        watched = Watched(source, folder, scratch)
        tests = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
        for arguments in (["record", "--", *tests], ["rank"]):
            subprocess.run(
                [*watched.command, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False
            )
        watched.modules()
        found = {"`suspectra rank`": watched.modules()}
        client = Client([*watched.command, "server"])
        client.initialize(folder, {"run": "onSave", "testCommand": tests, "diagnostics": "all"})
        client.until(_has_marks)
        found["a recording to its first marks (server)"] = watched.modules(client.process)
        edited = folder / "src" / "ledger" / "tax.py"
        text = edited.read_text(encoding="utf-8")
        document = {"uri": edited.as_uri(), "languageId": "python", "version": 1, "text": text}
        client.send("textDocument/didOpen", {"textDocument": document})
        time.sleep(SETTLED_TIMEOUT_S)
        watched.modules(client.process)
        client.drain()
        changed = f"{text}\n\nEDITED = 1\n"
        edited.write_text(changed, encoding="utf-8")
        identity = {"uri": edited.as_uri(), "version": 2}
        client.send("textDocument/didChange", {"textDocument": identity, "contentChanges": [{"text": changed}]})
        client.send("textDocument/didSave", {"textDocument": {"uri": edited.as_uri()}})
        client.until(_has_marks)
        found["a save to marks (server)"] = watched.modules(client.process)
        client.end()
        return found


def _has_marks(message: Message) -> bool:
    """Whether diagnostics of code came."""
    params = message.get("params") or {}
    return (
        message.get("method") == "textDocument/publishDiagnostics"
        and "/src/" in params["uri"]
        and params["diagnostics"]
    )


def main() -> None:
    """Count one version, and another one beside it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", type=Path, help="another version's folder, which is counted first")
    versions = [*filter(None, [parser.parse_args().source]), ROOT]
    counted = [{**sizes(version.resolve()), **crossed(version.resolve())} for version in versions]
    for what in counted[-1]:
        print(f"{what:45}", *(f"{one[what]:8,}" for one in counted))
    print(json.dumps(counted))


if __name__ == "__main__":
    main()

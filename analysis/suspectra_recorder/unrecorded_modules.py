"""Explaining why modules of the workspace were not recorded, and what to do."""

from __future__ import annotations

import re
import site
from collections.abc import Iterator
from importlib.machinery import EXTENSION_SUFFIXES
from typing import NamedTuple

from suspectra_recorder.early_start import EarlyStart
from suspectra_recorder.instrumentation.library_references import os, sys
from suspectra_recorder.recorded_files import RecordedFiles

_OF_PYTHON = sys.stdlib_module_names | {"__main__"}
_RECORD = "run the tests with `suspectra record -- pytest`"


class Reason(NamedTuple):
    """The cause of a problem, and its cure."""

    cause: str  # why a module was not recorded
    cure: str  # what to do about it


def reason(module: str, file: str, early: EarlyStart | None, *, launched: bool, counting: bool) -> Reason:
    """Find out why a module was not recorded."""
    if module == "__main__":
        return Reason("is the program that runs pytest, so nothing it executes is known", f"if it matters, {_RECORD}")
    if early is None or module in early.before:
        cause = "was imported before the recording began, so nothing it executes is known"
        return Reason(cause, "start Python without -S, -E and -I" if launched else _RECORD)
    if early.python is not None and module in early.python.started_with:
        by, cure = _by_path_files(module)
        return Reason(f"was imported as {module} when Python started, {by}: nothing it executes is known", cure)
    if early.hooks.import_hook.counting != counting:
        cause = "was imported before pytest's configuration was known, so it does not count as that asks for"
        return Reason(cause, "run the tests with `suspectra record --counts -- pytest`")
    if early.hooks.import_hook.scope(file) is None:
        cause = "was imported before pytest's configuration was known, which makes it a source"
        return Reason(cause, f"run the tests with `suspectra record --source {module.partition('.')[0]} -- pytest`")
    if early.python is not None and module in early.python.customized_with:
        cause = f"was imported as {module} by {_customization()}, when Python started: nothing it executes is known"
        return Reason(cause, "let it be imported later, or let the command be pytest itself")
    cause = f"was imported as {module} before pytest was, so nothing it executes is known"
    return Reason(cause, "let the command be pytest itself: `suspectra record -- pytest`, or import pytest first")


def modules_before(scope: RecordedFiles) -> Iterator[tuple[str, str, str]]:
    """Iterate over the imported modules of a scope."""
    # a copy, since another thread may import meanwhile
    for name, module in list(sys.modules.items()):
        path = file_of(module)
        if path is not None and (file := scope(path)) is not None:
            yield name, path, file


def imported_from_elsewhere(scope: RecordedFiles) -> Iterator[tuple[str, Reason]]:
    """Iterate over files of a scope of which another copy was imported, such as an installed one.

    Looked for in the workspace and in its folder ``src``. A package stands for what is in it.

    Which copy was imported instead, and what to do about it.
    """
    roots = [scope.root, os.path.join(scope.root, "src")]
    ours = {name.partition(".")[0] for root in roots if os.path.isdir(root) for name in os.listdir(root)}
    found: set[str] = set()
    for name in sorted(name for name in list(sys.modules) if name.partition(".")[0] in ours - _OF_PYTHON):
        path = file_of(sys.modules.get(name))
        if path is None or scope(path) is not None:
            continue
        if any(name.startswith(f"{package}.") for package in found):
            continue
        if (compiled := _compiled(path, scope)) is not None:
            yield compiled
            continue
        last = "/__init__.py" if os.path.basename(path) == "__init__.py" else ".py"
        copies = [os.path.join(root, name.replace(".", "/") + last) for root in roots]
        file = next((file for copy in copies if os.path.exists(copy) and (file := scope(copy)) is not None), None)
        if file is not None:
            found.add(name)
            cause = f"is not what was imported as {name}: that was {path}"
            yield file, Reason(cause, "install the project with `pip install --editable .` to record what is edited")


def _compiled(path: str, scope: RecordedFiles) -> tuple[str, Reason] | None:
    """What to say of a module that was compiled in place; None for others."""
    suffix = next((suffix for suffix in EXTENSION_SUFFIXES if path.endswith(suffix)), None)
    if suffix is None:
        return None
    sources = (path.removesuffix(suffix) + end for end in (".pyx", ".py"))
    source = next((source for source in sources if os.path.exists(source)), None)
    if source is None or (name := scope.name(source)) is None:
        return None
    cause = f"is compiled, and {os.path.basename(path)} was imported: nothing it executes is known"
    if source.endswith(".py"):
        return name, Reason(cause, f"move {os.path.basename(path)} away while the tests are recorded")
    cure = (
        "build it with Cython's directive linetrace and the macro CYTHON_TRACE=1, put `plugins = Cython.Coverage` under"
        " `[run]` into .coveragerc, and run `pytest --cov --cov-context=test --junit-xml=results.xml`, which needs no"
        " recording"
    )
    return name, Reason(cause, cure)


def imported_files() -> list[str]:
    """List the files of all imported modules.

    Paths, in the order of `sys.modules`.
    """
    files = map(file_of, list(sys.modules.values()))
    return [path for path in files if path is not None]


def file_of(module: object) -> str | None:
    """Find the file of a module.

    The path, None where there is none.
    """
    try:
        # objects among the modules may run code of their own, and raise anything
        path = getattr(module, "__file__", None)
    except Exception:
        return None
    return path if isinstance(path, str) else None


def _customization() -> str:
    path = getattr(sys.modules.get("sitecustomize"), "__file__", None)
    return str(path) if path else "sitecustomize"


def _by_path_files(module: str) -> tuple[str, str]:
    """Which lines of .pth files may have imported a module, and what to do about them."""
    lines = list(_import_lines())
    top = re.compile(rf"\b{re.escape(module.partition('.')[0])}\b")
    lines = [(place, line) for place, line in lines if top.search(line)] or lines
    if not lines:
        return "before any other module", "find what imports it (python -v) and let it do so later"
    shown = " or ".join(f"by {place} ({line})" if len(lines) == 1 else f"by {place}" for place, line in lines)
    return shown, "let that line import it later, or take it out while the tests are recorded"


def _import_lines() -> Iterator[tuple[str, str]]:
    """The lines of .pth files that Python executes."""
    folders = [*site.getsitepackages(), *([site.getusersitepackages()] if site.ENABLE_USER_SITE else [])]
    for folder in dict.fromkeys(folders):
        try:
            names = sorted(name for name in os.listdir(folder) if name.endswith(".pth"))
        except OSError:
            continue
        for name in names:
            path = os.path.join(folder, name)
            try:
                with open(path, encoding="utf-8", errors="replace") as stream:
                    lines = stream.read(1 << 20).splitlines()
            except OSError:
                continue
            for number, line in enumerate(lines, 1):
                if line.startswith(("import ", "import\t")):
                    yield f"{path}:{number}", line if len(line) <= 80 else f"{line[:77]}..."

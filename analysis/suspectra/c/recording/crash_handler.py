"""Building the crash handler, which saves the coverage of a crashing C program."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from suspectra.base.errors import Problem
from suspectra.processes.runner import CommandToRun, run
from suspectra.processes.scratch import ScratchFolder

HANDLER = Path(__file__).with_name("crash_handler.c")
"""The source of the crash handler, which may also be linked into a program."""

LIBRARY = "crash-handler"
"""How the names of the built libraries begin."""

_NAMES = ("left_calls.c", "other_threads.c", "new_processes.c", "one_test.c", "kept_environment.c")
_PARTS = (HANDLER, *map(HANDLER.with_name, _NAMES))
_HEADER = HANDLER.with_name("recorded_calls.h")


def build_crash_handler(folder: str | os.PathLike[str]) -> tuple[str | None, Problem | None]:
    """Compile the crash handler, unless it is compiled already.

    The shared object for `LD_PRELOAD`; None if it can't be built.

    Why it can't be built; None if it was.
    """
    source = b"".join(part.read_bytes() for part in (*_PARTS, _HEADER))
    built = Path(folder, f"{LIBRARY}-{hashlib.sha256(source).hexdigest()[:16]}.so")
    if built.exists():
        return str(built), None
    compiler = next((found for name in ("cc", "gcc", "clang") if (found := shutil.which(name))), None)
    if compiler is None:
        cause = "there is no C compiler to build the crash handler with, so tests that crash leave no coverage"
        return None, Problem("", "", cause, "install a C compiler")
    built.parent.mkdir(parents=True, exist_ok=True)
    with ScratchFolder(str(built.parent)) as unfinished:
        library = os.path.join(unfinished, "crash-handler.so")
        command = [compiler, "-O2", "-shared", "-fPIC", "-o", library, *map(str, _PARTS), "-ldl"]
        done = run(CommandToRun(tuple(command), str(unfinished), os.environ))
        if done.status:
            words = done.stderr.decode("utf-8", "replace").strip().partition("\n")[0] or compiler
            cause = f"the crash handler can't be built: {words}"
            return None, Problem("", "", cause, f"link {HANDLER} into the program with -DSUSPECTRA_LINKED instead")
        os.replace(library, built)
    return str(built), None


def with_library(environment: Mapping[str, str], library: str) -> dict[str, str]:
    """An environment in which programs load the library first."""
    given = environment.get("LD_PRELOAD", "")
    # AddressSanitizer refuses to start if another library is loaded first
    options = environment.get("ASAN_OPTIONS", "")
    return {
        **environment,
        "LD_PRELOAD": given if library in given else f"{given}:{library}".lstrip(":"),
        "ASAN_OPTIONS": f"{options}:verify_asan_link_order=0".lstrip(":"),
    }

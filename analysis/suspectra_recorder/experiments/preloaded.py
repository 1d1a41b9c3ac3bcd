"""Forks of a process that has loaded pytest and what a program uses, but nothing of the program itself."""

from __future__ import annotations

import importlib
import threading
import warnings
from collections.abc import Callable, Iterable
from contextlib import suppress

from suspectra_recorder.experiments.limits import be_alone
from suspectra_recorder.instrumentation import library_references
from suspectra_recorder.instrumentation.library_references import os, signal, sys

__builtins__ = library_references.builtins

_NOT_BEFORE = ("pytest", "_pytest", "conftest", "__main__")  # what pytest itself loads as each run needs it


def fork() -> int:
    """Fork this process; the fork leads a group of its own."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pid = os.fork()
    if not pid:
        be_alone()
        return 0
    with suppress(OSError):
        os.setpgid(pid, pid)  # before it is killed, whoever comes first
    return pid


def kill(pid: int) -> None:
    """End a fork, and what it has started."""
    with suppress(OSError):
        os.killpg(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


def load(names: Iterable[str]) -> None:
    """Import modules that runs will need, as far as that goes."""
    threads = threading.active_count()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in names:
            if name not in sys.modules:
                with suppress(BaseException):
                    importlib.import_module(name)
                if threading.active_count() > threads:  # it would not be there in a fork
                    return


def loaded_besides(is_ours: Callable[[object], bool]) -> list[str]:
    """The names of the modules that are loaded, without those of the program and of pytest."""
    loaded = list(sys.modules.items())
    # a package without a file of its own belongs to what is in it
    own = {name.partition(".")[0] for name, module in loaded if is_ours(module)}
    others = own.union(_NOT_BEFORE)
    return [name for name, _ in loaded if name.partition(".")[0] not in others]

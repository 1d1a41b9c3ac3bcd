"""What the kernel of Linux keeps a process from, whatever code it runs: Landlock.

Files are written only below some folders, and no program is started. This also covers what Python does not tell audit
hooks: libraries written in C, ``os.mkfifo``, and folders that are given by a descriptor.
"""

from __future__ import annotations

from collections.abc import Iterable

from suspectra_recorder.instrumentation import library_references
from suspectra_recorder.instrumentation.library_references import os, struct, sys

__builtins__ = library_references.builtins

_CREATE, _ADD, _RESTRICT = 444, 445, 446
"""The numbers of the system calls, on all processors but Alpha."""

_VERSION, _PATH_BENEATH, _NO_NEW_PRIVILEGES = 1, 1, 38
_EXECUTE, _READ_FILE, _READ_FOLDER = 1 << 0, 1 << 2, 1 << 3
_WRITE_FILE, _TRUNCATE = 1 << 1, 1 << 14
_RIGHTS = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1}
"""All rights about files, by the version that brought the last of them; later ones are about devices."""

_SCOPED_AT, _SIGNALS = 6, 1 << 1
"""From this version on, processes outside can't be ended."""


class Landlock:
    """Restricts this process, and those that it starts, once and for all."""

    def __init__(self) -> None:
        self._call = system_call()
        self._version = self._call(_CREATE, None, 0, _VERSION) if self._call else -1

    def restrict(self, folders: Iterable[str], files: Iterable[str]) -> bool:
        """Allow to write below these folders and into these files only; whether the kernel does that."""
        if self._call is None or self._version < 1:
            return False
        handled = _RIGHTS[min(self._version, max(_RIGHTS))] & ~(_READ_FILE | _READ_FOLDER)
        scoped = _SIGNALS if self._version >= _SCOPED_AT else 0
        attributes = struct.pack("<QQQ", handled, 0, scoped)[: 24 if scoped else 8]
        rules = self._call(_CREATE, attributes, len(attributes), 0)
        if rules < 0:
            return False
        try:
            for path in folders:
                self._allow(rules, path, handled & ~_EXECUTE)
            for path in files:
                self._allow(rules, path, handled & (_WRITE_FILE | _TRUNCATE))
            return self._call(None, _NO_NEW_PRIVILEGES) == 0 and self._call(_RESTRICT, rules, 0) == 0
        finally:
            os.close(rules)

    def _allow(self, rules: int, path: str, rights: int) -> None:
        assert self._call is not None
        try:
            descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except OSError:
            return  # a system without such a folder
        self._call(_ADD, rules, _PATH_BENEATH, struct.pack("<Qi", rights, descriptor), 0)
        os.close(descriptor)


class SystemCall:
    """Calls the kernel by the number of what it is asked for; without a number ``prctl``."""

    def __init__(self, library: object):
        self._library = library

    def __call__(self, number: int | None, *arguments: int | bytes | None) -> int:
        """What the kernel returns; -1 where it refuses."""
        import ctypes

        values = [one if isinstance(one, bytes) or one is None else ctypes.c_long(one) for one in arguments]
        if number is None:
            zeros = [ctypes.c_long(0)] * 3
            return int(self._library.prctl(*values, ctypes.c_long(1), *zeros))  # type: ignore[attr-defined]
        return int(self._library.syscall(ctypes.c_long(number), *values))  # type: ignore[attr-defined]


def system_call() -> SystemCall | None:
    """What calls the kernel; None on other systems, and where Python has no `ctypes`."""
    if not sys.platform.startswith("linux"):
        return None
    try:
        import ctypes

        return SystemCall(ctypes.CDLL(None))
    except (ImportError, OSError, AttributeError):
        return None

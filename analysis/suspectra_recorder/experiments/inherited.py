"""What a process has from before its run: open files, sockets, pipes and mapped files.

Altered code must not reach others by these.
"""

from __future__ import annotations

import socket
import stat
from collections.abc import Callable, Collection
from contextlib import suppress

from suspectra_recorder.instrumentation import library_references
from suspectra_recorder.instrumentation.library_references import fcntl, os, sys

__builtins__ = library_references.builtins

_PRIVATE, _FIXED = 0x02, 0x10
"""How the kernel of Linux is asked to map a file for this process alone, in the place of another mapping."""


class Inherited:
    """The descriptors and mappings that this process has now."""

    def __init__(self, own: Collection[int]):
        self._descriptors = [one for one in _descriptors() if one > 2 and one not in own]

    def close_files(self, is_inside: Callable[[str], bool]) -> None:
        """Let nothing be written any more through open files, besides those that are inside.

        What was opened only to write goes nowhere, and what is read, too, is opened anew to be read.
        """
        for name in self._descriptors:
            with suppress(OSError):
                way = fcntl.fcntl(name, fcntl.F_GETFL) & os.O_ACCMODE
                if way == os.O_RDONLY or not stat.S_ISREG(os.fstat(name).st_mode):
                    continue
                path = path_of(name)
                if is_inside(path) or path.startswith("/memfd:"):
                    continue
                if way == os.O_RDWR and path:
                    instead = os.open(path, os.O_RDONLY)
                    os.lseek(instead, os.lseek(name, 0, os.SEEK_CUR), os.SEEK_SET)
                else:
                    instead = os.open(os.devnull, os.O_RDWR)
                _replace(name, instead)

    def sever(self) -> None:
        """Let sockets and pipes to others lead nowhere, and mapped files become copies."""
        for name in self._descriptors:
            with suppress(OSError):
                mode = os.fstat(name).st_mode
                if stat.S_ISFIFO(mode):
                    _replace(name, os.open(os.devnull, os.O_RDWR))
                elif stat.S_ISSOCK(mode) and _leads_out(name):
                    one, other = socket.socketpair()
                    other.close()
                    _replace(name, one.detach())
        if sys.platform.startswith("linux"):
            _copy_mapped_files()


def _replace(name: int, instead: int) -> None:
    os.dup2(instead, name, os.get_inheritable(name))
    os.close(instead)


def _leads_out(descriptor: int) -> bool:
    """Whether a socket has an address that others know, or is connected to one."""
    with socket.socket(fileno=os.dup(descriptor)) as one:
        for address in (one.getsockname, one.getpeername):
            with suppress(OSError):
                if address() not in ("", b""):
                    return True
    return False


def _copy_mapped_files() -> None:
    """Map each file that is mapped to be written again, for this process alone."""
    try:
        import ctypes

        with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as stream:
            lines = [line.rstrip("\n").split(None, 5) for line in stream if " rw-s " in line]
        mapped = [(line[0], int(line[2], 16), line[5]) for line in lines if len(line) == 6]
        if not mapped:
            return
        library = ctypes.CDLL(None, use_errno=True)
        library.mmap.restype = ctypes.c_void_p
        for addresses, offset, path in mapped:
            begin, end = (int(one, 16) for one in addresses.split("-"))
            with suppress(OSError):
                descriptor = os.open(path, os.O_RDONLY)
                library.mmap(
                    ctypes.c_void_p(begin),
                    ctypes.c_size_t(end - begin),
                    ctypes.c_int(3),
                    ctypes.c_int(_PRIVATE | _FIXED),
                    ctypes.c_int(descriptor),
                    ctypes.c_long(offset),
                )
                os.close(descriptor)
    except (ImportError, OSError, ValueError, AttributeError):
        return


def path_of(descriptor: int) -> str:
    """Where an open file or folder is; empty where the system does not tell."""
    with suppress(OSError):
        return os.readlink(f"/proc/self/fd/{descriptor}")
    get_path = getattr(fcntl, "F_GETPATH", None)  # of macOS
    if get_path is not None:
        with suppress(OSError):
            return os.fsdecode(fcntl.fcntl(descriptor, get_path, bytes(1024)).partition(b"\0")[0])
    return ""


def _descriptors() -> list[int]:
    """The open files of this process."""
    for folder in ("/proc/self/fd", "/dev/fd"):
        with suppress(OSError):
            return [int(name) for name in os.listdir(folder) if name.isdecimal() and _is_open(int(name))]
    return []


def _is_open(descriptor: int) -> bool:
    # that of the list itself is closed by now
    with suppress(OSError):
        os.fstat(descriptor)
        return True
    return False

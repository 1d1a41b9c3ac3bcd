"""Functions of the C library that the program has looked up by ``ctypes`` before altered code runs.

No audit hook is told when such a function is called. Those that act on others are replaced by one that refuses.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

from suspectra_recorder.instrumentation import library_references

__builtins__ = library_references.builtins

# fmt: off
_ACTING = (
    # on files
    "chmod", "fchmod", "fchmodat", "chown", "lchown", "fchown", "fchownat", "utime", "utimes", "lutimes", "futimes",
    "futimens", "futimesat", "utimensat", "setxattr", "lsetxattr", "fsetxattr", "removexattr", "lremovexattr",
    "fremovexattr", "unlink", "unlinkat", "remove", "rmdir", "rename", "renameat", "renameat2", "link", "linkat",
    "symlink", "symlinkat", "mkdir", "mkdirat", "mknod", "mknodat", "mkfifo", "mkfifoat", "open", "open64", "openat",
    "openat64", "creat", "creat64", "fopen", "fopen64", "freopen", "freopen64", "truncate", "truncate64",
    # on processes
    "system", "popen", "execl", "execlp", "execle", "execv", "execvp", "execve", "execvpe", "fexecve", "posix_spawn",
    "posix_spawnp", "fork", "vfork", "clone", "daemon", "kill", "killpg", "tgkill", "sigqueue", "pidfd_send_signal",
    "ptrace", "process_vm_writev", "setpriority", "sched_setaffinity", "sched_setscheduler", "sched_setparam",
    "prlimit", "prlimit64",
    # on others by sockets, memory and queues
    "socket", "connect", "bind", "sendto", "sendmsg", "sendmmsg", "getaddrinfo", "gethostbyname", "gethostbyname2",
    "gethostbyaddr", "getnameinfo", "shm_open", "shm_unlink", "sem_open", "sem_unlink", "mq_open", "mq_unlink",
    "msgget", "msgsnd", "msgctl", "semget", "semop", "semctl", "shmget", "shmat", "shmctl", "syslog",
    # on the system
    "syscall", "mount", "umount", "umount2", "reboot", "sethostname", "setdomainname", "settimeofday", "clock_settime",
    "adjtime", "adjtimex", "swapon", "swapoff", "acct", "quotactl",
)
# fmt: on


class LibraryFunctions:
    """Those that exist now. What is called instead is made at once, so that each process only has to put it there."""

    def __init__(self) -> None:
        self._found: list[tuple[Any, Any]] = []  # each with what is called instead, which has to live as long
        self._refuse: Callable[[str], None] = lambda name: None
        with suppress(ImportError, OSError, AttributeError, TypeError):
            import _ctypes
            import ctypes

            library = ctypes.CDLL(None)
            names = {_pointer(ctypes, getattr(library, name)): name for name in _ACTING if hasattr(library, name)}
            library.__dict__.clear()  # these need no replacement
            refusing: dict[str, Any] = {}
            for one in gc.get_objects():
                if isinstance(one, _ctypes.CFuncPtr) and (name := names.get(_pointer(ctypes, one))):
                    if name not in refusing:
                        refusing[name] = ctypes.CFUNCTYPE(ctypes.c_long)(partial(self._refused, name))
                    self._found.append((one, refusing[name]))

    def replace(self, refuse: Callable[[str], None]) -> None:
        """Let a call of any of them be told and do nothing."""
        if not self._found:
            return
        import ctypes

        self._refuse = refuse
        for function, instead in self._found:
            ctypes.c_void_p.from_address(ctypes.addressof(function)).value = _pointer(ctypes, instead)

    def _refused(self, name: str) -> int:
        self._refuse(name)
        return -1


def _pointer(ctypes: Any, function: Any) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value or 0

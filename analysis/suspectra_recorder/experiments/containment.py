"""What an altered run may do to the world outside of its process: next to nothing.

Altered code can do whatever the program can do, with other arguments: delete another folder, or send what it has to
another address. So an altered run may write, rename and remove only in the temporary folder of its tests, talk only to
sockets that it has opened itself, and start no program. What the unaltered test does stays allowed, with the same
arguments. A call that is refused ends the run, and says nothing about the alteration.

An audit hook sees the calls before Python makes them, and can't be removed. Where the kernel is Linux and the unaltered
test touches nothing, Landlock comes on top. Files that were opened before the run can no longer be written to.
"""

from __future__ import annotations

import ipaddress
import stat
import weakref
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

from suspectra_recorder.experiments.landlock import Landlock
from suspectra_recorder.instrumentation import library_references
from suspectra_recorder.instrumentation.library_references import fcntl, os, sys

__builtins__ = library_references.builtins

_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_SHARED_MEMORY = "/dev/shm"  # semaphores of `multiprocessing`; they have no names that others use
_UNHEARD = [(module, name) for module in ("posix", "os") for name in ("mkfifo", "mknod")]
"""Functions that audit hooks are not told of."""

_MAX_NOTED = 1_000
"""Calls of an unaltered test: one that makes more is not worth a list of what its altered runs may do."""

Call = tuple[str, ...]
"""An audit event, and its arguments as texts."""


class RefusedCall(BaseException):
    """A call that an altered run may not make. It is no `Exception`, which the program might handle."""


class Containment:
    """Watches the calls of one process."""

    def __init__(self, folder: str):
        self._folder = os.path.realpath(folder)  # the temporary folder
        self._watches = self._refuses = self._prepared = False
        self._kernel = False  # whether Landlock is on
        self._working = self._folder
        self._allowed: set[Call] = set()
        self._touched: dict[Call, None] = {}
        self._refused = ""
        self._bound: list[weakref.ref[Any]] = []
        self._landlock = Landlock()
        self._checks: dict[str, Callable[[str, tuple[Any, ...]], Call | None]] = {
            "open": self._open,
            **dict.fromkeys(("os.remove", "os.rmdir"), self._entry),
            "os.mkdir": self._entry,
            **dict.fromkeys(("os.chmod", "os.chown", "os.utime"), self._attributes),
            **dict.fromkeys(("os.truncate", "os.setxattr", "os.removexattr", "os.chflags"), self._whole),
            **dict.fromkeys(("os.rename", "os.link", "os.symlink"), self._pair),
            **dict.fromkeys(("sqlite3.connect", "sqlite3.connect/handle"), self._database),
            **dict.fromkeys(("socket.connect", "socket.bind", "socket.sendto", "socket.sendmsg"), self._socket),
            **dict.fromkeys(("socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr"), self._name),
            **dict.fromkeys(("os.kill", "os.killpg"), self._signal),
            "ctypes.dlopen": self._library,
            **dict.fromkeys(_ALWAYS, _as_texts),
        }

    def install(self) -> None:
        """Be told of calls from now on; nothing is refused yet."""
        sys.addaudithook(self._hear)

    def close_files(self) -> None:
        """Let nothing be written any more through what the program has opened before.

        What it opened only to write goes nowhere, and what it reads, too, is opened anew to be read.
        """
        for name in _descriptors():
            with suppress(OSError):
                flags = fcntl.fcntl(name, fcntl.F_GETFL)
                way = flags & os.O_ACCMODE
                if name <= 2 or way == os.O_RDONLY or not stat.S_ISREG(os.fstat(name).st_mode):
                    continue
                path = _path_of(name)
                if self._inside(path) or path.startswith("/memfd:"):
                    continue
                if way == os.O_RDWR and path:
                    instead = os.open(path, os.O_RDONLY)
                    os.lseek(instead, os.lseek(name, 0, os.SEEK_CUR), os.SEEK_SET)
                else:
                    instead = os.open(os.devnull, os.O_RDWR)
                os.dup2(instead, name, os.get_inheritable(name))
                os.close(instead)

    def begin(self, *, refuses: bool, touched: Iterable[Iterable[str]]) -> None:
        """Watch a run that begins now; `touched` is what the unaltered test does."""
        if not refuses:
            self._touched.clear()
        self._allowed.update(tuple(call) for call in touched)
        self._refuses, self._refused = refuses, ""
        self._bound.clear()
        if refuses and not self._prepared:
            self._prepared = True
            sys.dont_write_bytecode = True
            self._instead_of_unheard()
            if not self._allowed and not self._touched:
                self._kernel = self._landlock.restrict((self._folder, _SHARED_MEMORY), (os.devnull,))
        with suppress(OSError):
            self._working = os.getcwd()
        self._watches = True

    def end(self) -> tuple[str, list[list[str]]]:
        """Watch no longer: what was refused, and what an unaltered run did."""
        self._watches = False
        with suppress(OSError):
            os.chdir(self._working)  # the next run begins where this one did
        if self._refuses:
            return self._refused, []
        self._allowed.update(self._touched)
        return "", [list(call) for call in self._touched]

    def refuse(self) -> None:
        """Refuse from now on, in a run that was unaltered by now."""
        self._refuses = True

    # what Python calls

    def _hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self._watches or (check := self._checks.get(event)) is None:
            return
        call = check(event, arguments)
        if call is not None:
            self._judge(call)

    def _judge(self, call: Call) -> None:
        if not self._refuses:
            if len(self._touched) < _MAX_NOTED:
                self._touched[call] = None
        elif call not in self._allowed and call not in self._touched:
            self._refused = self._refused or " ".join(call)
            raise RefusedCall(self._refused)

    # what there is to say about a call: None if it may be made

    def _open(self, event: str, arguments: tuple[Any, ...]) -> Call | None:
        path, mode, flags = arguments
        writes = isinstance(flags, int) and flags & _WRITING
        if not writes or isinstance(path, int):
            return None
        text = _text(path)
        unknown = mode is None and not os.path.isabs(text) and not self._kernel  # `dir_fd` is not told
        whole = os.path.realpath(text)
        return None if self._may_write(whole) and not unknown else (event, whole, str(flags & _WRITING))

    def _entry(self, event: str, arguments: tuple[Any, ...]) -> Call | None:
        """A name in a folder, which may be given by a descriptor."""
        folder = arguments[-1] if len(arguments) > 1 else -1
        place = self._place(arguments[0], folder if isinstance(folder, int) else -1)
        return None if self._inside(place) else (event, place)

    def _attributes(self, event: str, arguments: tuple[Any, ...]) -> Call | None:
        """What belongs to a file, and for a link to what that leads to."""
        place = os.path.realpath(self._place(arguments[0], arguments[-1]))
        changes = [] if event == "os.utime" else [str(one) for one in arguments[1:-1]]
        return None if self._inside(place) else (event, place, *changes)

    def _whole(self, event: str, arguments: tuple[Any, ...]) -> Call | None:
        path = arguments[0]
        place = self._place(path, -1) if isinstance(path, int) else os.path.realpath(_text(path))
        return None if self._may_write(place) else (event, place)

    def _pair(self, event: str, arguments: tuple[Any, ...]) -> Call | None:
        old, new, *folders = arguments
        from_folder, to_folder = (folders[0], folders[-1]) if len(folders) > 1 else (-1, folders[0] if folders else -1)
        places = [] if event == "os.symlink" else [self._place(old, from_folder)]  # a link may lead anywhere
        places.append(self._place(new, to_folder))
        return None if all(map(self._inside, places)) else (event, *places)

    def _place(self, path: object, folder: int) -> str:
        """Where an entry of a folder is; links are followed up to the folder."""
        if isinstance(path, int):
            return _path_of(path) or f"descriptor {path}"
        text = _text(path)
        if folder >= 0 and not os.path.isabs(text):
            text = os.path.join(_path_of(folder) or f"descriptor {folder}", text)
        above, name = os.path.split(text.rstrip("/") or text)
        whole = os.path.join(os.path.realpath(above), name)
        return os.path.realpath(whole) if name in ("", ".", "..") else whole

    def _inside(self, path: str) -> bool:
        return path == self._folder or path.startswith(self._folder + os.sep)

    def _may_write(self, path: str) -> bool:
        return path == os.devnull or self._inside(path)

    def _database(self, event: str, arguments: tuple[Any, ...]) -> Call | None:
        if event.endswith("handle"):
            return None
        name = _text(arguments[0])
        if name in ("", ":memory:") or (name.startswith("file:") and ("mode=memory" in name or "mode=ro" in name)):
            return None
        path = name.removeprefix("file:").partition("?")[0] if name.startswith("file:") else name
        return None if self._inside(os.path.realpath(path)) else (event, os.path.realpath(path))

    def _socket(self, event: str, arguments: tuple[Any, ...]) -> Call | None:
        one, address = arguments[0], arguments[1] if len(arguments) > 1 else None
        if address is None:
            return None
        if event == "socket.bind":
            if self._is_own(address):
                with suppress(TypeError):
                    self._bound.append(weakref.ref(one))
                return None
        else:
            for known in self._bound:
                bound = known()
                with suppress(OSError, AttributeError):
                    if bound is not None and _same(bound.getsockname(), address):
                        return None
        return (event, repr(address))

    def _is_own(self, address: object) -> bool:
        """Whether nobody else can reach an address."""
        if isinstance(address, (str, bytes)):
            text = _text(address)
            return text.startswith("\0") or not text or self._inside(os.path.realpath(text))
        return isinstance(address, tuple) and bool(address) and _is_loopback(address[0])

    def _name(self, event: str, arguments: tuple[Any, ...]) -> Call | None:
        host = arguments[0]
        return None if host in (None, "", b"") or _is_loopback(_text(host)) else (event, _text(host))

    def _signal(self, event: str, arguments: tuple[Any, ...]) -> Call | None:
        process, number = arguments[0], arguments[1]
        if process in (0, os.getpid()):
            return None
        with suppress(OSError, AttributeError, OverflowError):
            os.waitid(os.P_PID, process, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            return None  # a child of this process
        return (event, str(process), str(number))

    def _library(self, event: str, arguments: tuple[Any, ...]) -> Call | None:
        # `import ctypes` opens the program itself
        return None if not arguments or arguments[0] is None else _as_texts(event, arguments)

    def _instead_of_unheard(self) -> None:
        """Watch the functions that no hook is told of."""
        for module, name in _UNHEARD:
            loaded = sys.modules.get(module)
            if (function := getattr(loaded, name, None)) is not None:
                setattr(loaded, name, self._watched(name, function))

    def _watched(self, name: str, function: Callable[..., None]) -> Callable[..., None]:
        def watched(path: object, *arguments: Any, dir_fd: Any = None, **named: Any) -> None:
            folder = dir_fd if isinstance(dir_fd, int) else -1
            if self._watches and not self._inside(place := self._place(path, folder)):
                self._judge((f"os.{name}", place))
            function(path, *arguments, dir_fd=dir_fd, **named)

        return watched


# fmt: off
_ALWAYS = (
    "subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.startfile", "os.startfile/2",
    "os.fork", "os.forkpty", "pty.spawn", "_winapi.CreateProcess", "socket.sethostname", "syslog.syslog", "os.lockf",
    "sqlite3.load_extension", "ctypes.dlsym", "ctypes.dlsym/handle", "ctypes.call_function", "ctypes.cdata",
    "ctypes.cdata/buffer", "ctypes.string_at", "ctypes.wstring_at", "ctypes.create_string_buffer", "msvcrt.locking",
    "winreg.CreateKey", "winreg.DeleteKey", "winreg.DeleteValue", "winreg.LoadKey", "winreg.SaveKey", "winreg.SetValue",
)
# fmt: on
"""Events that are refused whatever they are about."""

_ENVIRONMENT_AT = {"subprocess.Popen": 3, "os.exec": 2, "os.posix_spawn": 2, "os.spawn": 3}
"""Which argument is the environment of a program: pytest changes that for each phase of a test."""


def _as_texts(event: str, arguments: tuple[Any, ...]) -> Call:
    left_out = _ENVIRONMENT_AT.get(event, -1)
    return (event, *(repr(one) for number, one in enumerate(arguments) if number != left_out))


def _text(path: object) -> str:
    if isinstance(path, (bytes, bytearray)):
        return os.fsdecode(bytes(path))
    return path if isinstance(path, str) else os.fsdecode(os.fspath(path))  # type: ignore[call-overload]


def _is_loopback(host: object) -> bool:
    text = _text(host)
    if text == "localhost":
        return True
    with suppress(ValueError):
        return ipaddress.ip_address(text.partition("%")[0]).is_loopback
    return False


def _same(bound: object, address: object) -> bool:
    """Whether an address is that of a socket of this machine."""
    if isinstance(bound, tuple) and isinstance(address, tuple):
        return bound[1] == address[1] and _is_loopback(address[0])
    return bool(bound) and _text(bound) == _text(address)


def _path_of(descriptor: int) -> str:
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
            return [int(name) for name in os.listdir(folder) if name.isdecimal()]
    return []

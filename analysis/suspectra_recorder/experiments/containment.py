"""What an altered run may do to the world outside of its process: next to nothing.

Altered code can do whatever the program can do, with other arguments: delete another folder, or send what it has to
another address. So an altered run may write, rename and remove only in the temporary folder of its tests, talk only to
sockets that it has opened itself, and start no program. What the unaltered test does stays allowed, with the same
arguments. A call that is refused ends the run, and says nothing about the alteration.

An audit hook sees the calls before Python makes them, and can't be removed. Where the kernel is Linux and the unaltered
test starts no program, Landlock comes on top, which knows also what libraries in C do. What was opened before the run,
files, sockets, pipes and mapped files, leads nowhere any more. A process in which altered code has run stays contained
to its end: the code may have left a thread.
"""

from __future__ import annotations

import errno
import ipaddress
import socket
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Any

from suspectra_recorder.experiments.databases import Databases
from suspectra_recorder.experiments.inherited import Inherited, path_of
from suspectra_recorder.experiments.landlock import Landlock
from suspectra_recorder.experiments.library_functions import LibraryFunctions
from suspectra_recorder.instrumentation import library_references
from suspectra_recorder.instrumentation.library_references import fcntl, os, sys

__builtins__ = library_references.builtins

_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_SHARED_MEMORY = "/dev/shm"  # semaphores of `multiprocessing`; they have no names that others use
_WATCHED_MODULES = ("_posixsubprocess", "_posixshmem", "_multiprocessing", "sqlite3", "termios", "time")
"""Modules some of whose functions are watched: before they are used, so that all find what watches."""

_MAX_NOTED = 1_000
"""Calls of an unaltered test: one that makes more is not worth a list of what its altered runs may do."""

_MAX_WRITTEN = 2 << 30
"""Bytes of the disk that altered runs may fill; a file has a limit of its own."""

_MAX_FORKS, _MAX_FORKS_OF_A_FORK = 64, 2
"""Processes that an altered run makes, if the unaltered one makes any, and that each of these makes."""

Call = tuple[str, ...]
"""An audit event, and its arguments as texts."""


class RefusedCall(BaseException):
    """A call that an altered run may not make. It is no `Exception`, which the program might handle."""


class Containment:
    """Watches the calls of one process."""

    def __init__(self, folder: str):
        self._folder = os.path.realpath(folder)  # the temporary folder
        self._watches = self._refuses = self._prepared = False
        self._kernel = False  # whether Landlock keeps it from writing into any other folder
        self._working = self._folder
        self._allowed: set[Call] = set()
        self._touched: dict[Call, None] = {}
        self._refused = ""
        self._process, self._forks = os.getpid(), _MAX_FORKS  # how many more processes it may make
        self._bound: list[weakref.ref[Any]] = []
        self._inherited = Inherited(())
        self._functions: LibraryFunctions | None = None
        self._databases: Databases | None = None
        self._starts = False  # whether a program that may be started is being started
        self._references: list[tuple[Any, str, Callable[..., Any]]] = []
        self._shared: set[str] = set()  # the names of memory that this process has made for others
        self._least_free = 0  # bytes of the disk that stay free
        self._landlock = Landlock()
        self._checks: dict[str, Callable[[str, tuple[Any, ...]], Call | None]] = {
            "open": self._open,
            **dict.fromkeys(("os.remove", "os.rmdir"), self._entry),
            "os.mkdir": self._entry,
            **dict.fromkeys(("os.chmod", "os.chown", "os.utime"), self._attributes),
            **dict.fromkeys(("os.truncate", "os.setxattr", "os.removexattr", "os.chflags"), self._whole),
            **dict.fromkeys(("os.rename", "os.link", "os.symlink"), self._pair),
            "sqlite3.connect": self._database,
            "sqlite3.connect/handle": self._connection,
            **dict.fromkeys(("socket.connect", "socket.bind", "socket.sendto", "socket.sendmsg"), self._socket),
            **dict.fromkeys(("socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr"), self._name),
            "socket.getnameinfo": self._name_of,
            **dict.fromkeys(("os.kill", "os.killpg"), self._signal),
            "ctypes.dlopen": self._library,
            **dict.fromkeys(("resource.setrlimit", "resource.prlimit"), _as_texts),
            **dict.fromkeys(_ALWAYS, _as_texts),
            **dict.fromkeys(("os.fork", "os.forkpty"), self._fork),
            "fcntl.ioctl": self._control,
            "fcntl.fcntl": self._descriptor,
            **dict.fromkeys(("fcntl.flock", "fcntl.lockf"), self._lock),
            "sqlite3.enable_load_extension": _extension,
        }

    def install(self) -> None:
        """Be told of calls from now on; nothing is refused yet."""
        for name in _WATCHED_MODULES:
            with suppress(ImportError):
                __import__(name)
        self._functions = LibraryFunctions()
        self._databases = Databases(self._may_attach)
        self._references = list(self._find_unheard())
        self._least_free = max(_free(self._folder) - _MAX_WRITTEN, _free(self._folder) // 2)
        sys.addaudithook(self._hear)

    def close_files(self, *own: int) -> None:
        """Let nothing be written any more through files that the program has opened before.

        `own` are descriptors that this process needs itself.
        """
        self._inherited = Inherited(own)
        self._inherited.close_files(self._inside)

    def begin(self, *, refuses: bool, touched: Iterable[Iterable[str]]) -> None:
        """Watch a run that begins now; `touched` is what the unaltered test does."""
        if not refuses:
            self._touched.clear()
        self._allowed.update(tuple(call) for call in touched)
        self._refused = ""
        self._process, self._forks = os.getpid(), _MAX_FORKS
        self._bound.clear()
        if refuses and not self._prepared:
            self._prepare()
        self._refuses = refuses or self._prepared
        with suppress(OSError):
            self._working = os.getcwd()
        self._watches = True

    def _prepare(self) -> None:
        """Make the process one in which altered code runs, from now on: it may have left something that runs later."""
        self._prepared = True
        sys.dont_write_bytecode = True
        self._instead_of_unheard()
        self._inherited.sever()
        places = _places({*self._allowed, *self._touched})
        restricted = False
        if places is not None:
            folders, files = places
            own = {self._folder, _SHARED_MEMORY}
            restricted = self._landlock.restrict(sorted(folders | own), sorted({os.devnull, *files}))
            self._kernel = restricted and not (self._allowed or self._touched)
        if not restricted:
            self._watch_key_logs()
        if self._functions is not None:
            self._functions.replace(self._note_refusal)

    def end(self) -> tuple[str, list[list[str]]]:
        """A run has ended: what was refused, and what an unaltered run did."""
        if self._refuses:
            self._remove_shared()
        self._watches = self._prepared
        with suppress(OSError):
            os.chdir(self._working)  # the next run begins where this one did
        if self._refuses:
            return self._refused, []
        self._allowed.update(self._touched)
        return "", [list(call) for call in self._touched]

    def _remove_shared(self) -> None:
        """Remove the memory that the run has made for others, which outlives its process."""
        for name in self._shared:
            with suppress(OSError):
                os.unlink(f"{_SHARED_MEMORY}/{name.strip('/')}")
        self._shared.clear()

    def fork(self) -> int:
        """Fork the process, which is no act of the run that it does."""
        watches, self._watches = self._watches, False
        pid = os.fork()
        self._watches = watches
        return pid

    def refuse(self) -> None:
        """Refuse from now on, in a run that was unaltered by now."""
        if not self._prepared:
            self._watches = False  # what follows is no act of the run
            self._prepare()
        self._watches = self._refuses = True

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
            self._note_refusal(_in_words(call))
            raise RefusedCall(self._refused)
        self._starts = call[0] == "subprocess.Popen"  # which then calls what starts the program

    def _note_refusal(self, what: str) -> None:
        self._refused = self._refused or what

    # what there is to say about a call: None if it may be made

    def _open(self, event: str, arguments: tuple[Any, ...]) -> Call | None:
        path, mode, flags = arguments
        writes = isinstance(flags, int) and flags & _WRITING
        if not writes or isinstance(path, int):
            return None
        text = _text(path)
        unknown = mode is None and not os.path.isabs(text) and not self._kernel  # `dir_fd` is not told
        whole = os.path.realpath(text)
        if self._refuses and self._inside(whole) and _free(self._folder) < self._least_free:
            return (event, whole, "although the disk gets full")
        return None if self._may_write(whole) and not unknown else (event, whole, str(flags & _WRITING))

    def _entry(self, event: str, arguments: tuple[Any, ...]) -> Call | None:
        """A name in a folder, which may be given by a descriptor."""
        folder = arguments[-1] if len(arguments) > 1 else -1
        place = self._place(arguments[0], folder if isinstance(folder, int) else -1)
        return None if self._inside(place) or self._is_shared(place) else (event, place)

    def _attributes(self, event: str, arguments: tuple[Any, ...]) -> Call | None:
        """What belongs to a file, and for a link to what that leads to."""
        place = os.path.realpath(self._place(arguments[0], arguments[-1]))
        changes = [] if event == "os.utime" else [str(one) for one in arguments[1:-1]]
        return None if self._inside(place) else (event, place, *changes)

    def _whole(self, event: str, arguments: tuple[Any, ...]) -> Call | None:
        path = arguments[0]
        place = self._place(path, -1) if isinstance(path, int) else os.path.realpath(_text(path))
        return None if self._may_write(place) or self._is_shared(place) else (event, place)

    def _control(self, event: str, arguments: tuple[Any, ...]) -> Call | None:
        """What is asked of a device, or of the system about a file."""
        descriptor, request = arguments[0], arguments[1]
        place = path_of(descriptor) if isinstance(descriptor, int) else ""
        if request in _ASKING or self._inside(place) or place.startswith(_SOCKETS):
            return None
        return (event, place.rstrip("0123456789"), str(request))  # a terminal has another number each time

    def _descriptor(self, event: str, arguments: tuple[Any, ...]) -> Call | None:
        """What is asked about an open file: what only tells, or is about the descriptor, may be asked."""
        if arguments[1] in _ABOUT_DESCRIPTORS:
            return None
        call = self._lock(event, arguments)
        return call and (*call, str(arguments[1]))

    def _lock(self, event: str, arguments: tuple[Any, ...]) -> Call | None:
        place = path_of(arguments[0]) if isinstance(arguments[0], int) else ""
        return None if self._inside(place) or place.startswith(_SOCKETS) else (event, place)

    def _pair(self, event: str, arguments: tuple[Any, ...]) -> Call | None:
        old, new, *folders = arguments
        from_folder, to_folder = (folders[0], folders[-1]) if len(folders) > 1 else (-1, folders[0] if folders else -1)
        places = [] if event == "os.symlink" else [self._place(old, from_folder)]  # a link may lead anywhere
        places.append(self._place(new, to_folder))
        return None if all(map(self._inside, places)) else (event, *places)

    def _place(self, path: object, folder: int) -> str:
        """Where an entry of a folder is; links are followed up to the folder."""
        if isinstance(path, int):
            return path_of(path) or f"descriptor {path}"
        text = _text(path)
        if folder >= 0 and not os.path.isabs(text):
            text = os.path.join(path_of(folder) or f"descriptor {folder}", text)
        above, name = os.path.split(text.rstrip("/") or text)
        whole = os.path.join(os.path.realpath(above), name)
        return os.path.realpath(whole) if name in ("", ".", "..") else whole

    def _inside(self, path: str) -> bool:
        return path == self._folder or path.startswith(self._folder + os.sep)

    def _is_shared(self, path: str) -> bool:
        return path.startswith(_SHARED_MEMORY) and path.removeprefix(_SHARED_MEMORY) in self._shared

    def _may_write(self, path: str) -> bool:
        return path == os.devnull or self._inside(path)

    def _database(self, event: str, arguments: tuple[Any, ...]) -> Call | None:
        assert self._databases is not None
        files = map(os.path.realpath, self._databases.files(_text(arguments[0]), strictly=self._refuses))
        outside = next((one for one in files if not self._inside(one)), None)
        return None if outside is None else (event, outside)

    def _connection(self, event: str, arguments: tuple[Any, ...]) -> Call | None:
        """Refuse a connection that nobody can guard: one that its class makes, and not `connect`."""
        assert self._databases is not None
        return (event, "made by its class") if self._refuses and not self._databases.connects else None

    def _may_attach(self, name: str) -> bool:
        """Decide about what a statement attaches; SQLite asks, to which no exception can be told."""
        if not self._watches:
            return True
        call = self._database("sqlite3.attach", (name,))
        try:
            if call is not None:
                self._judge(call)
        except RefusedCall:
            return False
        return True

    def _socket(self, event: str, arguments: tuple[Any, ...]) -> Call | None:
        one, address = arguments[0], arguments[1] if len(arguments) > 1 else None
        if address is None:
            return None
        if event == "socket.bind":
            if self._is_own(address):
                with suppress(TypeError):
                    self._bound.append(weakref.ref(one))
                return None
        elif self._is_own_server(one, address):
            return None
        return (event, repr(address))

    def _is_own_server(self, one: Any, address: object) -> bool:
        """Whether a socket reaches, by an address, one that the run has opened itself.

        Raises ConnectionRefusedError for the port of such a one with another loopback address: that is how a program
        finds out which of the addresses of `localhost` its server has.
        """
        has_port = False
        for known in self._bound:
            with suppress(OSError, AttributeError, ValueError):
                bound = known()
                if bound is None or bound.type != one.type:
                    continue
                own = bound.getsockname()
                if bound.family == one.family and _is_same(own, address, one.family):
                    return True
                has_port = has_port or (
                    isinstance(address, tuple) and own[1] == address[1] and _is_loopback(address[0])
                )
        if has_port:
            raise ConnectionRefusedError(errno.ECONNREFUSED, os.strerror(errno.ECONNREFUSED))
        return False

    def _is_own(self, address: object) -> bool:
        """Whether nobody else can reach an address."""
        if isinstance(address, (str, bytes)):
            text = _text(address)
            return text.startswith("\0") or not text or self._inside(os.path.realpath(text))
        return isinstance(address, tuple) and bool(address) and _is_loopback(address[0])

    def _name(self, event: str, arguments: tuple[Any, ...]) -> Call | None:
        host = arguments[0]
        return None if host in (None, "", b"") or _is_loopback(_text(host)) else (event, _text(host))

    def _name_of(self, event: str, arguments: tuple[Any, ...]) -> Call | None:
        return self._name(event, arguments[0]) if arguments else None

    def _signal(self, event: str, arguments: tuple[Any, ...]) -> Call | None:
        process, number = arguments[0], arguments[1]
        if process in (0, os.getpid()):
            return None
        with suppress(OSError, AttributeError, OverflowError):
            os.waitid(os.P_PID, process, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            return None  # a child of this process
        return (event, str(process), str(number))

    def _fork(self, event: str, arguments: tuple[Any, ...]) -> Call | None:
        """A process like this one: allowed if the unaltered test makes some, and no more than are of use."""
        if os.getpid() != self._process:  # it is one itself
            self._process, self._forks = os.getpid(), min(self._forks // 2, _MAX_FORKS_OF_A_FORK)
        self._forks -= 1
        return (event,) if self._forks >= 0 or not self._refuses else (event, "too often")

    def _library(self, event: str, arguments: tuple[Any, ...]) -> Call | None:
        # `import ctypes` opens the program itself
        return None if not arguments or arguments[0] is None else _as_texts(event, arguments)

    def _instead_of_unheard(self) -> None:
        """Watch the functions that no hook is told of."""
        for module, name, instead in self._references:
            setattr(module, name, instead)
        if self._databases is not None:
            self._databases.prepare()

    def _watch_key_logs(self) -> None:
        """Watch the files into which OpenSSL writes keys: no hook is told of them."""
        with suppress(ImportError):
            import ssl

            known: Any = ssl.SSLContext.keylog_filename

            def change(context: Any, path: Any) -> None:
                if self._watches and path is not None:
                    call = self._file("ssl.keylog_filename", (path,), {})
                    if call is not None:
                        self._judge(call)
                known.__set__(context, path)

            ssl.SSLContext.keylog_filename = property(known.__get__, change)  # type: ignore[assignment]

    def _find_unheard(self) -> Iterator[tuple[Any, str, Callable[..., Any]]]:
        """Where modules have functions that no hook is told of, also imported by name, and what to call instead."""
        watched: dict[int, Callable[..., Any]] = {}
        for names, check in self._unheard():
            for whole in names:
                module, _, name = whole.rpartition(".")
                if (function := getattr(sys.modules.get(module), name, None)) is not None:
                    watched.setdefault(id(function), self._watched(whole, function, check))
        for loaded in list(sys.modules.values()):
            for name, value in list(getattr(loaded, "__dict__", {}).items()):
                if id(value) in watched:
                    yield loaded, name, watched[id(value)]

    def _unheard(self) -> list[tuple[tuple[str, ...], Callable[[str, tuple[Any, ...], dict[str, Any]], Call | None]]]:
        """Functions that hooks are not told of, with what there is to say about a call."""
        processes = ("sched_setaffinity", "sched_setscheduler", "sched_setparam", "setpgid")
        return [
            (tuple(f"{one}.{name}" for one in ("posix", "os") for name in ("mkfifo", "mknod")), self._made),
            (tuple(f"{one}.{name}" for one in ("posix", "os") for name in processes), _other_process),
            (("posix.setpriority", "os.setpriority"), _other_priority),
            (("posix.pidfd_open", "os.pidfd_open"), _other_process),
            (("signal.pidfd_send_signal", "_signal.pidfd_send_signal"), _any_call),
            (("_posixsubprocess.fork_exec",), self._executed),
            (("_gdbm.open", "_dbm.open", "readline.write_history_file"), self._file),
            (("readline.append_history_file",), self._appended),
            (("_posixshmem.shm_open",), self._memory),
            (("_posixshmem.shm_unlink",), self._memory),
            (("time.clock_settime", "time.clock_settime_ns"), _any_call),
            (tuple(f"termios.{name}" for name in ("tcsetattr", "tcsendbreak", "tcflow", "tcsetwinsize")), _terminal),
            (("posix.tcsetpgrp", "os.tcsetpgrp"), _terminal),
            (("posix.setns", "os.setns"), _any_call),
            (("_multiprocessing.sem_unlink", "multiprocessing.synchronize.sem_unlink"), _semaphore),
        ]

    def _executed(self, event: str, arguments: tuple[Any, ...], named: dict[str, Any]) -> Call | None:
        starts, self._starts = self._starts, False
        return None if starts else _any_call(event, arguments, named)

    def _made(self, event: str, arguments: tuple[Any, ...], named: dict[str, Any]) -> Call | None:
        folder = named.get("dir_fd")
        place = self._place(arguments[0] if arguments else named["path"], folder if isinstance(folder, int) else -1)
        return None if self._inside(place) else (event, place)

    def _file(self, event: str, arguments: tuple[Any, ...], named: dict[str, Any]) -> Call | None:
        if event.endswith("dbm.open") and (arguments[1:2] or ("r",))[0] == "r":
            return None
        place = os.path.realpath(_text(arguments[0])) if arguments and arguments[0] is not None else ""
        return None if self._inside(place) else (event, place)

    def _appended(self, event: str, arguments: tuple[Any, ...], named: dict[str, Any]) -> Call | None:
        return self._file(event, arguments[1:], named)

    def _memory(self, event: str, arguments: tuple[Any, ...], named: dict[str, Any]) -> Call | None:
        """Memory that has a name, which other programs may know."""
        name = _text(arguments[0] if arguments else named["path"])
        flags = arguments[1] if len(arguments) > 1 else named.get("flags", 0)
        makes = isinstance(flags, int) and flags & os.O_EXCL and flags & os.O_CREAT
        if makes and not os.path.exists(f"{_SHARED_MEMORY}/{name.strip('/')}"):
            self._shared.add(name)
        return None if name in self._shared else (event, name)

    def _watched(
        self,
        event: str,
        function: Callable[..., Any],
        check: Callable[[str, tuple[Any, ...], dict[str, Any]], Call | None],
    ) -> Callable[..., Any]:
        def watched(*arguments: Any, **named: Any) -> Any:
            if self._watches:
                call = check(event, arguments, named)
                if call is not None:
                    self._judge(call)
            return function(*arguments, **named)

        return watched


def _terminal(event: str, arguments: tuple[Any, ...], named: dict[str, Any]) -> Call | None:
    return (event,)  # the numbers of terminals differ


def _extension(event: str, arguments: tuple[Any, ...]) -> Call | None:
    return (event,) if arguments[1] else None


def _free(folder: str) -> int:
    """The bytes that are free on the disk of a folder; plenty where the system does not tell."""
    with suppress(OSError, AttributeError):
        known = os.statvfs(folder)
        return known.f_bavail * known.f_frsize
    return sys.maxsize


def _semaphore(event: str, arguments: tuple[Any, ...], named: dict[str, Any]) -> Call | None:
    # those of `multiprocessing` have names that nobody else knows
    return None if str(arguments[0]).startswith("/mp-") else (event, *map(repr, arguments))


def _other_process(event: str, arguments: tuple[Any, ...], named: dict[str, Any]) -> Call | None:
    process = arguments[0] if arguments else named.get("pid", 0)
    own = process in (0, os.getpid()) and not event.endswith("setpgid")
    return None if own else (event, *map(repr, arguments))


def _other_priority(event: str, arguments: tuple[Any, ...], named: dict[str, Any]) -> Call | None:
    own = arguments[:1] == (os.PRIO_PROCESS,) and arguments[1:2] in ((0,), (os.getpid(),))
    return None if own else (event, *map(repr, arguments))


def _any_call(event: str, arguments: tuple[Any, ...], named: dict[str, Any]) -> Call | None:
    return (event, *map(repr, arguments[:1]))


def _places(calls: set[Call]) -> tuple[set[str], set[str]] | None:
    """The folders and the files where these calls write; None if they start programs, which write elsewhere."""
    folders, files = set(), set()
    for event, *arguments in calls:
        if event in _STARTING:
            return None
        for one in arguments:
            if os.path.isabs(one):
                if event == "open" and os.path.isfile(one):
                    files.add(one)
                else:
                    folders.add(os.path.dirname(one))
    return folders, files


# fmt: off
_ALWAYS = (
    "subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.startfile", "os.startfile/2",
    "os.fork", "os.forkpty", "pty.spawn", "_winapi.CreateProcess", "socket.sethostname", "syslog.syslog", "os.lockf",
    "cpython.PyInterpreterState_New", "sqlite3.load_extension", "ctypes.dlsym", "ctypes.dlsym/handle",
    "ctypes.call_function", "ctypes.cdata", "ctypes.cdata/buffer", "ctypes.string_at", "ctypes.wstring_at",
    "ctypes.create_string_buffer", "msvcrt.locking", "winreg.CreateKey", "winreg.DeleteKey", "winreg.DeleteValue",
    "winreg.LoadKey", "winreg.SaveKey", "winreg.SetValue",
)
# fmt: on
"""Events that are refused whatever they are about."""

_STARTING = frozenset({"subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.spawn", "pty.spawn"})
"""Events of which other programs do what follows; a fork is contained as this process is."""

_SOCKETS = ("socket:", "pipe:", "anon_inode:")
"""How the system names what is not a file."""

_ASKING = frozenset({0x5401, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451})
"""Requests that ask a terminal for its settings and its size, ask how much can be read, or are about the descriptor."""

_ABOUT_DESCRIPTORS = frozenset(
    getattr(fcntl, name)
    for name in ("F_GETFD", "F_SETFD", "F_GETFL", "F_SETFL", "F_DUPFD", "F_DUPFD_CLOEXEC", "F_GETLK", "F_GETOWN",
                 "F_GETPATH", "F_GETPIPE_SZ", "F_SETPIPE_SZ", "F_GETLEASE", "F_FULLFSYNC", "F_GET_SEALS", "F_ADD_SEALS")
    if hasattr(fcntl, name)
)  # fmt: skip

_ENVIRONMENT_AT = {"subprocess.Popen": 3, "os.exec": 2, "os.posix_spawn": 2, "os.spawn": 3}
"""Which argument is the environment of a program: pytest changes that for each phase of a test."""


def _in_words(call: Call) -> str:
    return f"open {call[1]} for writing" if call[0] == "open" else " ".join(call)


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


def _is_same(own: object, address: object, family: int) -> bool:
    """Whether an address is that of a socket."""
    if isinstance(own, tuple) and isinstance(address, tuple):
        host = _text(address[0])
        if host == "localhost":
            host = "::1" if family == socket.AF_INET6 else "127.0.0.1"
        return own[1] == address[1] and ipaddress.ip_address(own[0]) == ipaddress.ip_address(host)
    return bool(own) and _text(own) == _text(address)

"""What altered runs are kept from: everything outside of the temporary folder of their tests."""

import os
import resource
import socket
import sqlite3
import subprocess
import sys
import textwrap
import time
from multiprocessing import shared_memory
from pathlib import Path

import pytest

from suspectra.experiments.machine import Machine

PYTEST = (sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:pytest-lsp")
PROGRAM = """\
import atexit, ctypes, fcntl, http.client, mmap, multiprocessing.shared_memory, multiprocessing.synchronize, os, pathlib
import py_compile, readline, resource, shelve, shutil, signal, socket, sqlite3, subprocess, tempfile, termios, threading
import time
HELD = open("held.txt", "a")
MAPPED = mmap.mmap(os.open("mapped.txt", os.O_RDWR), 0)
CONNECTED = socket.create_connection(("127.0.0.1", int(open("port.txt").read())))
PIPED = subprocess.Popen(["sh", "-c", "read line && touch new.txt"], stdin=subprocess.PIPE)
BOTH = open("kept.txt", "r+")
KNOWN = sqlite3.connect(":memory:")
from sqlite3 import connect as CONNECT_BY_NAME
CHMOD, CONNECT, SOCKET = (getattr(ctypes.CDLL(None), name) for name in ("chmod", "connect", "socket"))
def act(tmp_path):
    with open("log.txt", "w") as stream:
        stream.write("as always")
    return False
"""
TESTS = "from program import act\ndef test_act(tmp_path):\n    assert act(tmp_path)\n"
KEPT = "kept as it is"
BEGINS = PROGRAM.splitlines().index("def act(tmp_path):") + 1
MEMORY = f"suspectra-{os.getpid()}"

HARMFUL = {
    "write": "open('kept.txt', 'w').close()",
    "append": "open(os.path.abspath('kept.txt'), 'ab').close()",
    "read and write": "open('kept.txt', 'r+')",
    "new file": "open('new.txt', 'x')",
    "same file in another way": "open('log.txt', 'a').close()",
    "os.open": "os.open('kept.txt', os.O_WRONLY | os.O_TRUNC)",
    "os.open in a folder": "os.open('kept.txt', os.O_WRONLY | os.O_TRUNC, dir_fd=os.open('.', os.O_RDONLY))",
    "os.open from a folder of its own": (
        "folder = os.open(here, 0); os.chdir(tmp_path); os.open('kept.txt', os.O_WRONLY | os.O_CREAT, dir_fd=folder)"
    ),
    "through a link": "(tmp_path / 'link').symlink_to(os.path.abspath('kept.txt')); open(tmp_path / 'link', 'w')",
    "through a folder": "(tmp_path / 'up').symlink_to(here); open(tmp_path / 'up' / 'kept.txt', 'w')",
    "up": "open(tmp_path / os.path.relpath('kept.txt', tmp_path), 'w')",
    "truncate": "os.truncate('kept.txt', 0)",
    "remove": "os.remove('kept.txt')",
    "remove in a folder": "os.remove('kept.txt', dir_fd=os.open('.', os.O_RDONLY))",
    "pathlib": "pathlib.Path('kept.txt').unlink()",
    "write text": "pathlib.Path('kept.txt').write_text('')",
    "touch": "pathlib.Path('new.txt').touch()",
    "rename": "os.rename('kept.txt', tmp_path / 'mine')",
    "replace": "(tmp_path / 'a').touch(); os.replace(tmp_path / 'a', 'kept.txt')",
    "hard link": "os.link('kept.txt', tmp_path / 'mine'); open(tmp_path / 'mine', 'w')",
    "link": "os.symlink('kept.txt', 'new.txt')",
    "folder": "os.mkdir('new')",
    "folders": "os.makedirs('new/deep')",
    "no folder": "shutil.rmtree('folder')",
    "tree": "shutil.rmtree('.')",
    "ignoring errors": "shutil.rmtree('.', ignore_errors=True)",
    "move": "shutil.move('kept.txt', tmp_path)",
    "copy": "shutil.copy(__file__, 'kept.txt')",
    "chmod": "os.chmod('kept.txt', 0)",
    "chmod of an open file": "os.chmod(os.open('kept.txt', os.O_RDONLY), 0)",
    "utime": "os.utime('kept.txt', (0, 0))",
    "utime through a link": "(tmp_path / 'l').symlink_to(here + '/kept.txt'); os.utime(tmp_path / 'l', (0, 0))",
    "fifo": "os.mkfifo('new.txt')",
    "device": "os.mknod('new.txt')",
    "database": "sqlite3.connect('kept.db').execute('drop table t')",
    "database by address": "sqlite3.connect('file:kept.db?mode=rw', uri=True).execute('drop table t')",
    "mapped": "mmap.mmap(os.open('kept.txt', os.O_RDWR), 0)[:4] = b'gone'",
    "program": "subprocess.run(['touch', 'new.txt'])",
    "shell": "os.system('touch new.txt')",
    "popen": "os.popen('touch new.txt').read()",
    "spawn": "os.posix_spawn('/usr/bin/touch', ['touch', 'new.txt'], {})",
    "exec": "os.execv('/usr/bin/touch', ['touch', 'new.txt'])",
    "fork": "os.fork()",
    "another process": "os.kill(other, signal.SIGKILL)",
    "the parent": "os.kill(os.getppid(), signal.SIGKILL)",
    "another group": "os.killpg(other, signal.SIGKILL)",
    "connect": "socket.create_connection(('127.0.0.1', port), 1)",
    "http": "http.client.HTTPConnection('127.0.0.1', port, timeout=1).request('GET', '/')",
    "another machine": "socket.socket().connect(('192.0.2.1', 80))",
    "a name": "socket.getaddrinfo('example.org', 80)",
    "datagram": "socket.socket(type=socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', port))",
    "bind": "socket.socket().bind(('0.0.0.0', 0))",
    "socket file": "socket.socket(socket.AF_UNIX).bind('new.txt')",
    "library": "ctypes.CDLL(None).unlink(b'kept.txt')",
    "function of a library": "CHMOD(b'kept.txt', 0)",
    "the same by its address": (
        "address = ctypes.cast(CHMOD, ctypes.c_void_p).value;"
        " ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_char_p, ctypes.c_int)(address)(b'kept.txt', 0)"
    ),
    "socket of a library": (
        "CONNECT(SOCKET(2, 1, 0), b'\\2\\0' + port.to_bytes(2, 'big') + b'\\x7f\\0\\0\\1' + bytes(8), 16)"
    ),
    "same port of another kind": (
        "own = socket.socket(type=socket.SOCK_DGRAM); own.bind(('127.0.0.1', port));"
        " socket.socket().connect(('127.0.0.1', port))"
    ),
    "name of an address": "socket.getnameinfo(('192.0.2.1', 80), 0)",
    "attached database": "sqlite3.connect(':memory:').execute('attach \\'kept.db\\' as k')",
    "attached by a connection of its class": (
        "sqlite3.Connection(':memory:').execute('attach \\'kept.db\\' as k').execute('drop table k.t')"
    ),
    "copy of a database": "sqlite3.connect(':memory:').execute('vacuum into \\'new.db\\'')",
    "attached by one that was connected before": "KNOWN.execute('attach \\'kept.db\\' as k')",
    "database by an address with signs": "sqlite3.connect('file:kept%2edb', uri=True).execute('drop table t')",
    "database by an address with options": (
        "sqlite3.connect('file:kept.db?x=mode=ro', uri=True).execute('drop table t')"
    ),
    "database with the name of an address": "sqlite3.connect('file:new?mode=ro')",
    "interpreter of this process": (
        "import importlib; found = importlib.util.find_spec('_interpreters') or"
        " importlib.util.find_spec('_xxsubinterpreters');"
        " importlib.import_module(found.name).create()"
    ),
    "history of others": "readline.append_history_file(1, 'new.txt')",
    "the foreground": "os.tcsetpgrp(os.open(here, os.O_RDONLY), os.getpgrp())",
    "another interpreter": "multiprocessing.get_context('spawn').Process(target=print).start()",
    "another process of a pool": "multiprocessing.get_context('fork').Pool(1)",
    "signal by descriptor": "signal.pidfd_send_signal(os.pidfd_open(other), signal.SIGKILL)",
    "all processes": "os.kill(-1, 0)",
    "priority": "os.setpriority(os.PRIO_PROCESS, other, 19)",
    "processors": "os.sched_setaffinity(other, {0})",
    "group": "os.setpgid(0, os.getpgid(os.getppid()))",
    "memory of a process": "open('/proc/self/mem', 'r+b')",
    "an open file by its number": "open(f'/proc/self/fd/{os.open(\"kept.txt\", os.O_RDONLY)}', 'w')",
    "file without a name": "os.open('.', os.O_TMPFILE | os.O_RDWR)",
    "shared memory": f"multiprocessing.shared_memory.SharedMemory({MEMORY!r}).buf[:4] = b'gone'",
    "shared memory that is there": (
        f"\n    try: multiprocessing.shared_memory.SharedMemory({MEMORY!r}, create=True, size=4)\n"
        f"    except FileExistsError: multiprocessing.shared_memory.SharedMemory({MEMORY!r}).buf[:4] = b'gone'"
    ),
    "lock": "fcntl.flock(os.open('kept.txt', os.O_RDONLY), fcntl.LOCK_EX)",
    "lock of a part": "fcntl.lockf(os.open('kept.txt', os.O_RDONLY), fcntl.LOCK_SH)",
    "lease": "fcntl.fcntl(os.open('kept.txt', os.O_RDONLY), 1024, fcntl.F_RDLCK)",
    "flags of a file": "fcntl.ioctl(os.open('kept.txt', os.O_RDONLY), 0x40086602, bytes(8))",
    "typing for the user": "fcntl.ioctl(os.open(here, os.O_RDONLY), termios.TIOCSTI, b'x')",
    "settings of a terminal": "termios.tcsetattr(0, termios.TCSANOW, [0] * 7)",
    "clock": "time.clock_settime(time.CLOCK_REALTIME, time.time())",
    "history": "readline.write_history_file('new.txt')",
    "shelf": "shelve.open('new', 'n')",
    "bytecode": "py_compile.compile('program.py', 'new.pyc', doraise=True)",
    "archive": "shutil.make_archive('new', 'zip', 'folder')",
    "temporary elsewhere": "tempfile.mkstemp(dir='.')",
    "limits": "resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY,) * 2)",
    "limits of the parent": "resource.prlimit(os.getppid(), resource.RLIMIT_NOFILE, (3, 3))",
    "semaphore": "multiprocessing.synchronize.sem_unlink('/of-others')",
    "terminal": "open('/dev/tty', 'w')",
    "in a signal": (
        "signal.signal(signal.SIGALRM, lambda *_: os.remove('kept.txt'));"
        " signal.setitimer(signal.ITIMER_REAL, 0.001); time.sleep(10)"
    ),
    "owner": "os.chown('kept.txt', os.getuid(), os.getgid())",
    "handled": "shutil.rmtree('.', onerror=lambda *_: None)",
    "in a thread": "thread = threading.Thread(target=os.remove, args=['kept.txt']); thread.start(); thread.join()",
}
if not sys.platform.startswith("linux"):  # what only Linux has
    for _what in (
        "lease",
        "flags of a file",
        "typing for the user",
        "limits of the parent",
        "signal by descriptor",
        "processors",
        "memory of a process",
        "an open file by its number",
    ):
        del HARMFUL[_what]
    del HARMFUL["file without a name"]
HARMLESS = {
    "as always": "open('log.txt', 'w').write('as always')",
    "own folder": "(tmp_path / 'a').write_text('x'); (tmp_path / 'b').mkdir(); shutil.rmtree(tmp_path / 'b')",
    "relative": "os.chdir(tmp_path); open('a', 'w').close(); os.rename('a', 'b'); os.remove('b')",
    "temporary": "tempfile.TemporaryFile().write(b'x'); tempfile.mkdtemp(); tempfile.NamedTemporaryFile().close()",
    "nothing": "open(os.devnull, 'w').write('x')",
    "reading": "open('kept.txt').read(); os.listdir('.'); os.stat('kept.txt'); pathlib.Path('kept.txt').read_text()",
    "own database": "sqlite3.connect(tmp_path / 'x.db').execute('create table t (a)'); sqlite3.connect(':memory:')",
    "database that is only read": "sqlite3.connect('file:kept.db?mode=ro', uri=True).execute('select * from t')",
    "database that others share": "CONNECT_BY_NAME('file:any?mode=memory&cache=shared', uri=True)",
    "environment": "os.environ['A'] = 'b'; signal.signal(signal.SIGTERM, signal.SIG_IGN); os.umask(0o22)",
    "own server": (
        "server = socket.create_server(('127.0.0.1', 0)); socket.create_connection(server.getsockname()).close()"
    ),
    "other addresses of a name": (
        "own = socket.create_server(('127.0.0.1', 0)); socket.create_connection(('localhost', own.getsockname()[1]))"
    ),
    "pair": "a, b = socket.socketpair(); a.send(b'x'); b.recv(1)",
    "own lock": "fcntl.flock(open(tmp_path / 'lock', 'w'), fcntl.LOCK_EX)",
    "held": "HELD.write('gone'); HELD.flush()",
    "mapped before": "MAPPED[:4] = b'gone'; MAPPED.flush()",
    "connected before": "\ntry:\n    CONNECTED.send(b'x')\nexcept OSError:\n    pass",
    "piped": "PIPED.stdin.write(b'go\\n'); PIPED.stdin.flush()",
    "at exit": "atexit.register(os.remove, 'kept.txt')",
    "bomb": "threading.Timer(0.05, os.remove, ['kept.txt']).start()",
}


@pytest.fixture(scope="module")
def workspace(tmp_path_factory):
    """A workspace with things that altered runs would like to touch."""
    folder = tmp_path_factory.mktemp("workspace")
    (folder / "program.py").write_text(PROGRAM)
    (folder / "test_program.py").write_text(TESTS)
    (folder / "kept.txt").write_text(KEPT)
    (folder / "held.txt").touch()
    (folder / "mapped.txt").write_text(KEPT)
    (folder / "folder").mkdir()
    with sqlite3.connect(folder / "kept.db") as database:
        database.execute("create table t (a)")
    database.close()
    return folder


def changed(text, line="    return True"):
    """A job that puts other code into the function."""
    body = textwrap.indent("\n".join(text), "    ")
    source = "\n" * (BEGINS - 1) + f"def act(tmp_path):\n{body}\n{line}\n"
    return {"kind": "mutant", "file": "program.py", "source": source, "functions": [["act", BEGINS]]}


def state(folder):
    found = {}
    for path in sorted(folder.rglob("*")):
        if "__pycache__" not in path.parts:
            known = path.lstat()
            found[str(path.relative_to(folder))] = known.st_mode, known.st_mtime_ns, known.st_size
    return found


@pytest.mark.skipif(sys.platform == "win32", reason="children are forked")
def test_altered_runs_touch_nothing_that_the_unaltered_test_does_not_touch(workspace):
    other = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, start_new_session=True)
    memory = shared_memory.SharedMemory(MEMORY, create=True, size=len(KEPT))
    memory.buf[: len(KEPT)] = KEPT.encode()
    with other, socket.create_server(("127.0.0.1", 0)) as server:
        (workspace / "port.txt").write_text(str(server.getsockname()[1]))
        known = [f"here, other, port = {str(workspace)!r}, {other.pid}, {server.getsockname()[1]}"]
        name = "test_program.py::test_act"
        with Machine(PYTEST, workspace, "test_program.py", [name], ("mutant",)) as machine:
            connected, _ = server.accept()
            for one in (server, connected):
                one.settimeout(0)
            limits = {"steps": 1000, "seconds": 20.0}
            (unaltered,) = machine.ask(name, [{"kind": "trace"}], **limits)
            assert unaltered["outcome"] == "failed"
            assert [call[:2] for call in unaltered["touched"]] == [["open", str(workspace / "log.txt")]]
            before, began = state(workspace), time.time_ns()
            jobs = [changed([*known, f"try:\n    {code}\nexcept OSError:\n    pass"]) for code in HARMFUL.values()]
            ended = machine.ask(name, jobs, **limits)
            outcomes = {what: answer["outcome"] for what, answer in zip(HARMFUL, ended, strict=True)}
            assert outcomes == dict.fromkeys(HARMFUL, "refused")
            assert state(workspace) == before
            assert other.poll() is None
            with pytest.raises(BlockingIOError):
                server.accept()
            assert memory.buf[: len(KEPT)] == KEPT.encode()
            jobs = [changed([*known, code]) for code in HARMLESS.values()]
            ended = machine.ask(name, jobs, **limits, keep=True)
            outcomes = {what: answer["outcome"] for what, answer in zip(HARMLESS, ended, strict=True)}
            assert outcomes == dict.fromkeys(HARMLESS, "passed")
            gone_off = "[one.join() for one in threading.enumerate() if isinstance(one, threading.Timer)]"
            machine.ask(
                name, [changed([gone_off])], **limits, keep=True
            )  # it is refused to the bomb, whichever run is there
            assert {what for what, now in state(workspace).items() if now != before[what]} == {"log.txt"}
            assert (workspace / "log.txt").stat().st_mtime_ns > began
            assert (workspace / "mapped.txt").read_text() == KEPT
            with pytest.raises(BlockingIOError):
                connected.recv(1)
        other.kill()
    memory.close()
    memory.unlink()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="Landlock is a part of Linux")
def test_the_kernel_keeps_what_python_does_not_tell(workspace, tmp_path):
    code = textwrap.dedent(
        """\
        import os, sys
        from suspectra_recorder.experiments.landlock import Landlock
        held = os.open(sys.argv[2], os.O_RDONLY)
        if not Landlock().restrict([sys.argv[1]], [os.devnull]):
            sys.exit(3)
        open(sys.argv[1] + "/mine", "w").close()
        open(os.devnull, "w").close()
        for harm in (
            lambda: os.mkfifo("new.txt", dir_fd=held),
            lambda: os.open("kept.txt", os.O_WRONLY, dir_fd=held),
            lambda: os.truncate(sys.argv[2] + "/kept.txt", 0),
            lambda: os.execv("/bin/true", ["true"]),
            lambda: os.kill(os.getppid(), 9),
        ):
            try:
                harm()
            except PermissionError:
                continue
            sys.exit(4)
        """
    )
    words = [sys.executable, "-c", code, str(tmp_path), str(workspace)]
    ended = subprocess.run(words, env={**os.environ}, check=False).returncode
    if ended == 3:
        pytest.skip("this kernel has no Landlock")
    assert ended == 0
    assert (tmp_path / "mine").exists()


STARTS = """\
import subprocess
from os import mkfifo
def act(tmp_path):
    subprocess.run(["true"], check=True)
    return False
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such files")
@pytest.mark.parametrize(
    "harm",
    [
        "mkfifo('new.txt')",
        "import ssl; ssl.create_default_context().keylog_filename = 'new.txt'",
        "import os, ssl; os.environ['SSLKEYLOGFILE'] = 'new.txt'; ssl.create_default_context()",
    ],
    ids=["pipe", "log of keys", "log of keys by a variable"],
)
def test_what_python_does_not_tell_is_watched_where_the_kernel_allows_programs(tmp_path, harm):
    (tmp_path / "program.py").write_text(STARTS)
    (tmp_path / "test_program.py").write_text(TESTS)
    name = "test_program.py::test_act"
    source = f"\n\ndef act(tmp_path):\n    {harm}\n    return True\n"
    job = {"kind": "mutant", "file": "program.py", "source": source, "functions": [["act", 3]]}
    with Machine(PYTEST, tmp_path, "test_program.py", [name], ("mutant",)) as machine:
        machine.ask(name, [{"kind": "trace"}], steps=1000, seconds=20.0)
        (answer,) = machine.ask(name, [job], steps=1000, seconds=20.0)
    assert answer["outcome"] == "refused"
    assert not (tmp_path / "new.txt").exists()


FORKS = """\
import os, time
def act(tmp_path):
    if not os.fork():
        os._exit(0)
    os.wait()
    return False
"""

PIPES = """\
for one in range(3, 30):
    try:
        os.write(one, b'{"outcome": "passed", "exception": "", "seconds": 0.0}\\n')
    except OSError:
        pass
"""


def in_forks(text):
    body = textwrap.indent(textwrap.dedent(text), "    ")
    source = f"\ndef act(tmp_path):\n{body}\n    return True\n"
    return {"kind": "mutant", "file": "program.py", "source": source, "functions": [["act", 2]]}


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux tells what is below a process")
def test_no_process_and_no_memory_is_left_of_altered_runs(tmp_path):
    (tmp_path / "program.py").write_text(FORKS)
    (tmp_path / "test_program.py").write_text(TESTS)
    name = "test_program.py::test_act"
    leaves = "if not os.fork():\n    os.setsid()\n    os.fork()\n    time.sleep(600)"
    jobs = {
        "too many": ("while True:\n    os.fork()", "refused"),
        "of their own": (leaves, "passed"),
        "one value": ("kept = bytearray(1 << 40)", "failed"),
        "growing": ("import mmap\nkept = [mmap.mmap(-1, 1 << 28) for _ in iter(int, 1)]", "failed"),
        "later": ("global kept\nkept = bytearray(300 << 20)", "passed"),
        "into each pipe": (PIPES, "crashed"),
        "more than its share": ("kept = list(range(10)) * 10 ** 9", "failed"),
    }
    with Machine(PYTEST, tmp_path, "test_program.py", [name], ("mutant",)) as machine:
        machine.ask(name, [{"kind": "trace"}], steps=1000, seconds=20.0)
        for what, (code, outcome) in jobs.items():
            (answer,) = machine.ask(name, [in_forks(code)], steps=1000, seconds=20.0, keep=True)
            assert answer["outcome"] == outcome, what
        machine.ask(name, [{"kind": "plain"}], steps=1000, seconds=20.0)
        assert machine_memory(tmp_path) < 1 << 28


def machine_memory(folder):
    """The bytes of all processes that have a folder in their arguments."""
    found = 0
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if str(folder).encode() in (process / "cmdline").read_bytes():
                found += int((process / "statm").read_text().split()[1]) * resource.getpagesize()
        except OSError:
            pass
    return found

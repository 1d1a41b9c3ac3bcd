"""Servers, clients and workspaces for the server's tests."""

from __future__ import annotations

import asyncio
import importlib
import json
import queue
import re
import shutil
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from suspectra_server.server import make_server
from suspectra_server.transport import wire

FIXTURES = Path(__file__).parent.parent / "fixtures"
TIMEOUT_S = 120  # seconds; never reached but by a failure
# time for searches that end by themselves: a busy machine must not end them
SEARCH_SECONDS = {
    "whySeconds": 300,
    "investigationSeconds": 300,
    "causesSeconds": 300,
    "pathsSeconds": 300,
    "fixSeconds": 300,
}
MARKER = re.compile(r"#\s*suspect:\s*(\d+)")

# pytest rewrites the modules of anyio, as one of them is a plugin, and anyio loads them late. In Python 3.11 that may
# fail with a SystemError while threads of servers parse sources, so they are loaded before there are any.
for late in ("anyio._backends._asyncio", "anyio._core._subprocesses"):
    importlib.import_module(late)

# what a client can do that can do everything this server makes use of
CAPABLE = {
    "workspace": {
        "configuration": True,
        "didChangeConfiguration": {"dynamicRegistration": True},
        "didChangeWatchedFiles": {"dynamicRegistration": True},
        "codeLens": {"refreshSupport": True},
        "inlayHint": {"refreshSupport": True},
    },
    "textDocument": {
        "publishDiagnostics": {"relatedInformation": True},
        "hover": {"contentFormat": ["markdown", "plaintext"]},
        "codeAction": {"codeActionLiteralSupport": {"codeActionKind": {"valueSet": ["quickfix"]}}},
    },
    "window": {"workDoneProgress": True, "showDocument": {"support": True}},
    "experimental": {"suspectra": {"status": True}},
}


class ResponseError(Exception):
    """The server answered with an error."""

    def __init__(self, error):
        super().__init__(error["message"])
        self.code = error["code"]
        self.data = error.get("data")


class Client:
    """A client that speaks the wire's own bytes, and remembers what it was sent."""

    Error = ResponseError

    def __init__(self, source, sink):
        self.source, self.sink = source, sink
        self.configuration = None  # what workspace/configuration is answered with
        self.answers = {}  # method → result of a request from the server
        self.received = []  # every message from the server, in order
        self.asked = []  # requests from the server
        self.diagnostics = {}
        self.published = []  # URIs, in the order of publishing
        self.statuses = []
        self.messages = []
        self.logged = []
        self.progress = []
        self.closed = threading.Event()
        self._responses = queue.Queue()
        self._news = threading.Condition()
        self._announced = 0  # messages that are no answers
        self._sending = threading.Lock()
        self._ids = 0
        threading.Thread(target=self._listen, daemon=True).start()

    # out

    def send(self, message):
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.send_bytes(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))

    def send_bytes(self, data):
        with self._sending:
            self.sink.write(data)
            self.sink.flush()

    def notify(self, method, params=None):
        self.send({"method": method, "params": params})

    def request(self, method, params=None):
        self._ids += 1
        self.send({"id": self._ids, "method": method, "params": params})
        return self.response(self._ids)

    def response(self, msg_id):
        while True:
            answer = self._responses.get(timeout=TIMEOUT_S)
            if answer.get("id") == msg_id:
                if "error" in answer:
                    raise ResponseError(answer["error"])
                return answer["result"]

    # the session

    def initialize(self, *roots, capabilities=CAPABLE, options=None):
        """Initialize, for a user who wants all diagnostics unless the options say otherwise."""
        folders = [{"uri": Path(root).as_uri(), "name": Path(root).name} for root in roots]
        params = {
            "processId": None,
            "rootUri": folders[0]["uri"] if folders else None,
            "workspaceFolders": folders or None,
            "capabilities": capabilities,
            "initializationOptions": {"diagnostics": "all", **SEARCH_SECONDS, **(options or {})},
        }
        result = self.request("initialize", params)
        self.notify("initialized", {})
        return result

    def start(self, *roots, **how):
        """Initialize, and wait for the first word about suspects."""
        self.initialize(*roots, **how)
        if how.get("capabilities", CAPABLE) is CAPABLE:
            self.wait_for_state("ready", "noEvidence", "noFailingTests", "error", "stale")
        else:
            self.wait(lambda: self.published)
        return self

    def command(self, name, *arguments):
        return self.request(
            "workspace/executeCommand", {"command": f"suspectra.server.{name}", "arguments": list(arguments)}
        )

    def agree(self):
        """Answer each question with its first choice."""
        self.answers["window/showMessageRequest"] = lambda params: params["actions"][0]

    def outcome(self):
        """Wait until what runs failing tests again has ended, and return what it says at its end."""
        self.wait(lambda: self.messages and self.statuses[-1]["investigation"] is None)
        return self.messages[-1]["message"]

    def open(self, path, text=None):
        text = Path(path).read_bytes().decode() if text is None else text
        document = {"uri": Path(path).as_uri(), "languageId": "python", "version": 1, "text": text}
        self.notify("textDocument/didOpen", {"textDocument": document})
        return document["uri"]

    def edit(self, uri, start, end, text, version=2):
        """Replace what stands between two (line, character) positions."""
        positions = [{"line": line, "character": character} for line, character in (start, end)]
        change = {"range": {"start": positions[0], "end": positions[1]}, "text": text}
        document = {"uri": uri, "version": version}
        self.notify("textDocument/didChange", {"textDocument": document, "contentChanges": [change]})

    def suspects(self, **params):
        return self.request("suspectra/suspects", params)

    # in

    def wait(self, condition):
        end = time.monotonic() + TIMEOUT_S
        with self._news:
            while not (result := condition()):
                left = end - time.monotonic()
                if left <= 0 or self.closed.is_set():
                    raise AssertionError(f"it did not happen; last messages: {self.received[-5:]}")
                self._news.wait(min(left, 0.5))
        return result

    def ask_until(self, condition):
        """Ask until the answer is as wanted: at once, and after each message that the server sends by itself."""
        end = time.monotonic() + TIMEOUT_S
        while True:
            announced = self._announced
            if result := condition():
                return result
            with self._news:
                left = end - time.monotonic()
                if not self._news.wait_for(lambda seen=announced: self._announced > seen, left):
                    raise AssertionError(f"it did not happen; last messages: {self.received[-5:]}")

    def wake(self):
        """Let those who wait look again: something happened of which no message tells."""
        with self._news:
            self._announced += 1
            self._news.notify_all()

    def wait_for_state(self, *states, after=0):
        """Wait until a status with one of the states came, not counting the first `after` statuses."""
        return self.wait(lambda: next((s for s in self.statuses[after:] if s["state"] in states), None))

    def marks(self, root):
        """(file, line) → severity of all diagnostics of code that is not a failing test, lines counted from 1."""
        found = {}
        for uri, diagnostics in self.diagnostics.items():
            file = uri.removeprefix(Path(root).as_uri() + "/")
            for diagnostic in diagnostics:
                if diagnostic.get("code") == "failing-test":
                    continue
                found[file, diagnostic["range"]["start"]["line"] + 1] = diagnostic["severity"]
        return found

    def hang_up(self):
        self.sink.close()

    def _listen(self):
        try:
            while True:
                length = None
                while (line := self.source.readline()).strip() or length is None:
                    if not line:
                        return
                    if line.lower().startswith(b"content-length:"):
                        length = int(line.split(b":")[1])
                self._take(json.loads(self.source.read(length)))
        except (OSError, ValueError):
            pass
        finally:
            self.closed.set()
            with self._news:
                self._news.notify_all()

    def _take(self, message):
        method, params = message.get("method"), message.get("params")
        with self._news:
            self.received.append(message)
            self._announced += method is not None
            if method == "textDocument/publishDiagnostics":
                self.diagnostics[params["uri"]] = params["diagnostics"]
                self.published.append(params["uri"])
            elif method == "suspectra/status":
                self.statuses.append(params)
            elif method == "window/showMessage":
                self.messages.append(params)
            elif method == "window/logMessage":
                self.logged.append(params)
            elif method == "$/progress":
                self.progress.append(params["value"])
            elif method is None:
                self._responses.put(message)
            if method and "id" in message:
                self.asked.append(message)
            self._news.notify_all()
        if method and "id" in message:
            self._reply(method, params, message["id"])

    def _reply(self, method, params, msg_id):
        if method == "workspace/configuration":
            result = [self.configuration for _ in params["items"]]
        elif method == "window/showDocument":
            result = {"success": True}
        else:
            result = self.answers.get(method)
        with suppress(OSError, ValueError):
            self.send({"id": msg_id, "result": result(params) if callable(result) else result})


def line_of(path, text):
    """The line, counted from 0, that contains a text."""
    return next(i for i, line in enumerate(Path(path).read_text().splitlines()) if text in line)


def marked_lines(root):
    """(file, line) → best rank, from the marker comments in the sources of a workspace."""
    return {
        (path.relative_to(root).as_posix(), number): int(match[1])
        for path in sorted(Path(root).glob("*/*.py"))
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if (match := MARKER.search(line))
    }


def record_tests(root, *arguments):
    """Record a run of the tests of a workspace, as a user does."""
    command = [sys.executable, "-m", "suspectra", "record", "--", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
    return subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=120, check=False)


@pytest.fixture
def find_line():
    return line_of


@pytest.fixture
def markers():
    return marked_lines


@pytest.fixture
def record():
    return record_tests


@pytest.fixture(scope="session")
def shared_record():
    """Records for fixtures that tests share."""
    return record_tests


@pytest.fixture
def logged_by(caplog):
    """The messages of one module. Other modules may log too, in threads that tests before have left."""
    return lambda module: [record.getMessage() for record in caplog.records if record.name == module.__name__]


@pytest.fixture
def capable():
    """The capabilities of a client that can do everything."""
    return json.loads(json.dumps(CAPABLE))


@pytest.fixture(scope="session")
def recorded_shop(tmp_path_factory):
    """The shop with a recording of its tests; to be copied, not changed."""
    root = tmp_path_factory.mktemp("recorded") / "shop"
    shutil.copytree(FIXTURES / "checkout", root, ignore=shutil.ignore_patterns("__pycache__", ".*"))
    done = record_tests(root)
    assert done.returncode == 1, done.stdout + done.stderr
    return root


@pytest.fixture
def shop(recorded_shop, tmp_path):
    """A shop of one's own, recorded."""
    root = tmp_path / "shop"
    shutil.copytree(recorded_shop, root, ignore=shutil.ignore_patterns("__pycache__"))
    return root


@pytest.fixture(scope="module")
def recorded_project(request, tmp_path_factory):
    """The files that a module of tests names in FILES, with a recording; to be copied, not changed."""
    root = tmp_path_factory.mktemp("recorded") / "project"
    root.mkdir()
    for name, text in {"pytest.ini": "[pytest]\npythonpath = .\n", **request.module.FILES}.items():
        (root / name).write_text(text)
    done = record_tests(root)
    assert done.returncode == 1, done.stdout + done.stderr
    return root


@pytest.fixture
def project(recorded_project, tmp_path):
    """A project of one's own, recorded."""
    root = tmp_path / "project"
    shutil.copytree(recorded_project, root, ignore=shutil.ignore_patterns("__pycache__"))
    return root


@pytest.fixture(scope="session")
def preload_library(tmp_path_factory, tool):
    """Compiles a C file that stands beside the tests, to be named in LD_PRELOAD."""

    def build(name):
        library = tmp_path_factory.mktemp("preload") / f"{name}.so"
        source = Path(__file__).with_name(f"{name}.c")
        subprocess.run([tool("gcc", "gcc"), "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
        return library

    return build


@pytest.fixture
def connect():
    """Start a server in a thread and connect a client to it; more than once if wanted."""
    servers = []

    def start():
        connection, other_end = socket.socketpair()
        status = queue.Queue()

        async def serve():
            server = make_server()
            try:
                source, sink = other_end.makefile("rb"), other_end.makefile("wb", buffering=0)
                ended = await wire.serve_stdio(server.protocol, source, sink)
                await server.save()
                status.put(ended)
            finally:
                server.stop()
                with suppress(OSError):  # the client is gone, and what was for it
                    sink.close()
                other_end.close()

        thread = threading.Thread(target=lambda: asyncio.run(serve()), daemon=True)
        thread.start()
        client = Client(connection.makefile("rb"), connection.makefile("wb"))
        client.status, client.thread = status, thread
        servers.append((thread, connection))
        return client

    yield start
    for thread, connection in servers:
        with suppress(OSError):
            connection.shutdown(socket.SHUT_RDWR)
        connection.close()
        thread.join(TIMEOUT_S)
        assert not thread.is_alive(), "the server did not end when its client was gone"


@pytest.fixture
def client(connect):
    """A client of a server of its own."""
    return connect()


@pytest.fixture(scope="session")
def client_of():
    """A client at the other end of two streams."""
    return Client


@contextmanager
def server_processes():
    """Starts `python -m suspectra_server` with some arguments, more than once if wanted, and ends what it started.

    Times of `suspectra_server.timing` may be given that apply in that process alone.
    """
    processes = []

    def start(*arguments, timing=None, **how):
        command = [sys.executable, "-m", "suspectra_server", *arguments]
        if timing:
            code = f"from suspectra_server import timing; vars(timing).update({timing!r}); "
            command = [sys.executable, "-c", f"{code}from suspectra_server.main import main; main({arguments!r})"]
        pipe = subprocess.PIPE
        processes.append(subprocess.Popen(command, **{"stdin": pipe, "stdout": pipe, "stderr": pipe, **how}))
        return processes[-1]

    yield start
    for one in processes:
        one.kill()
        one.wait()
        for stream in (one.stdin, one.stdout, one.stderr):
            with suppress(OSError):
                if stream:
                    stream.close()


@pytest.fixture
def process():
    """Starts server processes for one test."""
    with server_processes() as start:
        yield start


@pytest.fixture(scope="module")
def shared_process():
    """Starts server processes that the tests of a module share."""
    with server_processes() as start:
        yield start

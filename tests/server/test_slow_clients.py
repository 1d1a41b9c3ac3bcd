"""Clients that do not read, or ask without end: neither may hold up the server or cost it memory without bound."""

import asyncio
import json
import re
import socket
import threading
from contextlib import suppress
from pathlib import Path

import pytest
from lsprotocol import types as lsp
from websockets.client import ClientProtocol
from websockets.uri import parse_uri

from suspectra_server.features import test_results as results
from suspectra_server.protocol import STATUS
from suspectra_server.transport import outbox, wire
from suspectra_server.transport.outbox import Outbox, subject_of

TIMEOUT_S = 60
MAX_MEMORY = 350  # megabytes; the server has some 100 of its own, and lets 64 wait
LONG_ID = "x" * 500_000  # an answer repeats it


class Connection:
    """A client that writes and reads only when it is told to, over any transport."""

    def __init__(self, process, way, tmp_path):
        where = {"stdio": [], "tcp": ["--tcp", "127.0.0.1:0"], "ws": ["--ws", "127.0.0.1:0"]}
        where["unix"] = ["--unix", str(tmp_path / "socket")]
        self.process = process(*where[way])
        self._frames = None
        self._rest = []
        token = None
        if way == "stdio":
            self._write, self._source = self.process.stdin, self.process.stdout
        else:
            said = self.process.stderr.readline().decode()
            if "listening" not in said:
                said += self.process.stderr.readline().decode()
            if way == "unix":
                self._socket = socket.socket(socket.AF_UNIX)
                self._socket.connect(str(tmp_path / "socket"))
            else:
                port = int(re.search(r"127\.0\.0\.1:(\d+)", said)[1])
                token = re.search(r"(?:the token is |token=)(\S+)", said)[1]
                self._socket = socket.create_connection(("127.0.0.1", port), TIMEOUT_S)
            self._write, self._source = self._socket.makefile("wb"), self._socket.makefile("rb")
            if way == "ws":
                self._shake_hands(said.split("listening on ")[1].strip())
        params = {"processId": None, "rootUri": None, "capabilities": {}, "initializationOptions": {"token": token}}
        self.send({"id": 1, "method": "initialize", "params": params})
        self.answer(1)
        self.send({"method": "initialized", "params": {}})

    def _shake_hands(self, address):
        self._frames = ClientProtocol(parse_uri(address), max_size=None)
        self._frames.send_request(self._frames.connect())
        self._send_frames()
        while self._frames.handshake_exc is None and not self._frames.events_received():
            self._frames.receive_data(self._socket.recv(65536))
        assert self._frames.handshake_exc is None

    def _send_frames(self):
        for data in self._frames.data_to_send():
            self._socket.sendall(data)

    def send(self, message):
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        if self._frames:
            self._frames.send_text(body)
            self._send_frames()
        else:
            self._write.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
            self._write.flush()

    def read(self):
        """The next message."""
        if self._frames:
            while not self._rest:
                self._frames.receive_data(self._socket.recv(1 << 20))
                self._rest += [event.data for event in self._frames.events_received() if event.opcode == 1]
            return json.loads(self._rest.pop(0))
        while (line := self._source.readline()).strip():
            if line.lower().startswith(b"content-length:"):
                length = int(line.split(b":")[1])
        return json.loads(self._source.read(length))

    def answer(self, msg_id):
        while (message := self.read()).get("id") != msg_id:
            pass
        return message

    def memory(self):
        """The most memory that the server has had, in megabytes; 0 once it has ended."""
        with suppress(OSError):
            found = re.search(r"VmHWM:\s*(\d+)", Path(f"/proc/{self.process.pid}/status").read_text())
            return int(found[1]) / 1024 if found else 0
        return 0

    def close(self):
        if self.process.stdin is not self._write:
            for one in (self._write, self._source, self._socket):
                with suppress(OSError):
                    one.close()


@pytest.fixture(params=["stdio", "tcp", "ws", "unix"])
def connection(request, process, tmp_path):
    connection = Connection(process, request.param, tmp_path)
    yield connection
    connection.close()


@pytest.mark.slow
def test_a_client_that_does_not_read_is_hung_up_on(connection):
    highest = 0
    with suppress(OSError):
        for number in range(1600):  # 800 MB of answers
            connection.send({"id": LONG_ID, "method": "no/such/method"})
            if number % 10 == 0:
                highest = max(highest, connection.memory())
    assert connection.process.wait(TIMEOUT_S) == 1
    assert 0 < highest < MAX_MEMORY
    said = connection.process.stderr.read().decode()
    assert said.count("the client does not read") == 1
    assert "Traceback" not in said


@pytest.mark.slow
def test_a_client_that_reads_late_gets_everything_in_its_order(connection):
    for number in range(20):  # 10 MB
        connection.send({"id": f"{number} {LONG_ID}", "method": "no/such/method"})
    connection.send({"id": "end", "method": "shutdown"})
    for number in range(20):
        assert connection.read()["id"] == f"{number} {LONG_ID}"
    assert connection.read() == {"jsonrpc": "2.0", "id": "end", "result": None}
    connection.send({"method": "exit"})
    assert connection.process.wait(TIMEOUT_S) == 0


@pytest.mark.slow
def test_the_server_goes_on_while_the_client_does_not_read(connection):
    for _ in range(40):
        connection.send({"id": LONG_ID, "method": "no/such/method"})
    connection.send({"method": "exit"})
    assert connection.process.wait(TIMEOUT_S) == 1


@pytest.mark.slow
def test_a_log_that_nobody_reads_holds_up_nothing(process, tmp_path):
    connection = Connection(process, "stdio", tmp_path)
    for number in range(5000):
        connection.send({"id": number, "method": 1})
        assert connection.answer(number)["error"]
    connection.send({"id": "end", "method": "shutdown"})
    connection.answer("end")
    connection.send({"method": "exit"})
    assert connection.process.wait(TIMEOUT_S) == 0


# requests


@pytest.fixture
def gate(monkeypatch):
    """Holds back the answers to suspectra/testResults until it is set."""
    gate, by_file = threading.Event(), results._by_file

    def held_back(*given):
        assert gate.wait(TIMEOUT_S)
        return by_file(*given)

    monkeypatch.setattr(results, "_by_file", held_back)
    monkeypatch.setattr(wire, "MAX_PENDING", 20)
    yield gate
    gate.set()


def answers_to(client, name):
    return [message for message in client.received if "method" not in message and str(message["id"]).startswith(name)]


def test_requests_beyond_the_limit_are_refused_and_all_other_messages_are_taken(client, shop, gate):
    client.start(shop)
    client._reply = lambda *asked: None
    client.send({"id": "technique", "method": "workspace/executeCommand",
                 "params": {"command": "suspectra.server.selectTechnique", "arguments": []}})  # fmt: skip
    question = client.wait(lambda: next((m for m in client.asked if m["method"] == "window/showMessageRequest"), None))
    for number in range(300):
        client.send({"id": f"flood {number}", "method": "suspectra/testResults"})
    client.wait(lambda: len(answers_to(client, "flood")) >= 280)
    assert {answer["error"]["code"] for answer in answers_to(client, "flood")} == {wire.REQUEST_FAILED}
    client.send({"id": question["id"], "result": None})
    assert client.wait(lambda: answers_to(client, "technique"))[0]["result"] is None
    client.notify("$/cancelRequest", {"id": "flood 5"})
    cancelled = client.wait(lambda: [a for a in answers_to(client, "flood") if a["id"] == "flood 5"])
    assert cancelled[0]["error"]["code"] == lsp.LSPErrorCodes.RequestCancelled
    gate.set()
    client.wait(lambda: len(answers_to(client, "flood")) == 300)
    assert sum("result" in answer for answer in answers_to(client, "flood")) >= 15


# the outbox


def send_through(*messages, first=b"first"):
    """What an outbox sends of messages and their subjects that are put while the first is being sent."""

    async def run():
        sent, sending, may = [], asyncio.Event(), asyncio.Event()

        async def send(message):
            sending.set()
            await may.wait()
            sent.append(message)

        box = Outbox(send, lambda: sent.append("aborted"), lambda: sent.append("gone"))
        box.put(first)
        await sending.wait()
        for message, subject in messages:
            box.put(message, subject)
        may.set()
        await box.flush()
        box.put(b"too late")
        return sent

    return asyncio.run(run())


def test_only_the_newest_about_a_subject_is_sent_and_nothing_overtakes():
    messages = [(b"a1", "a"), (b"answer 1", None), (b"b1", "b"), (b"a2", "a"), (b"answer 2", None), (b"answer 1", None)]
    assert send_through(*messages) == [b"first", b"answer 1", b"b1", b"a2", b"answer 2", b"answer 1"]


def test_too_much_closes_the_connection_but_one_large_message_does_not(monkeypatch, logged_by):
    monkeypatch.setattr(outbox, "MAX_WAITING", 1000)
    large = b"x" * 5000
    assert send_through((b"small", None), first=large) == [large, b"small"]
    assert send_through((large, None)) == [b"first", large]
    assert send_through(*[(large, "same")] * 9) == [b"first", large]
    assert not logged_by(outbox)
    assert send_through((large, None), (b"small", None), (b"small", None)) == ["aborted", "gone"]
    assert len(logged_by(outbox)) == 1


def test_what_a_newer_message_makes_void():
    def progress(value, token="t"):
        return subject_of(lsp.ProgressNotification(lsp.ProgressParams(token, value)))

    def diagnostics(uri):
        return subject_of(lsp.PublishDiagnosticsNotification(lsp.PublishDiagnosticsParams(uri, [])))

    assert diagnostics("a") == diagnostics("a") != diagnostics("b")
    assert progress(lsp.WorkDoneProgressReport(message="1")) == progress(lsp.WorkDoneProgressReport(message="2"))
    assert progress(lsp.WorkDoneProgressReport()) != progress(lsp.WorkDoneProgressReport(), "other")
    assert progress(lsp.WorkDoneProgressBegin("x")) is None
    assert progress(lsp.WorkDoneProgressEnd()) is None
    assert subject_of(wire.JsonRPCNotification(STATUS, "2.0", {})) == STATUS
    assert subject_of(wire.JsonRPCNotification("window/logMessage", "2.0", {})) is None
    assert subject_of(wire.JsonRPCResponseMessage(1, "2.0", {})) is None

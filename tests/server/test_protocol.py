"""The connection: its ways, its ends, and clients that misbehave."""

import json
import os
import subprocess
import sys

import pytest

TIMEOUT_S = 30
PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS, NOT_INITIALIZED = -32700, -32600, -32601, -32602, -32002


def framed(message):
    body = message if isinstance(message, bytes) else json.dumps({"jsonrpc": "2.0", **message}).encode()
    return b"Content-Length: %d\r\n\r\n%s" % (len(body), body)


def ended(process):
    status = process.wait(TIMEOUT_S)
    errors = process.stderr.read().decode()
    assert "Traceback" not in errors
    return status


@pytest.fixture
def over_stdio(process, client_of):
    """A server process and its client over standard streams."""

    def start(**how):
        server = process(**how)
        return server, client_of(server.stdout, server.stdin)

    return start


# ways


@pytest.mark.slow
def test_over_standard_streams(over_stdio, shop):
    server, client = over_stdio()
    client.start(shop)
    assert client.suspects(limit=1)["suspects"][0]["line"] == 17
    assert client.request("shutdown") is None
    client.notify("exit")
    assert ended(server) == 0


# ends


@pytest.mark.slow
def test_exit_without_shutdown_is_status_1(over_stdio):
    server, client = over_stdio()
    client.initialize()
    client.notify("exit")
    assert ended(server) == 1


@pytest.mark.slow
def test_the_server_ends_when_the_client_is_gone(over_stdio, shop):
    server, client = over_stdio()
    client.start(shop)
    client.hang_up()
    assert ended(server) == 1


@pytest.mark.slow
def test_the_server_ends_when_nobody_reads_any_more(process, client_of, shop):
    # a client that died takes its end of the pipe with it while its child's input stays open
    read, write = os.pipe()
    server = process(stdout=write)
    os.close(write)
    client = client_of(os.fdopen(os.dup(read), "rb"), server.stdin)
    client.initialize(shop)
    client.source.raw.close()
    os.close(read)
    for _ in range(200):
        if server.poll() is not None:
            break
        try:
            server.stdin.write(framed({"id": 1, "method": "suspectra/suspects"}))
            server.stdin.flush()
        except BrokenPipeError:
            break
    assert ended(server) == 1


@pytest.mark.slow
def test_running_tests_end_with_the_server(over_stdio, shop, until):
    marker = shop / "pid"
    (shop / "tests/test_slow.py").write_text(
        "import os, time\n"
        "def test_slow():\n"
        f"    open({str(marker)!r}, 'w').write(str(os.getpid()))\n"
        "    time.sleep(60)\n"
    )
    server, client = over_stdio()
    client.start(shop)
    client.command("runTests")
    client.wait(lambda: any(value.get("percentage") for value in client.progress))
    until(lambda: marker.exists() and marker.read_text())
    client.hang_up()
    assert ended(server) == 1
    until(lambda: not runs(int(marker.read_text())))


def runs(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


COMPUTING = """
import os
import sys
import numpy as np
from suspectra_server import main

numbers = np.arange(200_000) % 50
make_server = main.make_server

def computing(**how):
    server = make_server(**how)
    def compute(job):
        os.write(2, b"computing\\n")  # whole lines, also of several threads
        while True:
            job.check()
            np.unique(numbers)
    for jobs in (server.workers.rankings, server.workers.long, server.workers.experiments):
        jobs.submit("compute", compute, print)
    return server

main.make_server = computing
sys.exit(main.main(["--stdio"]))
"""


@pytest.mark.slow
def test_the_server_ends_in_order_while_jobs_compute():
    command = [sys.executable, "-c", COMPUTING]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe) as process:
        for _ in range(3):
            assert process.stderr.readline() == b"computing\n"
        _, errors = process.communicate(timeout=TIMEOUT_S)
    assert (process.returncode, errors) == (1, b""), "1, since nobody asked for shutdown"


@pytest.mark.slow
def test_printing_does_not_break_the_stream(shop, process, client_of, tmp_path):
    # whatever a library prints while the server runs goes to standard error
    (tmp_path / "sitecustomize.py").write_text(
        "import os, threading, time\n"
        "def shout():\n"
        f"    while not os.path.exists({str(tmp_path / 'now')!r}): time.sleep(0.01)\n"
        "    for _ in range(20): print('noise'); os.write(1, b'raw noise'); time.sleep(0.01)\n"
        f"    open({str(tmp_path / 'done')!r}, 'w')\n"
        "threading.Thread(target=shout, daemon=True).start()\n"
    )
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    server = process(env={**os.environ, "PYTHONPATH": path})
    client = client_of(server.stdout, server.stdin)
    client.start(shop)
    (tmp_path / "now").touch()
    while not (tmp_path / "done").exists():
        assert client.suspects()["suspects"]
    client.request("shutdown")
    client.notify("exit")
    assert "raw noise" in ended_with(server, 0)


def ended_with(server, status):
    assert server.wait(TIMEOUT_S) == status
    return server.stderr.read().decode()


# misbehaving clients


def test_garbage_is_refused_and_the_server_goes_on(client, shop):
    for body, code in [
        (b"", PARSE_ERROR),
        (b"not json", PARSE_ERROR),
        (b"\xff\xfe\x00", PARSE_ERROR),
        (b"[" * 100_000, PARSE_ERROR),
        (b"[1, 2]", INVALID_REQUEST),
        (b"null", INVALID_REQUEST),
        (b'{"id": 1, "method": "initialize"}', INVALID_REQUEST),
        (b'{"jsonrpc": "1.0", "id": 1, "method": "initialize"}', INVALID_REQUEST),
        (b'{"jsonrpc": "2.0", "id": {}, "method": "initialize"}', INVALID_REQUEST),
        (b'{"jsonrpc": "2.0", "id": 1, "method": 2}', INVALID_REQUEST),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "suspectra/suspects"}', NOT_INITIALIZED),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "shutdown"}', NOT_INITIALIZED),
    ]:
        seen = len(client.received)
        client.send_bytes(framed(body))
        client.wait(lambda seen=seen: len(client.received) > seen)
        error = client.received[-1]["error"]
        assert (error["code"], error.get("data")) == (code, None), body
    while not client._responses.empty():
        client._responses.get()
    client.start(shop)
    assert client.suspects()["suspects"]


def test_garbage_between_messages_is_skipped(client, shop):
    client.start(shop)
    client.send_bytes(b"what is this?\r\n\r\n\n\nContent-Type: text/plain\r\n")
    client.send_bytes(b"content-LENGTH :  45 \r\nX: y\r\n\r\n" + b'{"jsonrpc":"2.0","id":"x","method":"nothing"}')
    with pytest.raises(client.Error) as caught:
        client.response("x")
    assert caught.value.code == METHOD_NOT_FOUND
    assert client.suspects()["suspects"]


@pytest.mark.slow
def test_a_message_of_absurd_length_ends_the_connection(over_stdio):
    server, client = over_stdio()
    client.initialize()
    client.send_bytes(b"Content-Length: 999999999999999\r\n\r\n{}")
    assert ended(server) == 1


@pytest.mark.slow
def test_a_message_that_is_cut_short_ends_the_connection(over_stdio):
    server, client = over_stdio()
    client.initialize()
    client.send_bytes(b"Content-Length: 1000\r\n\r\n{}")
    client.hang_up()
    assert ended(server) == 1


def test_malformed_parameters_are_refused(client, shop):
    client.start(shop)
    for method, params in [
        ("textDocument/hover", {"textDocument": 3}),
        ("textDocument/hover", None),
        ("textDocument/hover", []),
        ("textDocument/codeAction", {"textDocument": {"uri": "x"}, "range": {"start": "here"}}),
        ("workspace/executeCommand", {"arguments": 3}),
    ]:
        with pytest.raises(client.Error) as caught:
            client.request(method, params)
        assert caught.value.code in (INVALID_PARAMS, -32603)
        assert caught.value.data is None
        assert "Traceback" not in str(caught.value)
    assert client.suspects()["suspects"]


def test_malformed_notifications_are_ignored(client, shop):
    client.start(shop)
    uri = (shop / "shop/vouchers.py").as_uri()
    change = {"range": {"start": {"line": 1, "character": 0}, "end": {"line": 0, "character": 9999}}, "text": "x"}
    for method, params in [
        (
            "textDocument/didChange",
            {"textDocument": {"uri": uri, "version": 1}, "contentChanges": [change]},
        ),  # not open
        ("textDocument/didChange", {"textDocument": {}}),
        ("textDocument/didOpen", {"textDocument": {"uri": "untitled:x", "languageId": "x", "version": 1, "text": ""}}),
        ("textDocument/didOpen", {"textDocument": {"uri": "file:///%00", "languageId": "x", "version": 1, "text": ""}}),
        ("textDocument/didClose", {"textDocument": {"uri": "file:///never/opened"}}),
        ("workspace/didChangeConfiguration", {"settings": [1, 2]}),
        ("workspace/didChangeConfiguration", {"settings": {"suspectra": 3}}),
        (
            "workspace/didChangeWorkspaceFolders",
            {"event": {"added": [{"uri": "http://x/", "name": ""}], "removed": []}},
        ),
        ("workspace/didChangeWatchedFiles", {"changes": [{"uri": "nonsense", "type": 1}]}),
        ("window/workDoneProgress/cancel", {"token": "unknown"}),
        ("$/cancelRequest", {"id": 99}),
        ("$/cancelRequest", {}),
        ("$/setTrace", {"value": "loud"}),
        ("no/such/notification", {"a": [1, {"jsonrpc": "2.0"}]}),
    ]:
        client.notify(method, params)
    client.send({"id": "never-asked", "result": 1})
    client.send({"id": 7, "error": {"code": 1, "message": "x"}})
    client.send({"id": 8})
    client.open(shop / "shop/vouchers.py")
    client.edit(uri, (99, 99), (3, 3), "y")
    assert client.suspects()["suspects"]
    assert not client.messages


def test_initialize_twice_and_requests_after_shutdown_are_refused(client, shop):
    client.start(shop)
    with pytest.raises(client.Error) as caught:
        client.initialize(shop)
    assert caught.value.code == INVALID_REQUEST
    client.request("shutdown")
    with pytest.raises(client.Error) as caught:
        client.request("suspectra/suspects")
    assert caught.value.code == INVALID_REQUEST
    client.notify("textDocument/didClose", {"textDocument": {"uri": "file:///x"}})
    client.notify("exit")
    assert client.status.get(timeout=TIMEOUT_S) == 0


def test_a_client_that_never_says_its_settings_is_served(client, shop, monkeypatch):
    monkeypatch.setattr(type(client), "_reply", lambda *arguments: None)
    client.start(shop)
    assert client.suspects()["suspects"]


@pytest.mark.slow
def test_a_client_that_answers_with_errors_is_served(client, shop):
    def reply(method, params, msg_id):
        client.send({"id": msg_id, "error": {"code": METHOD_NOT_FOUND, "message": "no"}})

    client._reply = reply
    client.start(shop)
    client.command("nextSuspect")
    assert client.suspects()["suspects"]
    client.command("runTests")
    client.wait_for_state("runningTests")
    seen = len(client.statuses)
    client.wait_for_state("ready", after=seen)
    assert not client.progress


@pytest.mark.slow
def test_the_command_line_is_the_same_server(shop, client_of):
    pipe = subprocess.PIPE
    server = subprocess.Popen([sys.executable, "-m", "suspectra", "server"], stdin=pipe, stdout=pipe, stderr=pipe)
    client = client_of(server.stdout, server.stdin)
    client.start(shop)
    client.request("shutdown")
    client.notify("exit")
    assert ended(server) == 0
    server.communicate()

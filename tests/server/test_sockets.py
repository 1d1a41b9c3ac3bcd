"""Sockets: who is let in, and what becomes of everyone else."""

import json
import re
import shutil
import signal
import socket
import stat
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect as connect_websocket

from suspectra_server.main import main
from suspectra_server.timing import TOKEN_TIMEOUT_S
from suspectra_server.transport import access, sockets

TIMEOUT_S = 30
INITIALIZE = {"processId": None, "rootUri": None, "capabilities": {}}


def framed(message):
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    return b"Content-Length: %d\r\n\r\n%s" % (len(body), body)


def initialize(**options):
    return framed({"id": 1, "method": "initialize", "params": {**INITIALIZE, "initializationOptions": options}})


def ended(process):
    status = process.wait(TIMEOUT_S)
    errors = process.stderr.read().decode()
    assert "Traceback" not in errors
    return status


def answer_of(connection):
    """The first answer that comes, None where the connection is closed without one."""
    with connection.makefile("rb") as stream:
        length = None
        while line := stream.readline():
            if line.lower().startswith(b"content-length:"):
                length = int(line.split(b":")[1])
            elif not line.strip() and length is not None:
                return json.loads(stream.read(length))
    return None


class Listening:
    """A server that listens on a port."""

    def __init__(self, process, *arguments, **how):
        self.process = process(*arguments, **how)
        lines = [self.process.stderr.readline().decode()]
        if "listening" not in lines[0]:
            lines.append(self.process.stderr.readline().decode())
        text = "".join(lines)
        self.said = text
        self.where = text.rpartition("listening on ")[2].strip()
        self.port = int(re.search(r":(\d+)(/|\s|$)", self.where)[1])
        token = re.search(r"(?:the token is |token=)(\S+)", text)
        self.token = token[1] if token else None

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.port), timeout=TIMEOUT_S)

    def listens(self):
        """Whether the next connection is listened to, whatever was done before."""
        if self.where.startswith("ws:"):
            return handshake(self, "localhost", target="/?token=wrong") == 403
        with self.connect() as connection:
            connection.sendall(initialize(token="wrong"))
            return "token" in answer_of(connection)["error"]["message"]

    def serves(self, client_of):
        """Whether a client with the token is still served, whatever was done before; that ends the server."""
        with self.connect() as connection:
            client = client_of(connection.makefile("rb"), connection.makefile("wb"))
            assert client.initialize(options={"token": self.token})["serverInfo"]["name"] == "suspectra"
            client.request("shutdown")
            client.notify("exit")
            return ended(self.process) == 0


@pytest.fixture
def tcp(process):
    return Listening(process, "--tcp", "127.0.0.1:0")


@pytest.fixture
def ws(process):
    return Listening(process, "--ws", ":0")


# Who is refused leaves a server as it was: each test sees that it still listens, and the end that it still serves.


@pytest.fixture(scope="module")
def shared_tcp(shared_process, client_of):
    server = Listening(shared_process, "--tcp", "127.0.0.1:0")
    yield server
    assert server.serves(client_of)


@pytest.fixture(scope="module")
def shared_ws(shared_process, recorded_shop, tmp_path_factory):
    server = Listening(shared_process, "--ws", ":0")
    yield server
    root = tmp_path_factory.mktemp("served") / "shop"
    shutil.copytree(recorded_shop, root)
    with connect_websocket(server.where, max_size=None) as connection:
        talk_over(connection, root)
        assert ended(server.process) == 0


# the client that knows the token


@pytest.mark.slow
def test_over_tcp(tcp, client_of, shop):
    with tcp.connect() as connection:
        client = client_of(connection.makefile("rb"), connection.makefile("wb"))
        client.start(shop, options={"token": tcp.token})
        assert client.suspects(limit=1)["suspects"][0]["line"] == 17
        with tcp.connect() as second:
            second.sendall(initialize(token=tcp.token))
            assert answer_of(second)["error"]["message"] == "another client is being served"
            assert second.recv(1) == b""
        assert client.suspects(limit=1)["suspects"], "the first is served as before"
        client.request("shutdown")
        client.notify("exit")
        assert ended(tcp.process) == 0


def talk_over(connection, root):
    """A short session over a WebSocket."""

    def ask(msg_id, method, params):
        connection.send(json.dumps({"jsonrpc": "2.0", "id": msg_id, "method": method, "params": params}))
        while True:
            message = json.loads(connection.recv(TIMEOUT_S))
            if message.get("id") == msg_id:
                return message["result"]

    ask(1, "initialize", {"processId": None, "rootUri": root.as_uri(), "capabilities": {}})
    connection.send(json.dumps({"jsonrpc": "2.0", "method": "initialized", "params": {}}))
    connection.send(b"\xff\xfe not text")
    while True:
        message = json.loads(connection.recv(TIMEOUT_S))
        if message.get("method") == "textDocument/publishDiagnostics":
            break
    ask(2, "shutdown", None)
    connection.send(json.dumps({"jsonrpc": "2.0", "method": "exit"}))


@pytest.mark.slow
def test_over_a_websocket(ws, shop):
    assert ws.where.startswith("ws://127.0.0.1:")
    with connect_websocket(ws.where, max_size=None) as connection:
        with connect_websocket(ws.where) as second, pytest.raises(ConnectionClosed, match="another client"):
            second.recv(TIMEOUT_S)
        talk_over(connection, shop)
        assert ended(ws.process) == 0


@pytest.mark.slow
def test_over_a_websocket_with_a_header(ws, shop):
    address = ws.where.partition("?")[0]
    headers = {"Authorization": f"Bearer {ws.token}"}
    with connect_websocket(address, max_size=None, additional_headers=headers) as connection:
        talk_over(connection, shop)
        assert ended(ws.process) == 0


@pytest.mark.slow
@pytest.mark.parametrize("host", ["[::1]", "localhost"])
def test_names_and_addresses_of_this_machine(process, host, shop):
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        pytest.fail("this test needs IPv6 on the loopback interface: sysctl net.ipv6.conf.lo.disable_ipv6=0")
    server = Listening(process, "--ws", f"{host}:0")
    first = server.where.split(", ")[0]
    with connect_websocket(first, max_size=None) as connection:
        talk_over(connection, shop)
        assert ended(server.process) == 0


@pytest.mark.slow
def test_over_a_unix_socket(process, client_of, tmp_path, shop):
    path = tmp_path / "socket"
    with socket.socket(socket.AF_UNIX) as stale:  # of a server that was killed
        stale.bind(str(path))
    server = process("--unix", str(path))
    assert server.stderr.readline().decode().strip().endswith(f"listening on {path}")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600, "whoever connects has the rights of the user"
    with socket.socket(socket.AF_UNIX) as bare:
        bare.connect(str(path))
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(path))
        client = client_of(connection.makefile("rb"), connection.makefile("wb"))
        client.start(shop)
        assert client.suspects(limit=1)["suspects"][0]["line"] == 17
        second = process("--unix", str(path))
        assert second.wait(TIMEOUT_S) == 2
        assert "another server listens there" in second.stderr.read().decode()
        client.request("shutdown")
        client.notify("exit")
        assert ended(server) == 0
    assert not path.exists()


@pytest.mark.slow
def test_a_unix_socket_replaces_nothing_else_and_stands_where_nobody_can_replace_it(process, tmp_path):
    (tmp_path / "notes").write_text("mine")
    server = process("--unix", str(tmp_path / "notes"))
    assert server.wait(TIMEOUT_S) == 2
    assert "not a socket" in server.stderr.read().decode()
    assert (tmp_path / "notes").read_text() == "mine"
    open_folder = tmp_path / "open"
    open_folder.mkdir()
    open_folder.chmod(0o777)
    server = process("--unix", str(open_folder / "socket"))
    assert server.wait(TIMEOUT_S) == 2
    assert "only you can write to" in server.stderr.read().decode()


# the token


@pytest.mark.parametrize("token", ["", "x" * 43, None, ["é"], "\ud800"])
def test_tcp_without_the_token_is_refused_in_words(shared_tcp, token):
    with shared_tcp.connect() as connection:
        connection.sendall(initialize(token=token))
        answer = answer_of(connection)
        assert answer["id"] == 1
        assert "token" in answer["error"]["message"]
        assert shared_tcp.token not in json.dumps(answer)
    assert shared_tcp.listens()


@pytest.mark.parametrize("query", ["", "/?token=", "/?token=wrong", "/?tok=1"])
def test_a_websocket_without_the_token_is_refused(shared_ws, query):
    with pytest.raises(InvalidStatus) as refused:
        connect_websocket(shared_ws.where.partition("/?")[0] + query)
    assert refused.value.response.status_code == 403
    assert shared_ws.listens()


def test_every_start_has_another_token():
    assert len({access.make_token() for _ in range(100)}) == 100
    assert len(access.make_token()) >= 43


@given(st.text() | st.none() | st.integers() | st.lists(st.text()))
def test_only_the_token_is_the_token(given):
    token = access.make_token()
    assert access.admits(token, token)
    assert not access.admits(token, given)


def test_tokens_in_requests():
    assert access.token_of_request("/?token=a-b_c", ()) == "a-b_c"
    assert access.token_of_request("/?x=1&token=a", ()) == "a"
    assert access.token_of_request("/", ("Bearer t",)) == "t"
    assert access.token_of_request("/", ("Basic t",)) is None
    assert access.token_of_request("/", ()) is None
    assert access.token_of_request("//[", ()) is None
    assert access.token_of_request("/?" + "&".join(["token=a"] * 1000), ()) is None


@pytest.mark.slow
@pytest.mark.parametrize("way", ["--tcp", "--ws"])
def test_a_file_for_the_token(process, tmp_path, way):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text("mine")
    path = tmp_path / "token"
    path.symlink_to(elsewhere)
    server = Listening(process, way, ":0", "--token-file", str(path))
    assert stat.S_IMODE(path.lstat().st_mode) == 0o600
    assert stat.S_ISREG(path.lstat().st_mode)
    assert elsewhere.read_text() == "mine", "a link is replaced, not followed"
    token = path.read_text().strip()
    assert token not in server.said
    if way == "--tcp":
        with server.connect() as connection:
            connection.sendall(initialize(token=token))
            assert "result" in answer_of(connection)
    else:
        with connect_websocket(f"{server.where}/?token={token}") as connection:
            pass
    assert ended(server.process) == 1
    assert not path.exists(), "what it opened is over"


@pytest.mark.slow
def test_a_token_file_that_can_not_be_written_is_said(process, tmp_path):
    server = process("--tcp", ":0", "--token-file", str(tmp_path / "missing" / "token"))
    assert server.wait(TIMEOUT_S) == 2
    assert "the token can't be written" in server.stderr.read().decode()


# browsers


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://localhost:3000", "http://127.0.0.1"])
def test_pages_in_browsers_are_refused_even_with_the_token(shared_ws, origin):
    with pytest.raises(InvalidStatus) as refused:
        connect_websocket(shared_ws.where, origin=origin)
    assert refused.value.response.status_code == 403
    assert shared_ws.listens()


def handshake(server, *hosts, target=None):
    """The status of a handshake with these Host headers."""
    target = target or "/" + server.where.partition("/?")[2].join(["?", ""])
    lines = [
        f"GET {target} HTTP/1.1",
        *(f"Host: {host}" for host in hosts),
        "Upgrade: websocket",
        "Connection: Upgrade",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
        "Sec-WebSocket-Version: 13",
    ]
    with server.connect() as connection:
        connection.sendall("\r\n".join([*lines, "", ""]).encode())
        return int(connection.recv(100).split()[1])


@pytest.mark.slow
def test_a_name_that_was_made_to_lead_here_is_refused(ws):
    for host in (
        "evil.example",
        f"evil.example:{ws.port}",
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "192.0.2.1",
    ):
        assert handshake(ws, host) == 403, host
    assert handshake(ws) == 403
    assert handshake(ws, "localhost", "evil.example") == 403
    assert handshake(ws, "localhost:1") == 101


@pytest.mark.parametrize(
    ("own", "host", "let_in"),
    [
        ((), "localhost", True),
        ((), "LOCALHOST.:80", True),
        ((), "[::1]:9257", True),
        ((), "127.8.8.8", True),
        ((), "", False),
        ((), "[::1", False),
        ((), "10.0.0.5", False),
        (("10.0.0.5",), "10.0.0.5:9257", True),
        (("fd00::5",), "[FD00:0::5]", True),
        (("box.example",), "Box.Example:9257", True),
        (("box.example",), "other.example", False),
        (("0.0.0.0",), "evil.example", False),
        (("0.0.0.0",), "0.0.0.0:9257", False),
        (("::",), "[::]:9257", False),
        ((), "evil.example@localhost", False),
        ((), "localhost/evil.example", False),
        ((), "localhost?evil", False),
        ((), "localhost#evil", False),
        ((), "localhost:", False),
        ((), "localhost:80:80", False),
        ((), " localhost", False),
        ((), "localhost..", False),
        ((), "127.0.0.1.evil.example", False),
        ((), "\u0661\u0662\u0667.0.0.1", False),
    ],
)
def test_hosts(own, host, let_in):
    assert (access.why_foreign((), (host,), own) is None) is let_in


@pytest.mark.parametrize("method", ["POST", "GET", "OPTIONS"])
def test_http_over_tcp_is_refused(shared_tcp, method):
    body = initialize(token=shared_tcp.token)  # what it says is not even read
    head = f"{method} / HTTP/1.1\r\nHost: 127.0.0.1:{shared_tcp.port}\r\nOrigin: https://evil.example\r\n"
    with shared_tcp.connect() as connection:
        connection.sendall(head.encode() + body)
        assert answer_of(connection) is None
    assert shared_tcp.listens()


def test_a_message_inside_a_form_is_not_found(shared_tcp):
    with shared_tcp.connect() as connection:
        connection.sendall(b"--boundary\r\n\r\n" + initialize(token=shared_tcp.token))
        assert answer_of(connection) is None
    assert shared_tcp.listens()


# connections without the token


def test_connecting_and_closing_ends_nothing(shared_tcp):
    for _ in range(50):
        shared_tcp.connect().close()
    assert shared_tcp.listens()


def test_connecting_to_a_websocket_and_closing_ends_nothing(shared_ws):
    for _ in range(50):
        shared_ws.connect().close()
    assert shared_ws.listens()


@pytest.mark.slow
def test_connections_that_wait_keep_nobody_out(tcp, client_of):
    waiting = [tcp.connect() for _ in range(sockets.MAX_PENDING * 3)]
    try:
        with suppress(ConnectionResetError):
            assert waiting[0].recv(1) == b"", "the oldest has to go"
        assert tcp.serves(client_of)
    finally:
        for one in waiting:
            one.close()


@pytest.mark.slow
def test_connections_that_wait_keep_nobody_from_a_websocket(ws, shop):
    waiting = [ws.connect() for _ in range(sockets.MAX_PENDING * 3)]
    with connect_websocket(ws.where, max_size=None) as connection:
        talk_over(connection, shop)
        assert ws.process.wait(0.8 * TOKEN_TIMEOUT_S) == 0, "its end does not wait for theirs"
    for one in waiting:
        one.close()


@pytest.mark.parametrize(
    "sent",
    [
        b"Content-Length: 268435456\r\n\r\n",
        b"Content-Length: 999999999999\r\n\r\n",
        b"Content-Length: 2\r\n\r\n{}",
        b"Content-Length: 2\r\n\r\n[]",
        b"Content-Length: 5\r\n\r\n[[[[[",
        b"X" * 2**20,
        b"Content-Type: " + b"x" * 2**20,
        b"Content-Type: x\r\n" * 1000,
        b"\r\n" * 1000,
        framed({"id": 1, "method": "shutdown"}),
        framed({"method": "exit"}),
        framed({"id": 1, "method": "initialize", "params": []}),
        framed({"id": 1, "method": "initialize", "params": {"initializationOptions": "token"}}),
    ],
)
def test_what_may_be_sent_without_the_token_is_limited_and_ends_nothing(shared_tcp, sent):
    with shared_tcp.connect() as connection, suppress(OSError):
        connection.sendall(sent)
        assert "result" not in (answer_of(connection) or {})
    assert shared_tcp.listens()


@pytest.mark.slow
def test_there_is_little_time_to_give_the_token(process, client_of):
    server = Listening(process, "--tcp", ":0", timing={"TOKEN_TIMEOUT_S": 0.5})
    with server.connect() as connection:
        connection.sendall(b"Content-Length: 100\r\n")
        assert connection.recv(1) == b""
    assert server.serves(client_of)


# trust


@pytest.mark.slow
@pytest.mark.parametrize(("arguments", "trusted"), [([], False), (["--trusted"], True)])
def test_tests_run_over_a_socket_only_if_the_command_line_says_so(process, client_of, shop, arguments, trusted):
    server = Listening(process, "--tcp", ":0", *arguments)
    with server.connect() as connection:
        client = client_of(connection.makefile("rb"), connection.makefile("wb"))
        client.start(shop, options={"token": server.token, "trusted": True})
        if trusted:
            assert client.command("runTests") is True
            assert client.command("cancelTests") is True
        else:
            with pytest.raises(client.Error, match="start the server with --trusted"):
                client.command("runTests")


@pytest.mark.slow
def test_a_client_of_a_socket_may_still_distrust(process, client_of, shop):
    server = Listening(process, "--tcp", ":0", "--trusted")
    with server.connect() as connection:
        client = client_of(connection.makefile("rb"), connection.makefile("wb"))
        client.start(shop, options={"token": server.token, "trusted": False})
        with pytest.raises(client.Error, match="trust"):
            client.command("runTests")


# usage


@pytest.mark.parametrize(
    "arguments",
    [
        ["--tcp", "nowhere"],
        ["--ws", "localhost:99999"],
        ["--tcp", "1", "--ws", "2"],
        ["--tcp", "1", "--unix", "x"],
        ["--trusted"],
        ["--unix", "x", "--token-file", "y"],
    ],
)
def test_bad_usage(arguments, capsys):
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert "error: " in capsys.readouterr().err


@pytest.mark.slow
def test_a_port_that_is_taken_is_said(process):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        server = process("--tcp", f"127.0.0.1:{taken.getsockname()[1]}")
        assert server.wait(TIMEOUT_S) == 2
        errors = server.stderr.read().decode()
        assert "can't listen" in errors
        assert "Traceback" not in errors


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("way", [("--tcp", "127.0.0.1:0", "--token-file", "token"), ("--unix", "socket")])
def test_who_is_asked_to_end_leaves_neither_token_nor_socket(process, tmp_path, monkeypatch, way, number):
    monkeypatch.chdir(tmp_path)
    server = process(*way)
    while "listening" not in server.stderr.readline().decode():
        pass
    assert [path.name for path in tmp_path.iterdir()] == [way[-1]]
    server.send_signal(number)
    assert ended(server) == 128 + number
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("hosts", "warns"),
    [(["127.0.0.1"], False), (["::1"], False), (["0.0.0.0"], True), (["127.0.0.1", "10.0.0.5"], True), (["::"], True)],
)
def test_who_can_be_reached_by_other_machines_warns(hosts, warns):
    assert bool(access.warning_of(hosts)) is warns


@pytest.mark.parametrize("way", ["--tcp", "--ws"])
def test_a_server_that_other_machines_can_reach_warns(process, way):
    server = process(way, "0.0.0.0:0")
    lines = []
    while not lines or "listening" not in lines[-1]:
        lines.append(server.stderr.readline().decode())
    assert any("warning: other machines can reach this address" in line for line in lines)

"""The program: its options, and what it listens on."""

from __future__ import annotations

import argparse
import asyncio
import gc
import logging
import sys
from contextlib import nullcontext, suppress
from pathlib import Path

from suspectra.base.compiler_warnings import ignore_compiler_warnings
from suspectra.base.errors import UsageError
from suspectra.processes.signals import ASKING
from suspectra_server.server import make_server
from suspectra_server.session.ranking.freed_memory import reuse_memory
from suspectra_server.timing import THREAD_TURN_S
from suspectra_server.transport import sockets, wire
from suspectra_server.transport.access import make_token, token_file
from suspectra_server.transport.logs import BackgroundHandler


def serve(
    *,
    tcp: tuple[str, int] | None = None,
    ws: tuple[str, int] | None = None,
    unix: Path | None = None,
    trusted: bool = False,
    token_path: Path | None = None,
) -> int:
    """Serve one client over standard input and output, or over a socket, until the client is gone."""

    async def run() -> int:
        server = make_server(trusting=trusted or not (tcp or ws or unix))
        _end_when_asked(server.protocol)
        try:
            if unix:
                return await sockets.serve_unix(server.protocol, unix, _print_status)
            if streams:
                return await wire.serve_stdio(server.protocol, *streams)
            return await with_token(server.protocol)
        finally:
            await server.save()
            server.stop()
            server.join()

    async def with_token(protocol: wire.Protocol) -> int:
        token = make_token()
        with token_file(token_path, token) if token_path else nullcontext():
            if token_path:
                _print_status(f"the token is in {token_path}")
            elif tcp:
                _print_status(f"the token is {token}")
            if tcp:
                return await sockets.serve_tcp(protocol, *tcp, token, _print_status)
            assert ws, "the other ways to serve were tried"
            return await sockets.serve_websocket(protocol, *ws, token, _print_status, secret=token_path is not None)

    log_output = BackgroundHandler(2)
    logging.basicConfig(level=logging.WARNING, format="%(name)s: %(message)s", handlers=[log_output])
    # these libraries log tracebacks for mistakes of a client, and for watches that end while they are being read
    for name in ("pygls", "asyncio", "watchdog"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    streams = None if tcp or ws or unix else wire.guarded_streams()
    sys.setswitchinterval(THREAD_TURN_S)
    # imported modules stay, and evidence is many objects that stay: so garbage is collected rarely
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)
    gc.enable()
    try:
        return asyncio.run(run())
    except KeyboardInterrupt:
        return 130
    finally:
        log_output.finish()


def _end_when_asked(protocol: wire.Protocol) -> None:
    """End in good order when another process asks for it, so that no token and no socket stays behind."""

    def end(number: int) -> None:
        if not protocol.finished.done():
            protocol.finished.set_result(128 + number)

    for number in ASKING:
        with suppress(NotImplementedError):  # the loop of Windows
            asyncio.get_running_loop().add_signal_handler(number, end, number)


def main(arguments: list[str] | None = None) -> int:
    """Run the server as a program."""
    parser = argparse.ArgumentParser(prog="suspectra server", description="Serve an editor by LSP.")
    ways = parser.add_mutually_exclusive_group()
    ways.add_argument("--stdio", action="store_true", help="over standard input and output (the default)")
    ways.add_argument("--tcp", type=address, metavar="HOST:PORT", help="wait for the editor on a TCP port")
    ways.add_argument("--ws", type=address, metavar="HOST:PORT", help="wait for the editor on a WebSocket")
    ways.add_argument("--unix", type=Path, metavar="PATH", help="wait for the editor on a Unix socket")
    parser.add_argument("--trusted", action="store_true", help="let the client of a socket run tests")
    parser.add_argument(
        "--token-file",
        type=Path,
        metavar="FILE",
        help="keep the token of --tcp or --ws in a file instead of printing it",
    )
    given = parser.parse_args(arguments)
    if given.token_file and not (given.tcp or given.ws):
        parser.error("--token-file goes with --tcp or --ws")
    if given.trusted and not (given.tcp or given.ws or given.unix):
        parser.error("--trusted goes with --tcp, --ws or --unix")
    reuse_memory()
    ignore_compiler_warnings()
    try:
        return serve(tcp=given.tcp, ws=given.ws, unix=given.unix, trusted=given.trusted, token_path=given.token_file)
    except UsageError as error:
        _print_status(str(error))
        return 2
    except OSError as error:
        _print_status(f"can't listen: {error}")
        return 2


def address(text: str) -> tuple[str, int]:
    """A host and a port from ``HOST:PORT``, ``:PORT`` or ``PORT``; without a host, this machine alone.

    Raises ValueError when it has no port.
    """
    host, _, port = text.rpartition(":")
    if not port.isascii() or not port.isdigit() or int(port) > 65535:
        raise ValueError(f"{text!r} has no port")
    return host.strip("[]") or "127.0.0.1", int(port)


def _print_status(text: str) -> None:
    print(f"suspectra server: {text}", file=sys.stderr, flush=True)

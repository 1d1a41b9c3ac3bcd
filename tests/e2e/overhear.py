"""Stands where an editor starts the server: keeps the first thing the editor says, and then is the server.

``python overhear.py FILE -m suspectra_server`` writes the `initialize` message to FILE. Called with anything else, it
is the interpreter, since editors ask an interpreter a few things before they start a server with it.
"""

from __future__ import annotations

import os
import subprocess
import sys


def first_message() -> bytes:
    """One message with its header, and not a byte more."""
    received = b""
    while b"\r\n\r\n" not in received:
        received += os.read(0, 1)
    length = int(received.lower().split(b"content-length:")[1].split(b"\r\n")[0])
    while (missing := len(received.partition(b"\r\n\r\n")[2]) - length) < 0:
        received += os.read(0, -missing)
    return received


def main(file: str, *arguments: str) -> int:
    """Be the server, or the interpreter."""
    program = [sys.executable, *arguments]
    if "suspectra_server" not in arguments:
        os.execv(sys.executable, program)
    received = first_message()
    with open(file, "wb") as kept:
        kept.write(received.partition(b"\r\n\r\n")[2])
    server = subprocess.Popen(program, stdin=subprocess.PIPE)
    try:
        while received:
            server.stdin.write(received)
            server.stdin.flush()
            received = os.read(0, 2**16)
        server.stdin.close()
    except BrokenPipeError:
        pass
    return server.wait()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

"""Who may connect to a server that listens on a socket.

Every process of every user of the machine can connect to a port, and so can every page in a browser. So a client must
know a token that is new for each start, and browsers are refused by the headers that they always send. The token is in
`initializationOptions`, which every LSP client can set; a WebSocket client gives it in the address, so that nothing
else is read before.
"""

from __future__ import annotations

import hmac
import ipaddress
import os
import re
import secrets
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from suspectra.base.errors import Problem, UsageError
from suspectra.base.operating_system import FILE_OWNERS, require
from suspectra_recorder.complete_file import complete_file

_ENTROPY = 32  # bytes
# of a header; nothing else may be in it, such as a user's name before it
_HOST = re.compile(r"(?:\[(?P<address>[0-9a-fA-F:.]+)\]|(?P<name>[0-9a-zA-Z._-]+))(?::[0-9]{1,5})?", re.ASCII)


def make_token() -> str:
    """A new token, of characters that need no escaping in URLs."""
    return secrets.token_urlsafe(_ENTROPY)


def admits(token: str, given: object) -> bool:
    """Whether a client gave the token; compared in constant time."""
    if not isinstance(given, str):
        return False
    return hmac.compare_digest(given.encode("utf-8", "surrogatepass"), token.encode())


def token_of_request(target: str, authorization: Sequence[str]) -> str | None:
    """The token of an HTTP request: ``?token=`` in its target, or ``Authorization: Bearer``."""
    for value in authorization:
        scheme, _, token = value.partition(" ")
        if scheme.lower() == "bearer":
            return token.strip()
    with suppress(ValueError):
        return next(iter(parse_qs(urlsplit(target).query, max_num_fields=10).get("token", ())), None)
    return None


def why_foreign(origins: Sequence[str], hosts: Sequence[str], own: Sequence[str]) -> str | None:
    """Why a request can't come from a program that its user started, None if it may."""
    if origins:
        return "it comes from a page in a browser (it has the header Origin)"
    if len(hosts) != 1:
        return "it does not have exactly one header Host"
    if (host := _HOST.fullmatch(hosts[0])) is not None:
        name = (host["address"] or host["name"]).lower().removesuffix(".")
        known = [_address(one) for one in own if not _is_any(one)]  # 0.0.0.0 is an address to listen on, not to call
        if name == "localhost" or _address(name) in known or _is_loopback(name):
            return None
    return "its header Host names another machine"


def _address(name: str) -> str:
    """One spelling for each address; names in lower case."""
    try:
        return str(ipaddress.ip_address(name.partition("%")[0]))
    except ValueError:
        return name.lower()


def _is_any(name: str) -> bool:
    """Whether it stands for all addresses of this machine."""
    try:
        return ipaddress.ip_address(name).is_unspecified
    except ValueError:
        return not name


def warning_of(hosts: Sequence[str]) -> str:
    """What to say of a server that listens on some addresses; empty if only this machine reaches them."""
    if all(_is_loopback(host.partition("%")[0]) for host in hosts):
        return ""
    return (
        "warning: other machines can reach this address, and what is sent, the token included, is not encrypted."
        " Fix: listen on 127.0.0.1 or on a Unix socket, and let others come through SSH"
    )


def _is_loopback(name: str) -> bool:
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


@contextmanager
def token_file(path: Path, token: str) -> Iterator[None]:
    """Keep a token in a file that its owner alone can read, for as long as the server runs.

    An existing file is replaced; of a link, the link itself.

    Raises UsageError when the file can't be written, or could be read by others.
    """
    require(FILE_OWNERS, "--token-file", "leave it out: the token is printed then")
    try:
        with complete_file(path, 0o600) as stream:
            stream.write(f"{token}\n".encode("ascii"))
        written = os.lstat(path)
    except OSError as error:
        cause = f"the token can't be written: {error.strerror or error}"
        raise UsageError(Problem(str(path), "", cause, "name a file in a folder of yours")) from error
    try:
        yield
    finally:
        remove_own(path, written)


def remove_own(path: Path, made: os.stat_result) -> None:
    """Remove a file, unless it was replaced by another since."""
    with suppress(OSError):
        if os.path.samestat(os.lstat(path), made):
            os.unlink(path)


def require_private(folder: Path) -> None:
    """Check that nobody else can replace files in a folder.

    Raises UsageError when others may write to it.
    """
    state = os.stat(folder)
    others = state.st_mode & (stat.S_IWGRP | stat.S_IWOTH) and not state.st_mode & stat.S_ISVTX
    if others or state.st_uid not in (0, os.getuid()):
        cause = "other users may replace files in this folder"
        raise UsageError(Problem(str(folder), "", cause, "name a folder that only you can write to"))

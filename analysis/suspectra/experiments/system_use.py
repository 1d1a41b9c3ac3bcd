"""What a module does to the world outside of its process: files, programs and connections."""

from __future__ import annotations

import ast
from collections.abc import Iterator

# fmt: off
_HARMLESS = {
    "os": frozenset({
        "path", "sep", "altsep", "pathsep", "linesep", "curdir", "pardir", "extsep", "devnull", "name", "environ",
        "environb", "getenv", "getenvb", "fspath", "fsencode", "fsdecode", "PathLike", "DirEntry", "getcwd", "getcwdb",
        "getpid", "getppid", "cpu_count", "listdir", "scandir", "walk", "fwalk", "stat", "lstat", "stat_result",
        "access", "F_OK", "R_OK", "W_OK", "X_OK", "urandom", "strerror", "error", "times", "uname", "isatty",
        "get_terminal_size", "terminal_size", "get_exec_path", "readlink",
    }),
    "shutil": frozenset({"get_terminal_size", "which", "disk_usage", "Error", "SameFileError"}),
}
"""What only reads, or changes nothing but this process."""

_CONNECTED = (
    "subprocess", "socket", "socketserver", "ssl", "pty", "ftplib", "smtplib", "imaplib", "poplib", "http.client",
    "http.server", "urllib.request", "xmlrpc", "requests", "httpx", "aiohttp", "urllib3", "paramiko",
)
"""Modules that are there for programs and connections."""
# fmt: on


def system_use(source: bytes) -> str:
    r"""Find what a module uses of ``os``, ``shutil``, ``subprocess`` or sockets that may do harm.

    Code that gets wrong values may delete, overwrite or send. What only reads does not count, such as ``os.path``.

    Parameters
    ----------
    source : bytes
        The source of the module.

    Returns
    -------
    str
        The first use in the source, such as ``os.remove``; empty for none, and for what is no Python.

    Examples
    --------
    >>> system_use(b"import os\nos.remove('all')")
    'os.remove'
    >>> system_use(b"from os import path, environ\nimport shutil as s\ns.which(environ['EDITOR'])")
    ''
    >>> system_use(b"import urllib.request")
    'urllib.request'
    """
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ""
    return next(_uses(tree), "")


def _uses(tree: ast.Module) -> Iterator[str]:
    names: dict[str, str] = {}  # what os and shutil are called in this module
    nodes = list(ast.walk(tree))
    for node in nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                top = alias.name.partition(".")[0]
                if top in _HARMLESS:
                    names[alias.asname or top] = alias.name if alias.asname else top
                elif _is_connected(alias.name):
                    yield alias.name
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                if node.module in _HARMLESS and alias.name not in _HARMLESS[node.module]:
                    yield f"{node.module}.{alias.name}"
                elif _is_connected(node.module):
                    yield node.module
                elif _is_connected(f"{node.module}.{alias.name}"):
                    yield f"{node.module}.{alias.name}"
    attributes: dict[ast.AST, str] = {node.value: node.attr for node in nodes if isinstance(node, ast.Attribute)}
    for node in nodes:
        module = names.get(node.id, "") if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) else ""
        if module in _HARMLESS and attributes.get(node, "") not in _HARMLESS[module]:
            yield f"{module}.{attributes[node]}" if node in attributes else module


def _is_connected(module: str) -> bool:
    return any(module == one or module.startswith(f"{one}.") for one in _CONNECTED)

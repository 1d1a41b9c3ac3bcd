"""What a module does to the world outside of its process: files, programs and connections."""

from __future__ import annotations

import ast
import re
from collections.abc import Container, Iterator, Mapping, Sequence

from suspectra_recorder.instrumentation.source import parse

# fmt: off
_HARMLESS = {
    "os": frozenset({
        "path", "sep", "altsep", "pathsep", "linesep", "curdir", "pardir", "extsep", "devnull", "name", "environ",
        "environb", "getenv", "getenvb", "fspath", "fsencode", "fsdecode", "PathLike", "DirEntry", "getcwd", "getcwdb",
        "getpid", "getppid", "cpu_count", "listdir", "scandir", "walk", "fwalk", "stat", "lstat", "fstat",
        "stat_result", "access", "urandom", "strerror", "error", "times", "uname", "isatty",
        "get_terminal_size", "terminal_size", "get_exec_path", "readlink", "getuid", "geteuid", "getgid", "getegid",
        "getlogin", "getloadavg", "statvfs", "fsync", "supports_dir_fd", "supports_fd", "supports_follow_symlinks",
    }),
    "shutil": frozenset({"get_terminal_size", "which", "disk_usage", "Error", "SameFileError"}),
    "socket": frozenset({
        "gethostname", "getfqdn", "error", "timeout", "gaierror", "herror", "has_ipv6", "inet_aton", "inet_ntoa",
        "inet_pton", "inet_ntop", "ntohl", "ntohs", "htonl", "htons", "AddressFamily", "SocketKind",
    }),
    "ssl": frozenset({"SSLError", "SSLZeroReturnError", "SSLWantReadError", "SSLWantWriteError", "CertificateError"}),
    "subprocess": frozenset({
        "list2cmdline", "CalledProcessError", "CompletedProcess", "SubprocessError", "TimeoutExpired",
    }),
    "sqlite3": frozenset({
        "Row", "Binary", "Error", "Warning", "DatabaseError", "IntegrityError", "OperationalError", "ProgrammingError",
        "InterfaceError", "sqlite_version", "sqlite_version_info", "register_adapter", "register_converter",
        "PrepareProtocol", "complete_statement",
    }),
}
"""What only reads, or changes nothing but this process; constants such as ``os.SEEK_END`` besides."""

_OF_PROPERTIES = frozenset({"getter", "setter", "deleter"})
"""What ``os.setter`` says of ``os``: here it is a property of a class, and no module."""

_CONNECTED = (
    "multiprocessing", "concurrent.futures.ProcessPoolExecutor", "concurrent.futures.process",
    "asyncio.create_subprocess_exec", "asyncio.create_subprocess_shell", "asyncio.subprocess",
    "asyncio.open_connection", "asyncio.start_server", "socketserver", "pty",
    "ftplib", "smtplib", "imaplib", "poplib", "nntplib",
    "telnetlib", "http.client", "http.server", "urllib.request", "xmlrpc", "webbrowser", "dbm", "shelve",
    "sqlite3.dbapi2", "ctypes", "requests", "httpx", "aiohttp", "urllib3", "paramiko",
)
"""Modules, and names of modules, that are there for programs, connections and databases."""

_WRITING = frozenset({
    "write_text", "write_bytes", "unlink", "rmdir", "mkdir", "symlink_to", "hardlink_to", "extractall",
})
"""Methods of paths and archives that nothing else has."""

_WRITING_PATHS = frozenset({"touch", "chmod", "lchmod", "rename", "replace"})
"""Methods of paths whose names others have too: they count with one argument at most, if the module imports pathlib."""
# fmt: on

_OPENERS = frozenset({"open", "FileIO", "ZipFile", "TarFile", "GzipFile", "BZ2File", "LZMAFile"})
"""What opens files, in the modules of the standard library."""

_OPENING = re.compile(r"(?=[^:|]*[wax+])[rwaxbtU+]{1,4}(?:[:|]\w*)?")
"""Modes that write."""


def system_use(source: bytes) -> str:
    """Find what a module uses of files, programs, connections or databases that may do harm.

    Code that gets wrong values may delete, overwrite or send. What only reads does not count, such as ``os.path`` and
    files that are opened to be read; nor does ``tempfile``, whose files are new ones.

    The first use in the source, such as `os.remove`; empty for none, and for what is no Python.
    """
    try:
        tree = parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ""
    return next(_uses(tree), "")


def _uses(tree: ast.Module) -> Iterator[str]:
    names: dict[str, str] = {}  # what the modules of `_HARMLESS` are called in this one
    modules: dict[str, str] = {}  # and what all modules are
    nodes = list(ast.walk(tree))
    for node in nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                top = alias.name.partition(".")[0]
                modules[alias.asname or top] = alias.name if alias.asname else top
                if _is_connected(alias.name):
                    yield alias.name
                elif top in _HARMLESS:
                    names[alias.asname or top] = alias.name if alias.asname else top
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                if node.module in _HARMLESS and not _is_harmless(node.module, alias.name):
                    yield f"{node.module}.{alias.name}"
                elif _is_connected(node.module):
                    yield node.module
                elif _is_connected(f"{node.module}.{alias.name}"):
                    yield f"{node.module}.{alias.name}"
    attributes: dict[ast.AST, str] = {node.value: node.attr for node in nodes if isinstance(node, ast.Attribute)}
    for node in nodes:
        module = names.get(node.id, "") if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) else ""
        if module in _HARMLESS and not _is_harmless(module, attributes.get(node, "")):
            yield f"{module}.{attributes[node]}" if node in attributes else module
    for node in nodes:
        if isinstance(node, ast.Attribute) and _is_connected(dotted := _dotted(node, modules)):
            yield dotted
    imports_paths = any(isinstance(node, ast.Import | ast.ImportFrom) and _imports(node, "pathlib") for node in nodes)
    methods = _WRITING | _WRITING_PATHS if imports_paths else _WRITING.difference(_own_methods(nodes))
    for node in nodes:
        if isinstance(node, ast.Call):
            yield from _writes(node, modules, methods)


def _is_harmless(module: str, name: str) -> bool:
    return name.isupper() or name in _HARMLESS[module] or name in _OF_PROPERTIES


def _dotted(node: ast.expr, modules: Mapping[str, str]) -> str:
    """The full name of an attribute of a module; empty for other expressions."""
    if isinstance(node, ast.Name):
        return modules.get(node.id, "")
    above = _dotted(node.value, modules) if isinstance(node, ast.Attribute) else ""
    return f"{above}.{node.attr}" if above and isinstance(node, ast.Attribute) else ""


def _imports(node: ast.Import | ast.ImportFrom, module: str) -> bool:
    if isinstance(node, ast.ImportFrom):
        return node.module == module
    return any(alias.name == module for alias in node.names)


def _own_methods(nodes: Sequence[ast.AST]) -> Iterator[str]:
    """Functions of the module itself, such as a method of a linked list, that don't hand on to another of that name."""
    for node in nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            inside = (one for one in ast.walk(node) if isinstance(one, ast.Attribute))
            if all(one.attr != node.name for one in inside):
                yield node.name


def _writes(call: ast.Call, modules: Mapping[str, str], methods: Container[str]) -> Iterator[str]:
    """What a call writes, by the name of its function: which object it belongs to is not known."""
    function = call.func
    name = (
        function.attr if isinstance(function, ast.Attribute) else function.id if isinstance(function, ast.Name) else ""
    )
    # other things than files have a method called open, too; it counts only with a mode that writes
    of_object = isinstance(function, ast.Attribute) and not _dotted(function.value, modules)
    if isinstance(function, ast.Attribute) and (
        name in methods and (name in _WRITING or (len(call.args) < 2 and not _named(call)))
    ):
        yield f".{name}()"
    elif name in _OPENERS and (mode := _mode(call, of_object)):
        yield f"{name}(…, {mode})"


def _named(call: ast.Call) -> Sequence[str]:
    """The keywords that no method of a path has."""
    return [keyword.arg or "" for keyword in call.keywords if keyword.arg not in ("target", "mode", "exist_ok")]


def _mode(call: ast.Call, of_object: bool) -> str:
    """The mode with which a file is opened, if it writes; paths have it first, all others behind the file."""
    given = [keyword.value for keyword in call.keywords if keyword.arg == "mode"]
    for mode in [*given, *call.args[0 if of_object else 1 : 2]]:
        if isinstance(mode, ast.Constant) and isinstance(mode.value, str) and _OPENING.fullmatch(mode.value):
            return repr(mode.value)
    unknown = [*given, *([] if of_object else call.args[1:2])]
    return "…" if any(not isinstance(mode, ast.Constant) for mode in unknown) else ""


def _is_connected(module: str) -> bool:
    return any(module == one or module.startswith(f"{one}.") for one in _CONNECTED)

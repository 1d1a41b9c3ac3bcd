"""Collection errors: broken modules, refused classes, mistakes in pytest's configuration.

Standard library only: this runs in the process of the tests, in the launcher, and in the readers of recordings.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, replace
from types import TracebackType
from typing import Any

from suspectra_recorder.errors import Problem
from suspectra_recorder.instrumentation import library_references
from suspectra_recorder.instrumentation.library_references import hashlib, os, sys
from suspectra_recorder.instrumentation.standard_library import StandardLibrary
from suspectra_recorder.log.colours import without_colours
from suspectra_recorder.log.frames import inside
from suspectra_recorder.log.missing_packages import is_installable, missing_module, missing_package, own_module

__builtins__ = library_references.builtins

CUT_OFF = "Crash"
"""Takes the place of an exception's name where a run did not end by itself."""
MAX_NAME, MAX_MESSAGE = 500, 1000
_CURE = "correct it and run the tests again"
_FROM_ROOT = "run `suspectra record -- python -m pytest`, or name it in the setting testCommand"
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]+")
# where pytest's own messages name a place: "FILE:LINE: …", "FILE: … (at line LINE, column 1)", "FILE: …"
_PLACE = re.compile(r"^(?:ERROR: )?(?P<file>.+?\.(?:ini|toml|cfg|py)):(?:(?P<line>\d+):)? ", re.M)
_RAISED = re.compile(r"^(?:E +)?(?P<type>[^\W\d][\w.]*(?:Error|Exception|Exit)): (?P<message>.*)$", re.M)
_FRAME = re.compile(r'^[E ]*File "(?P<path>.+?)", line (?P<line>\d+)|^(?P<short>\S.*?\.py):(?P<number>\d+): ', re.M)
_PLAIN = re.compile(r"[\w./\\:+-]+")  # paths that a shell takes as they are
_AT_LINE = re.compile(r"\(at line (\d+)")


@dataclass(frozen=True)
class CollectionError:
    """One thing that pytest could not collect."""

    collector: str  # node id of the file, folder or class; empty if the whole run failed
    exception: str  # the name of the exception's type
    message: str  # one line
    # the file of the error: of the innermost frame in the workspace, relative to it; empty if there is none
    file: str = ""
    line: int = 0  # counted from 1, 0 without a file
    digest: str = ""  # SHA-256 (hexadecimal) of the file at that time
    # the file or folder that can't be collected, relative to the workspace; empty if it is outside or unknown
    home: str = ""
    time: int = 0  # nanoseconds since the epoch
    # the environment that the tests ran in: its path, relative to the workspace if it is inside; empty if unknown
    environment: str = ""
    # the module that can't be imported, relative to the workspace, where it is one of the project; else empty
    own: str = ""
    installable: bool = False  # whether pip can install the project

    def as_dict(self) -> dict[str, object]:
        """Return the fields by name, as in a recording."""
        return asdict(self)

    @classmethod
    def from_dict(cls, head: dict[str, Any]) -> CollectionError:
        """Make an error from a recording, with all texts limited to one line of bounded length.

        Raises LookupError, TypeError, ValueError when it has another form.
        """
        file, line = str(head["file"]), int(head["line"])
        if file:
            inside(file)
        return cls(
            one_line(str(head["collector"]), MAX_NAME),
            one_line(str(head["exception"]), MAX_NAME),
            one_line(str(head["message"])),
            file,
            max(line, 1) if file else 0,
            str(head["digest"]),
            inside(head["home"]) if head["home"] else "",
            int(head["time"]),
            one_line(str(head.get("environment", "")), MAX_NAME),
            inside(head["own"]) if head.get("own") else "",
            bool(head.get("installable")),
        )

    @property
    def is_cut_off(self) -> bool:
        """Whether the run did not end by itself, so that tests did not run."""
        return self.exception == CUT_OFF

    @property
    def what(self) -> str:
        """The exception and its message."""
        if self.is_cut_off:
            return self.message
        return f"{self.exception}: {self.message}" if self.message else self.exception

    @property
    def place(self) -> str:
        """File and line, empty if they are not known."""
        return f"{self.file}:{self.line}" if self.file else ""

    @property
    def cure(self) -> str:
        """What the user can do."""
        if self.is_cut_off:
            return "run the tests again"
        if self.own:
            return f"it is {self.own} of this project: {self._own_cure}"
        if not self.missing_package:
            return _CURE
        install = f"{self._interpreter} -m pip install {self.missing_package}"
        otherwise = ", or correct the import" if self.missing_module else ""
        return f"install {self.missing_package} where the tests run: `{install}`{otherwise}"

    @property
    def _own_cure(self) -> str:
        """How tests find a module of the project itself; the package index may have another one of its name."""
        if not self.own.startswith("src/"):
            return _FROM_ROOT
        if self.installable:
            return f"install the project where the tests run: `{self._interpreter} -m pip install -e .`"
        return "add `pythonpath = src` to the settings of pytest"

    @property
    def missing_module(self) -> str:
        """The module that can't be imported as it is not there; empty for other errors."""
        return missing_module(self.exception, self.message)

    @property
    def missing_package(self) -> str:
        """What pip is to install, a plugin of pytest for example; empty where that is not known."""
        return missing_package(self.exception, self.message)

    @property
    def _interpreter(self) -> str:
        """The Python in whose environment the tests ran, as a shell takes it; `python` where it is not known."""
        path = self.environment or "python"
        if not os.path.basename(path).startswith("python"):
            path += "\\Scripts\\python" if os.name == "nt" else "/bin/python"
        return path if _PLAIN.fullmatch(path) else f'"{path}"'

    def __str__(self) -> str:
        place = f"{self.place}: " if self.place else ""
        where = f" (in {self.collector})" if self.collector and self.collector != self.file else ""
        return f"{place}{self.what}{where}"

    def problem(self) -> Problem:
        """Convert the error to a problem of the evidence."""
        what = self.what.rstrip(".")
        if self.is_cut_off:
            return Problem(self.file, _line(self.line), what, self.cure)
        if not self.collector:
            return Problem(self.file, _line(self.line), f"the test run failed: {what}", self.cure)
        subject = "it" if self.collector == self.file else self.collector
        cause = f"{subject} could not be collected: {what}"
        return Problem(self.file or self.collector, _line(self.line), cause, self.cure)


def cut_off(tests: int, *, where: str = "", how: str = "", time: int = 0) -> CollectionError:
    """Make the error of a run in which some tests did not run; their number may be unknown, as 0."""
    left = "" if not tests else f": {tests:,} test{' was' if tests == 1 else 's were'} not run"
    return CollectionError("", CUT_OFF, f"the run was cut off{where}{f' ({how})' if how else ''}{left}", time=time)


def _line(line: int) -> str:
    return f"line {line}" if line else ""


def summary(errors: Iterable[CollectionError]) -> str:
    """Summarize errors in one sentence: their number, and the first one.

    Without a full stop; empty without errors.
    """
    errors = list(errors)
    if not errors:
        return ""
    whole = next((error for error in errors if not error.collector), None)
    if whole is not None and whole.is_cut_off:
        return str(whole)
    if whole is not None:
        return f"the test run failed: {whole}"
    if len(errors) == 1:
        place = f"{errors[0].place}: " if errors[0].place else ""
        return f"{errors[0].collector} could not be collected: {place}{errors[0].what}"
    return f"{len(errors)} test files or classes could not be collected, the first: {errors[0]}"


def is_below(name: str, collector: str) -> bool:
    """Whether a test is one of those of a file, folder or class, by node ids; an empty one stands for all."""
    return not collector or name == collector or name.startswith((f"{collector}::", f"{collector}/"))


def one_line(text: str, longest: int = MAX_MESSAGE) -> str:
    """Make text safe to show: without control characters, on one line, of limited length."""
    # cut before the search, since the text may be huge and comes from anybody
    text = _CONTROL.sub(" ", without_colours(text[: 4 * longest])).strip()
    return text if len(text) <= longest else text[: longest - 1] + "…"


def describe(
    error: BaseException,  # the exception; if it has a cause, that is described instead
    workspace_name: Callable[[str], str | None],
    root: str,
    *,
    collector: str = "",  # node id of what could not be collected
    home: str | None = None,
) -> CollectionError:
    """Make the collection error of an exception."""
    error = cause_of(error)
    message = _message(error)
    place = _locate(error, workspace_name)
    found = _described(type(error).__qualname__, message, place, workspace_name, root, collector, home)
    return replace(found, environment=environment_of(sys.executable, root))


def environment_of(python: str, root: str) -> str:
    """The environment of an interpreter: its path, relative to the workspace if it is inside."""
    folder = os.path.dirname(os.path.dirname(python))
    path = folder if os.path.isfile(os.path.join(folder, "pyvenv.cfg")) else python
    inside_root = path.startswith(os.path.join(root, ""))
    return one_line(os.path.relpath(path, root).replace(os.sep, "/") if inside_root else path, MAX_NAME)


def describe_output(
    output: str, workspace_name: Callable[[str], str | None], root: str, python: str = ""
) -> CollectionError:
    """Make the collection error of what pytest printed before it ended: a usage error, or what a plugin raised.

    With the innermost place in the workspace, if it names one, and the environment of the interpreter that ran it.
    """
    found = _from_output(output, workspace_name, root)
    return replace(found, environment=environment_of(python, root)) if python else found


def _from_output(output: str, workspace_name: Callable[[str], str | None], root: str) -> CollectionError:
    if raised := [*_RAISED.finditer(output)]:
        frames = ((one["path"] or one["short"], one["line"] or one["number"]) for one in _FRAME.finditer(output))
        names = [(workspace_name(os.path.abspath(path)), int(line)) for path, line in frames if os.path.isfile(path)]
        place = next(((name, line) for name, line in reversed(names) if name is not None), None)
        return _described(raised[-1]["type"], raised[-1]["message"], place, workspace_name, root, "", None)
    return _described("UsageError", output, None, workspace_name, root, "", None)


def at_place(error: CollectionError, place: tuple[str, int] | None, root: str) -> CollectionError:
    """Give an error its place; it counts as long as there is such a file.

    The same error where there is no place.
    """
    if place is None:
        return error
    file, line = place
    return replace(error, file=file, line=line, digest=file_digest(os.path.join(root, file)), home=file)


def _described(
    exception: str,
    message: str,
    place: tuple[str, int] | None,
    workspace_name: Callable[[str], str | None],
    root: str,
    collector: str,
    home: str | None,
) -> CollectionError:
    name = workspace_name(home) if home else None
    if place is None and (place := _place_in(message, workspace_name)) is not None:
        # the place has a field of its own
        message = _PLACE.sub("", message, count=1)
    if place is None and name is not None and name.endswith(".py"):
        # better than nothing: the class that pytest refuses, say, or the first line
        place = name, _definition(os.path.join(root, name), [*collector.split("::")[1:], message])
    file, line = place or ("", 0)
    own = own_module(root, missing) if (missing := missing_module(exception, message)) else ""
    return CollectionError(
        one_line(collector, MAX_NAME),
        one_line(exception, MAX_NAME),
        one_line(_shortened(message)),
        file,
        line,
        file_digest(os.path.join(root, file)) if file else "",
        name or "",
        own=own,
        installable=bool(own) and is_installable(root),
    )


def cause_of(error: BaseException) -> BaseException:
    """The original exception inside pytest's wrappers."""
    for _ in range(20):
        inner = getattr(error, "cause", None) if type(error).__name__ == "ConftestImportFailure" else None
        if type(error).__name__ in ("CollectError", "PluginImportFailure"):
            inner = error.__cause__
        if type(inner).__name__ == "Skipped":  # the error is a skip where none is allowed
            break
        if not isinstance(inner, BaseException):
            break
        error = inner
    return error


def _message(error: BaseException) -> str:
    if isinstance(error, SyntaxError):
        return str(error.msg)
    try:
        return str(getattr(error, "msg", None) or error)
    except Exception:  # a defect of the exception's class
        return ""


def _shortened(message: str) -> str:
    """The line that says what is wrong; argparse prints the usage before it, pytest its settings after it."""
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    wrong = next((line.partition(": error: ")[2] for line in lines if ": error: " in line), None)
    if wrong or not lines:
        return wrong or ""
    return (" ".join(lines) if lines[0].endswith(":") else lines[0]).removeprefix("ERROR: ")


def _locate(error: BaseException, workspace_name: Callable[[str], str | None]) -> tuple[str, int] | None:
    if isinstance(error, SyntaxError) and error.filename and error.lineno:
        # a SyntaxError may name what is no file, such as `<string>`
        name = workspace_name(error.filename) if os.path.isfile(error.filename) else None
        if name is not None:
            return name, error.lineno
    return _innermost(error.__traceback__, workspace_name)


def _innermost(traceback: TracebackType | None, workspace_name: Callable[[str], str | None]) -> tuple[str, int] | None:
    """Return file and line of the innermost frame in the workspace's own code.

    The line is counted from 1; None if no frame is in the workspace.
    """
    found = None
    while traceback is not None:
        path = traceback.tb_frame.f_code.co_filename
        # an environment may be inside of the workspace
        if path.endswith(".py") and "site-packages" not in path and "dist-packages" not in path:
            name = workspace_name(path)
            if name is not None and os.path.isfile(path):
                found = name, max(traceback.tb_lineno or 1, 1)
        traceback = traceback.tb_next
    return found


def _place_in(message: str, workspace_name: Callable[[str], str | None]) -> tuple[str, int] | None:
    match = _PLACE.search(message)
    if match is None or not os.path.isfile(match["file"]):
        return None
    name = workspace_name(match["file"])
    line = match["line"] or next(iter(_AT_LINE.findall(message)), "1")
    return None if name is None else (name, max(int(line), 1))


def _definition(path: str, words: list[str]) -> int:
    """The line of the innermost class or function that a message names; 1 if it names none."""
    with StandardLibrary():
        from suspectra_recorder.instrumentation.source import parse  # seldom needed, and slow to import
    try:
        tree = parse(_content(path))
    except (OSError, SyntaxError, ValueError, RecursionError):
        return 1
    named = {name for word in words for name in re.findall(r"[^\W\d]\w*", word)}
    definitions = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    # in the order of levels, so that the last one is the innermost
    return next((n.lineno for n in reversed(list(ast.walk(tree))) if isinstance(n, definitions) and n.name in named), 1)


def file_digest(path: str) -> str:
    """The SHA-256 of a file, empty where it can't be read."""
    try:
        return hashlib.sha256(_content(path)).hexdigest()
    except OSError:
        return ""


def _content(path: str) -> bytes:
    with open(path, "rb") as stream:
        return stream.read()

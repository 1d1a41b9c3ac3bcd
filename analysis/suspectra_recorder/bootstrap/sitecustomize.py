"""Starts the recorder when Python starts: in the process that runs the tests, and in processes that tests start.

The folder of this file is on PYTHONPATH, so Python imports it before it adds the script's folder to the path. It also
runs another ``sitecustomize`` that it hides. The environment says what else to do:

- SUSPECTRA_RECORD: record the tests, before any module of the workspace is imported. It waits for pytest, which costs
other processes one comparison for each import; if the command line names pytest, it starts at once.
- SUSPECTRA_WORKSPACE: record every pytest that is started in this folder or below, as in a terminal of an editor. The
variables that SUSPECTRA_RECORD needs are then set in the process that runs pytest, and no other process is changed.
- SUSPECTRA_CHILD: let this process, which a test started, record itself once it loads a file of the workspace. It
removes itself from the path and wraps the loader of sources; in processes that load nothing from the workspace, that is
all.
"""

import os
import sys
from _frozen_importlib import module_from_spec  # which is there already, whatever the path says
from _frozen_importlib_external import PathFinder, SourceFileLoader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import CodeType, ModuleType
    from typing import Any

    from suspectra_recorder.instrumentation.standard_library import StandardLibrary

_PYTEST = "_pytest.assertion.rewrite"
_WORKER = "exec(eval(sys.stdin.readline()))"  # what pytest-xdist starts its workers with
_HERE = os.path.dirname(os.path.abspath(__file__))

started_with = frozenset(sys.modules)
"""The modules that lines in .pth files imported."""

customized_with: "frozenset[str]" = frozenset()
"""These, and the modules that the hidden ``sitecustomize`` imported."""


def _import_from(folders: "list[str]", name: str) -> None:
    """Import a module, if it exists, from folders that may not be on the path."""
    spec = PathFinder.find_spec(name, folders)
    if spec is not None and spec.loader is not None:
        sys.modules[name] = module = module_from_spec(spec)
        spec.loader.exec_module(module)


def _run_hidden() -> None:
    """Import the ``sitecustomize`` that would have been found without this one."""
    _import_from(_others_on_path(), "sitecustomize")


def _others_on_path() -> "list[str]":
    return [entry for entry in sys.path if os.path.abspath(entry) != _HERE]


def _standard_library() -> "StandardLibrary":
    """The context in which the recorder is imported. Only the recorder is found, no other package in its folder."""
    if "suspectra_recorder" not in sys.modules:
        _import_from([os.path.dirname(os.path.dirname(_HERE))], "suspectra_recorder")
    from suspectra_recorder.instrumentation.standard_library import StandardLibrary

    return StandardLibrary()


def _method(name: str) -> "tuple[Any, Callable[..., Any]]":
    """The class of loaders that defines a method, and the method."""
    cls = next(cls for cls in SourceFileLoader.__mro__ if name in vars(cls))
    return cls, getattr(cls, name)


def _as_part_of(method: "Any", function: "Any") -> None:
    """Hide a function from tracebacks, as Python hides the method that it replaces."""
    function.__code__ = function.__code__.replace(co_filename=method.__code__.co_filename)


# the process that runs the tests


def _script() -> str:
    return next((word for word in sys.orig_argv[1:] if not word.startswith("-")), "")


def _mentions(word: str) -> bool:
    """Whether the script that this interpreter runs contains a word."""
    try:
        with open(_script(), encoding="utf-8", errors="replace") as stream:
            return word in stream.read(1 << 20)
    except OSError:
        return False


def _runs(runner: str) -> bool:
    """Whether this is the process that runs the tests, not one that starts it, such as ``uv run``."""
    words = sys.orig_argv
    return any(words[i : i + 2] == ["-m", runner] for i in range(len(words)))


def _runs_pytest() -> bool:
    words = sys.orig_argv
    code = words[words.index("-c") + 1] if "-c" in words[:-1] else ""
    if code:
        return "pytest" in code or _WORKER in code
    script = _script()
    name = os.path.basename(script)
    return _runs("pytest") or name in ("pytest", "py.test") or (name.endswith(".py") and _mentions("pytest"))


def _start() -> None:
    """Instrument what is imported from now on; failures must not affect the program."""
    try:
        with _standard_library():
            from suspectra_recorder import early

            early.start(sys.modules.pop("suspectra_start"))
    except Exception as error:
        print(f"suspectra: the recording begins late: {type(error).__name__}: {error}", file=sys.stderr)


def _in_workspace() -> bool:
    """Whether the runs of this process are wanted: in the folder, of tests, and with a Python that can record."""
    if sys.version_info < (3, 10) or {"--collect-only", "--co"} & set(sys.orig_argv):
        return False
    try:
        root, folder = (os.path.join(os.path.realpath(p), "") for p in (os.environ["SUSPECTRA_WORKSPACE"], os.getcwd()))
    except OSError:
        return False  # the folder no longer exists
    return folder.startswith(root)


def _start_in_workspace() -> None:
    """Make this process one that `suspectra record` started, as far as pytest sees it."""
    try:
        with _standard_library():
            from suspectra_recorder.settings import record_here

            record_here(os.environ)
        sys.path.insert(0, _HERE)  # for pytest's option -p
    except Exception as error:
        print(f"suspectra: nothing is recorded: {type(error).__name__}: {error}", file=sys.stderr)
    else:
        _start()


def _wait(start: "Callable[[], None]" = _start) -> None:
    """Start recording as soon as pytest is imported, before it loads its plugins."""
    loader, execute = _method("exec_module")
    waiting = True

    def exec_module(self: "Any", module: "ModuleType") -> None:
        nonlocal waiting
        execute(self, module)
        if waiting and module.__name__ == _PYTEST:
            waiting = False
            if loader.exec_module is exec_module:
                loader.exec_module = execute
            if "SUSPECTRA_RECORD" in os.environ or "SUSPECTRA_WORKSPACE" in os.environ:
                start()

    _as_part_of(execute, exec_module)
    loader.exec_module = exec_module


def _record_unittest() -> None:
    import unittest  # noqa: F401 - the program's own, which the recorder is to watch

    with _standard_library():
        from suspectra_recorder import unittest_session

        unittest_session.start()


# a process that a test started


def _attach_later(place: str) -> None:
    """Record this process once it loads the first file of the workspace."""
    folder, _, number = place.rpartition(os.sep)
    try:
        with open(os.path.join(folder, "state"), "rb") as state:
            installed = state.read()[16:17] == b"\1"
    except OSError:
        return  # the run that started this process is over
    workspace = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(folder))), "")
    packages = f"{os.sep}site-packages{os.sep}"
    source_loader, original = _method("get_code")
    executor, execute = _method("exec_module")

    def wanted(path: str) -> bool:
        try:
            return os.path.realpath(path).startswith(workspace) and (installed or packages not in path)
        except OSError:
            return False  # a relative path in a folder that no longer exists

    def get_code(loader: "Any", fullname: str) -> "CodeType | None":
        if source_loader.get_code is get_code and wanted(loader.get_filename(fullname)):
            attach()
            attached: CodeType | None = loader.get_code(fullname)
            return attached
        code: CodeType | None = original(loader, fullname)
        return code

    def exec_module(loader: "Any", module: "ModuleType") -> None:
        path = getattr(loader, "path", None)
        if path and wanted(path):
            attach()
            executor.exec_module(loader, module)
        else:
            execute(loader, module)

    def attach(script: bool = False) -> None:
        source_loader.get_code = original
        executor.exec_module = execute
        try:
            with _standard_library():
                from suspectra_recorder import child

                child.attach(folder, int(number))
                if script:
                    child.record_script()
        except Exception:  # failures must not affect the program
            pass

    _as_part_of(original, get_code)
    source_loader.get_code = get_code
    _as_part_of(execute, exec_module)
    executor.exec_module = exec_module
    script = sys.argv[0] if sys.argv else ""
    if any("multiprocessing.spawn" in word or "multiprocessing.forkserver" in word for word in sys.orig_argv):
        attach()  # it will run its main script again
    elif script.endswith(".py") and wanted(script) and not sys.flags.inspect:
        attach(script=True)


if "SUSPECTRA_RECORD" not in os.environ:
    sys.path[:] = _others_on_path()
    if "SUSPECTRA_WORKSPACE" in os.environ and "SUSPECTRA_CHILD" not in os.environ and _in_workspace():
        sys.modules["suspectra_start"] = sys.modules[__name__]
        if _PYTEST in sys.modules or _runs_pytest():
            _start_in_workspace()
        else:
            _wait(_start_in_workspace)
    _run_hidden()
    customized_with = frozenset(sys.modules)
    if "SUSPECTRA_CHILD" in os.environ:
        _attach_later(os.environ["SUSPECTRA_CHILD"])
elif "suspectra_bootstrap" not in os.environ.get("PYTEST_PLUGINS", ""):
    _run_hidden()
    if _runs("unittest") or _mentions("unittest"):
        _record_unittest()
else:
    sys.modules["suspectra_start"] = sys.modules[__name__]
    if _PYTEST in sys.modules or _runs_pytest():
        _start()
    else:
        _wait()
    _run_hidden()
    customized_with = frozenset(sys.modules)

"""Starts what Suspectra does in a process when Python starts.

The folder of this file is on PYTHONPATH, so Python imports it before it adds the script's folder to the path. It also
runs another ``sitecustomize`` that it hides. The environment says what else to do:

- SUSPECTRA_RECORD: record the tests, before any module of the workspace is imported. It waits for pytest, which costs
other processes one comparison for each import. If the command line names pytest, it also starts with the first module
that may be of the workspace. The later it starts, the more of the standard library is there already, and is not loaded
a second time for the recorder.
- SUSPECTRA_WORKSPACE: record every pytest that is started in this folder or below, as in a terminal of an editor. The
variables that SUSPECTRA_RECORD needs are then set in the process that runs pytest, and no other process is changed.
- SUSPECTRA_CHILD: let this process, which a test started, record itself once it loads a file of the workspace. It
removes itself from the path and wraps the loader of sources; in processes that load nothing from the workspace, that is
all.
- SUSPECTRA_EXPERIMENTS: instrument what is imported once pytest is there, for altered runs. pytest's own options come
before any plugin, and may import the program: a warning filter names one of its classes.
"""

import os
import sys

from suspectra_loading import FOLDER, import_from, once_executed, standard_library

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_PYTEST = "_pytest.assertion.rewrite"
_PYTHON = os.path.join(os.path.dirname(os.__file__), "")  # the folder of its modules, and maybe of what is installed
_INSTALLED = tuple(f"{os.sep}{name}{os.sep}" for name in ("site-packages", "dist-packages"))
# the rest of the settings is read only with the recorder
_SOURCES_GIVEN = '"sources": []' not in os.environ.get("SUSPECTRA_RECORD", '"sources": []')
_WORKER = "exec(eval(sys.stdin.readline()))"  # what pytest-xdist starts its workers with

started_with = frozenset(sys.modules)
"""The modules that lines in .pth files imported."""

customized_with: "frozenset[str]" = frozenset()
"""These, and the modules that the hidden ``sitecustomize`` imported."""


def _run_hidden() -> None:
    """Import the ``sitecustomize`` that would have been found without this one."""
    import_from(_others_on_path(), "sitecustomize")


def _others_on_path() -> "list[str]":
    return [entry for entry in sys.path if os.path.abspath(entry) != FOLDER]


# the process that runs the tests


def _script() -> str:
    return next((word for word in sys.orig_argv[1:] if not word.startswith("-")), "")


def _mentions_pytest(script: str) -> bool:
    try:
        with open(script, encoding="utf-8", errors="replace") as stream:
            return "pytest" in stream.read(1 << 20)
    except OSError:
        return False


def _runs_pytest() -> bool:
    """Whether this is the process that runs the tests, not one that starts it, such as ``uv run``."""
    words = sys.orig_argv
    code = words[words.index("-c") + 1] if "-c" in words[:-1] else ""
    if code:
        return "pytest" in code or _WORKER in code
    script = _script()
    name = os.path.basename(script)
    as_module = any(words[i : i + 2] == ["-m", "pytest"] for i in range(len(words)))
    # a script may call `pytest.main`
    return as_module or name in ("pytest", "py.test") or (name.endswith(".py") and _mentions_pytest(script))


def _start() -> None:
    """Instrument what is imported from now on; failures must not affect the program."""
    try:
        with standard_library():
            from suspectra_recorder import early_start

            early_start.start(sys.modules.pop("suspectra_start"))
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
        with standard_library():
            from suspectra_recorder.settings import record_here

            record_here(os.environ)
        sys.path.insert(0, FOLDER)  # for pytest's option -p
    except Exception as error:
        print(f"suspectra: nothing is recorded: {type(error).__name__}: {error}", file=sys.stderr)
    else:
        _start()


def _start_with_pytest(start: "Callable[[], None]") -> None:
    """Start recording before pytest loads its plugins, unless the program changes its environment before that."""
    if _runs_pytest():
        once_executed(_PYTEST, start, _may_be_recorded)
    else:

        def there() -> None:
            # a program that starts tests may take the variables away before it imports pytest
            if "SUSPECTRA_RECORD" in os.environ or "SUSPECTRA_WORKSPACE" in os.environ:
                start()

        once_executed(_PYTEST, there)


def _may_be_recorded(path: str) -> bool:
    """Whether a file may be of the workspace: it is neither of Python nor installed, unless sources were given."""
    return _SOURCES_GIVEN or not (path.startswith(_PYTHON) or any(part in path for part in _INSTALLED))


def _runs_unittest() -> bool:
    with standard_library():
        from suspectra_recorder.unittest import commands

    return not commands.starts_interpreter(sys.orig_argv) and commands.runs_unittest(sys.orig_argv, "")


def _record_unittest() -> None:
    import unittest  # noqa: F401 - the program's own, which the recorder is to watch

    with standard_library():
        from suspectra_recorder.unittest import session

        session.start()


# a process that a test started


def _attach_later(place: str) -> None:
    """Record this process once it loads the first file of the workspace."""
    folder, _, number = place.rpartition(os.sep)
    try:
        with open(os.path.join(folder, "state"), "rb") as state:
            # `children/processes.py` has the format; the recorder itself is imported only if it is needed
            installed = state.read()[16:17] == b"\1"
    except OSError:
        return  # the run that started this process is over
    workspace = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(folder))), "")

    def wanted(path: str) -> bool:
        try:
            return os.path.realpath(path).startswith(workspace) and (installed or _INSTALLED[0] not in path)
        except OSError:
            return False  # a relative path in a folder that no longer exists

    def attach(script: bool = False) -> None:
        try:
            with standard_library():
                from suspectra_recorder.children import child

                child.attach(folder, int(number))
                if script:
                    child.record_script()
        except Exception:  # failures must not affect the program
            pass

    script = sys.argv[0] if sys.argv else ""
    if any("multiprocessing.spawn" in word or "multiprocessing.forkserver" in word for word in sys.orig_argv):
        attach()  # it will run its main script again
    # with -i Python goes on after the script, which the recorder ends with the process
    elif script.endswith(".py") and wanted(script) and not sys.flags.inspect:
        attach(script=True)
    else:
        once_executed("", attach, wanted)


# the process that runs tests altered


def _begin_experiments() -> None:
    try:
        with standard_library():
            from suspectra_recorder.experiments import machine
        machine.begin()
    except Exception as error:  # the plugin tries again
        print(f"suspectra: experiments begin late: {type(error).__name__}: {error}", file=sys.stderr)


if "SUSPECTRA_EXPERIMENTS" in os.environ:
    once_executed("pytest", _begin_experiments)
    _run_hidden()
elif "SUSPECTRA_RECORD" not in os.environ:
    # this folder has done its work, but where tests are recorded pytest needs it for its plugin
    sys.path[:] = _others_on_path()
    if "SUSPECTRA_WORKSPACE" in os.environ and "SUSPECTRA_CHILD" not in os.environ and _in_workspace():
        # the hidden `sitecustomize` takes the name of this module; the recorder asks it what was imported before
        sys.modules["suspectra_start"] = sys.modules[__name__]
        _start_with_pytest(_start_in_workspace)
    _run_hidden()
    customized_with = frozenset(sys.modules)
    if "SUSPECTRA_CHILD" in os.environ:
        _attach_later(os.environ["SUSPECTRA_CHILD"])
# only recordings of pytest name the plugin
elif "suspectra_bootstrap" not in os.environ.get("PYTEST_PLUGINS", ""):
    _run_hidden()
    if _runs_unittest():
        _record_unittest()
else:
    sys.modules["suspectra_start"] = sys.modules[__name__]
    _start_with_pytest(_start)
    _run_hidden()
    customized_with = frozenset(sys.modules)

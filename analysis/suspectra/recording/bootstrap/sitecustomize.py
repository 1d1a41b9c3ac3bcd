"""Starts the recorder in the process that runs the tests, before any module of the workspace is imported there.

The folder of this file is on PYTHONPATH when `suspectra record` starts a command, so Python imports it when it starts.
It lets the module of this name run that it hides. Then it waits for pytest, which costs other processes one comparison
for each module that they import; where the command line names pytest it does not wait.
"""

import os
import sys

_PYTEST = "_pytest.assertion.rewrite"
_WORKER = "exec(eval(sys.stdin.readline()))"  # what pytest-xdist starts its workers with

started_with = frozenset(sys.modules)
"""The modules that lines in .pth files imported."""

customized_with = frozenset()
"""Those that were there when the hidden ``sitecustomize`` had run, too."""


def _run_hidden():
    """Import the ``sitecustomize`` that would have been found without this one."""
    here = os.path.dirname(os.path.abspath(__file__))
    from importlib.machinery import PathFinder

    spec = PathFinder.find_spec("sitecustomize", [entry for entry in sys.path if os.path.abspath(entry) != here])
    if spec is not None and spec.loader is not None:
        from importlib.util import module_from_spec

        sys.modules["sitecustomize"] = module = module_from_spec(spec)
        spec.loader.exec_module(module)


def _load_package():
    """The recorder by its path: nothing else of where Suspectra lives becomes importable."""
    if "suspectra" not in sys.modules:
        from importlib.util import module_from_spec, spec_from_file_location

        package = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
        spec = spec_from_file_location(
            "suspectra", os.path.join(package, "__init__.py"), submodule_search_locations=[package]
        )
        sys.modules["suspectra"] = module = module_from_spec(spec)
        spec.loader.exec_module(module)


def _script():
    return next((word for word in sys.orig_argv[1:] if not word.startswith("-")), "")


def _mentions(word):
    """Whether the script that this interpreter runs speaks of something."""
    try:
        with open(_script(), encoding="utf-8", errors="replace") as stream:
            return word in stream.read(1 << 20)
    except OSError:
        return False


def _runs(runner):
    """Whether this is the process that runs the tests, not one that starts it, such as ``uv run``."""
    words = sys.orig_argv
    return any(words[i : i + 2] == ["-m", runner] for i in range(len(words)))


def _runs_pytest():
    words = sys.orig_argv
    code = words[words.index("-c") + 1] if "-c" in words[:-1] else ""
    if code:
        return "pytest" in code or _WORKER in code
    script = _script()
    name = os.path.basename(script)
    return _runs("pytest") or name in ("pytest", "py.test") or (name.endswith(".py") and _mentions("pytest"))


def _start():
    """Instrument what is imported from now on; whatever fails, the program must not hear of it."""
    try:
        _load_package()
        from suspectra.recording import early

        early.start(sys.modules.pop("suspectra_start"))
    except Exception as error:
        print(f"suspectra: the recording begins late: {type(error).__name__}: {error}", file=sys.stderr)


def _wait():
    """Do something as soon as pytest is there, and before it loads its plugins."""
    from importlib.machinery import SourceFileLoader

    loader = next(cls for cls in SourceFileLoader.__mro__ if "exec_module" in vars(cls))
    execute = loader.exec_module
    waiting = True

    def exec_module(self, module):
        nonlocal waiting
        execute(self, module)
        if waiting and module.__name__ == _PYTEST:
            waiting = False
            if loader.exec_module is exec_module:
                loader.exec_module = execute
            if "SUSPECTRA_RECORD" in os.environ:
                _start()

    # Python leaves its own frames out of tracebacks, and this one is in their place
    exec_module.__code__ = exec_module.__code__.replace(co_filename=execute.__code__.co_filename)
    loader.exec_module = exec_module


if "SUSPECTRA_RECORD" not in os.environ:
    _run_hidden()
elif "suspectra_recorder" not in os.environ.get("PYTEST_PLUGINS", ""):
    _run_hidden()
    if _runs("unittest") or _mentions("unittest"):
        _load_package()
        from suspectra.recording import unittest_session

        unittest_session.start()
else:
    sys.modules["suspectra_start"] = sys.modules[__name__]
    if _PYTEST in sys.modules or _runs_pytest():
        _start()
    else:
        _wait()
    _run_hidden()
    customized_with = frozenset(sys.modules)

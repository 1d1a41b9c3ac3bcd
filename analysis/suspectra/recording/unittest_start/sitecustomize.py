"""Records a Python process that runs tests of unittest.

The folder of this file is on PYTHONPATH when `suspectra record` starts such a command, so Python imports it when it
starts. It takes itself off the path, lets the module of this name run that it hides, and starts the recorder.
"""

import os
import sys


def _run_hidden():
    """Import the ``sitecustomize`` that would have been found without this one."""
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry) != here]
    from importlib.machinery import PathFinder

    spec = PathFinder.find_spec("sitecustomize", sys.path)
    if spec is not None and spec.loader is not None:
        from importlib.util import module_from_spec

        sys.modules["sitecustomize"] = module = module_from_spec(spec)
        spec.loader.exec_module(module)


def _load_package():
    """The recorder by its path: nothing else of where Suspectra lives becomes importable."""
    from importlib.util import module_from_spec, spec_from_file_location

    package = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    spec = spec_from_file_location(
        "suspectra", os.path.join(package, "__init__.py"), submodule_search_locations=[package]
    )
    sys.modules["suspectra"] = module = module_from_spec(spec)
    spec.loader.exec_module(module)


def _runs_unittest():
    """Whether this is the process that runs the tests, not one that starts it, such as ``uv run``."""
    words = sys.orig_argv
    if any(words[i : i + 2] == ["-m", "unittest"] for i in range(len(words))):
        return True
    script = next((word for word in words[1:] if not word.startswith("-")), "")
    try:
        with open(script, encoding="utf-8", errors="replace") as stream:
            return "unittest" in stream.read(1 << 20)
    except OSError:
        return False


_run_hidden()
if "SUSPECTRA_RECORD" in os.environ and _runs_unittest():
    if "suspectra" not in sys.modules:
        _load_package()
    from suspectra.recording import unittest_session

    unittest_session.start()

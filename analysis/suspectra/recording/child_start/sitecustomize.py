"""Lets a Python process that a recorded test starts record itself, once it loads a file of the workspace.

The folder of this file is on PYTHONPATH while tests are recorded, so Python imports it when it starts. It takes itself
off the path, lets the module of this name run that it hides, and puts one function in front of the loader of sources.
Processes that load nothing of the workspace do no more than that.
"""

import contextlib
import os
import sys

_VARIABLE = "SUSPECTRA_CHILD"


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


def _attach_later(place):
    """Record this process from the first file of the workspace on."""
    from importlib.machinery import SourceFileLoader

    folder, _, number = place.rpartition(os.sep)
    with open(os.path.join(folder, "state"), "rb") as state:
        installed = state.read()[16:17] == b"\1"
    workspace = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(folder))), "")
    packages = f"{os.sep}site-packages{os.sep}"
    source_loader = next(cls for cls in SourceFileLoader.__mro__ if "get_code" in vars(cls))
    original = source_loader.get_code
    executor = next(cls for cls in SourceFileLoader.__mro__ if "exec_module" in vars(cls))
    execute = executor.exec_module

    def wanted(path):
        try:
            return os.path.realpath(path).startswith(workspace) and (installed or packages not in path)
        except OSError:
            return False  # a relative path, in a folder that is gone

    def get_code(loader, fullname):
        if source_loader.get_code is get_code and wanted(loader.get_filename(fullname)):
            attach()
            return loader.get_code(fullname)
        return original(loader, fullname)

    def exec_module(loader, module):
        path = getattr(loader, "path", None)
        if path and wanted(path):
            attach()
            executor.exec_module(loader, module)
        else:
            execute(loader, module)

    def attach():
        source_loader.get_code = original
        executor.exec_module = execute
        with contextlib.suppress(Exception):  # whatever it is, the program must not hear of it
            _child_module().attach(folder, int(number))

    # named as what it extends is, so that Python leaves it out of tracebacks
    get_code.__code__ = get_code.__code__.replace(co_filename="<frozen importlib._bootstrap_external>")
    source_loader.get_code = get_code
    # Python leaves its own frames out of tracebacks, and this one is in their place
    exec_module.__code__ = exec_module.__code__.replace(co_filename=execute.__code__.co_filename)
    executor.exec_module = exec_module
    script = sys.argv[0] if sys.argv else ""
    if any("multiprocessing.spawn" in word or "multiprocessing.forkserver" in word for word in sys.orig_argv):
        attach()  # it is about to run the script it belongs to once more
    elif script.endswith(".py") and wanted(script) and not sys.flags.inspect:
        attach()
        _child_module().record_script()


def _child_module():
    """The child's part of the recorder, by its path: nothing else of where Suspectra lives becomes importable."""
    if "suspectra" not in sys.modules:
        from importlib.util import module_from_spec, spec_from_file_location

        package = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
        spec = spec_from_file_location(
            "suspectra", os.path.join(package, "__init__.py"), submodule_search_locations=[package]
        )
        sys.modules["suspectra"] = module = module_from_spec(spec)
        spec.loader.exec_module(module)
    from suspectra.recording import child

    return child


_run_hidden()
# SUSPECTRA_RECORD means a run of tests of its own, such as a worker of pytest-xdist
if _VARIABLE in os.environ and "SUSPECTRA_RECORD" not in os.environ:
    with contextlib.suppress(OSError):  # the run that started this process is over
        _attach_later(os.environ[_VARIABLE])

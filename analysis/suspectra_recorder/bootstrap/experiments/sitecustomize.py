"""Begins with experiments as soon as pytest is imported, before its options import the program.

A warning filter that names a class of the program, and a plugin that is part of it, are imported before any plugin that
an option names. Python imports this file when it starts, since its folder is on PYTHONPATH. It also runs another
``sitecustomize`` that it hides.
"""

import os
import sys
from _frozen_importlib import module_from_spec  # which is there already, whatever the path says
from _frozen_importlib_external import PathFinder, SourceFileLoader
from importlib import import_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

_HERE = os.path.dirname(os.path.abspath(__file__))


def _run_hidden() -> None:
    """Import the ``sitecustomize`` that would have been found without this one."""
    spec = PathFinder.find_spec("sitecustomize", [entry for entry in sys.path if os.path.abspath(entry) != _HERE])
    if spec is not None and spec.loader is not None:
        sys.modules["sitecustomize"] = module = module_from_spec(spec)
        spec.loader.exec_module(module)


def _begin() -> None:
    try:
        import_module("suspectra_machine").load().begin()
    except Exception as error:  # the plugin tries again
        print(f"suspectra: experiments begin late: {type(error).__name__}: {error}", file=sys.stderr)


def _wait() -> None:
    """Begin when pytest has been imported."""
    loader: Any = next(cls for cls in SourceFileLoader.__mro__ if "exec_module" in vars(cls))
    execute = loader.exec_module

    def exec_module(self: "Any", module: "ModuleType") -> None:
        execute(self, module)
        if module.__name__ == "pytest" and loader.exec_module is exec_module:
            loader.exec_module = execute
            _begin()

    # hidden from tracebacks, as Python hides the method that it replaces
    exec_module.__code__ = exec_module.__code__.replace(co_filename=execute.__code__.co_filename)
    loader.exec_module = exec_module


_run_hidden()
_begin() if "pytest" in sys.modules else _wait()

"""Loading of modules: from folders that are not on the path, and what happens when a module is loaded.

The interpreter that runs the tests need not have Suspectra installed. Only this folder is put on its path, so nothing
else of the environment that Suspectra lives in becomes visible to the tests.
"""

import os
import sys
from _frozen_importlib import module_from_spec  # which is there already, whatever the path says
from _frozen_importlib_external import PathFinder, SourceFileLoader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType
    from typing import Any

    from suspectra_recorder.instrumentation.standard_library import StandardLibrary

FOLDER = os.path.dirname(os.path.abspath(__file__))
"""The one that is put on the path."""


def import_from(folders: "list[str]", name: str) -> None:
    """Import a module, if it exists, from folders that may not be on the path."""
    spec = PathFinder.find_spec(name, folders)
    if spec is not None and spec.loader is not None:
        sys.modules[name] = module = module_from_spec(spec)
        spec.loader.exec_module(module)


def load_recorder() -> None:
    """Import the package of the recorder, unless it is there, and no other package in its folder."""
    if "suspectra_recorder" not in sys.modules:
        import_from([os.path.dirname(os.path.dirname(FOLDER))], "suspectra_recorder")


def standard_library() -> "StandardLibrary":
    """Return the context in which modules of the recorder are imported."""
    load_recorder()
    from suspectra_recorder.instrumentation.standard_library import StandardLibrary

    return StandardLibrary()


def loader_method(name: str) -> "tuple[Any, Callable[..., Any]]":
    """Find a method of the loader of sources."""
    cls = next(cls for cls in SourceFileLoader.__mro__ if name in vars(cls))
    return cls, getattr(cls, name)


def hide_like(method: "Any", function: "Any") -> None:
    """Hide a function from tracebacks, as Python hides the method that it replaces."""
    function.__code__ = function.__code__.replace(co_filename=method.__code__.co_filename)


def once_executed(name: str, do: "Callable[[], object]") -> None:
    """Call a function as soon as a module has been executed. Until then each import costs one comparison."""
    if name in sys.modules:
        do()
        return
    loader, execute = loader_method("exec_module")
    waiting = True

    def exec_module(self: "Any", module: "ModuleType") -> None:
        nonlocal waiting
        execute(self, module)
        if waiting and module.__name__ == name:
            waiting = False
            # another tool may have put its own over this one, and then keeps it
            if loader.exec_module is exec_module:
                loader.exec_module = execute
            do()

    hide_like(execute, exec_module)
    loader.exec_module = exec_module

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
    from types import CodeType, ModuleType
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


def once_executed(name: str, do: "Callable[[], object]", wanted: "Callable[[str], bool] | None" = None) -> None:
    """Call a function as soon as a module has been executed, or before the first file that is wanted is loaded.

    Until then each import costs one comparison.
    """
    if name in sys.modules:
        do()
        return
    (finder, find), (loader, execute) = loader_method("get_code"), loader_method("exec_module")
    waiting = True

    def get_code(self: "Any", fullname: str) -> "CodeType | None":
        found = begun_before(self.get_filename(fullname))
        code: CodeType | None = self.get_code(fullname) if found else find(self, fullname)
        return code

    def exec_module(self: "Any", module: "ModuleType") -> None:
        if begun_before(getattr(self, "path", None)):
            loader.exec_module(self, module)
            return
        execute(self, module)
        if waiting and module.__name__ == name:
            begin()

    def begun_before(path: "str | None") -> bool:
        if wanted is None or not waiting or not path or not wanted(path):
            return False
        begin()
        return True

    def begin() -> None:
        nonlocal waiting
        waiting = False
        # another tool may have put its own over these, and then keeps them
        if finder.get_code is get_code:
            finder.get_code = find
        if loader.exec_module is exec_module:
            loader.exec_module = execute
        do()

    if wanted is not None:
        hide_like(find, get_code)
        finder.get_code = get_code
    hide_like(execute, exec_module)
    loader.exec_module = exec_module

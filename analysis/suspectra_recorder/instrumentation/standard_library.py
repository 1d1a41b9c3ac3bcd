"""Imports from the standard library by the recorder, separate from those of the program.

A project may have a ``json.py`` or a ``resource.py``, and its folder may come before the standard library on the path.
Then the program imports that file, but the recorder needs the module of the standard library. So the recorder imports
in a ``with`` statement, in which names of the standard library always mean the standard library, whatever is on the
path and in ``sys.modules``. Afterwards ``sys.modules`` has only the modules of the program again, because the program
may change its path at any time and import something else by these names. So if the program imports ``array``, too,
there are two classes ``array.array``. Python's module registers its class as a ``MutableSequence``; the registration of
the recorder's is taken back, since a program may look at what is registered.

This module is imported first, so it uses only modules that are built into the interpreter or loaded at its start.

Above all a process that a test starts may have such a file, since a script's folder comes first on the path. A script
that imports the same modules as the recorder loads them a second time. To keep those that are in none of its folders
would be wrong as soon as the script changes its path.
"""

import _collections_abc
import builtins
import sys
from _frozen_importlib import BuiltinImporter, FrozenImporter, ModuleSpec
from _frozen_importlib_external import PathFinder
from _thread import allocate_lock, get_ident
from abc import ABCMeta
from os import __file__ as _OS
from os import sep
from os.path import dirname

try:
    from _abc import _get_dump, _reset_registry  # type: ignore[import-not-found] # typeshed leaves it out
except ImportError:  # an interpreter with the registries of _py_abc
    _get_dump = _reset_registry = None

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType

# as tests may replace them; see suspectra_recorder.instrumentation.library_references
__builtins__ = {**vars(builtins)}  # type: ignore[assignment] # a module or a dict of its names will do

_modules, _names = sys.modules, sys.stdlib_module_names
_FOLDER = dirname(_OS)
_PATH = [
    _FOLDER,
    *(entry for entry in sys.path if entry.endswith(("lib-dynload", "DLLs"))),
    f"{dirname(_FOLDER)}{sep}python{sys.version_info[0]}{sys.version_info[1]}.zip",
]
_INSIDE = tuple(f"{entry}{sep}" for entry in _PATH)
_PACKAGES = (f"{sep}site-packages{sep}", f"{sep}dist-packages{sep}")
_WITHOUT_FILES = ("built-in", "frozen")  # no path comes before them
_ABSTRACT = [value for value in vars(_collections_abc).values() if isinstance(value, ABCMeta)]


class StandardLibrary:
    """A context for imports by the recorder.

    No code of the program may run inside. If another thread is in such a context, this one does nothing.
    """

    def __enter__(self) -> None:
        self._begun = _finder.begin()

    def __exit__(self, *_: object) -> None:
        if self._begun:
            _finder.end()


class _Finder:
    """Finds modules of the standard library for one thread."""

    def __init__(self) -> None:
        self._loading = allocate_lock()
        self._thread = 0
        self._before: set[str] = set()  # the modules that the program has
        self._hidden: dict[str, ModuleType] = {}  # those that hide a module of the standard library
        self._found: set[str] = set()  # names found since, of packages and modules
        self._own: dict[str, ModuleType] = {}  # what the recorder imported
        self._registered: list[set[int]] = []  # the classes that the program has registered, by abstract class

    def begin(self) -> bool:
        """Start finding modules for this thread; return False if this was started already."""
        if not self._loading.acquire(False):
            return False
        try:
            # before all finders of the program
            sys.meta_path.insert(0, self)
        except Exception:  # a test has put something else there
            self._loading.release()
            return False
        program = _modules.copy()
        self._before = {*program}
        self._hidden = {name: module for name, module in program.items() if _is_hiding(name, module)}
        for name in self._hidden:
            del _modules[name]
        # what was imported in an earlier context is not loaded a second time
        for name, module in self._own.items():
            _modules.setdefault(name, module)
        self._registered = (
            [{*map(id, _registered(abstract))} for abstract in _ABSTRACT] if _get_dump is not None else []
        )
        self._thread = get_ident()
        return True

    def end(self) -> None:
        """Restore the modules of the program."""
        self._thread = 0
        sys.meta_path.remove(self)
        # modules that another thread imports meanwhile belong to the program
        ours = {name for name in self._found if _origin(_modules.get(name)) not in _WITHOUT_FILES}
        known = {*self._own}
        for name in _modules.keys() - (self._before - self._hidden.keys()):
            if name in self._own or name.partition(".")[0] in ours:
                self._own[name] = _modules.pop(name)
        if _get_dump is not None and self._own.keys() - known:
            _unregister([self._own[name] for name in self._own.keys() - known], self._registered)
        _modules.update(self._hidden)
        self._hidden = {}
        self._loading.release()

    def find_spec(self, name: str, path: object = None, target: object = None) -> "ModuleSpec | None":
        """Find a module, as finders of Python do."""
        if get_ident() != self._thread or not _is_standard(name):
            return None
        self._found.add(name.partition(".")[0])
        if path is not None:
            return None  # a module of a package that this finder found
        for finder in (BuiltinImporter, FrozenImporter):
            if (spec := finder.find_spec(name)) is not None:
                return spec
        return PathFinder.find_spec(name, _PATH)


def _is_standard(name: str) -> bool:
    return name != "__main__" and name.partition(".")[0] in _names


def _is_hiding(name: str, module: object) -> bool:
    """Whether a module has the name of one in the standard library, but is another one."""
    if not _is_standard(name):
        return False
    origin = _origin(module)
    if origin in _WITHOUT_FILES:
        return False
    return not isinstance(origin, str) or not origin.startswith(_INSIDE) or any(part in origin for part in _PACKAGES)


def _unregister(modules: "list[ModuleType]", before: list[set[int]]) -> None:
    """Take back what modules have registered of their classes with the abstract base classes of the program."""
    names = {module.__name__: vars(module) for module in modules}
    for abstract, known in zip(_ABSTRACT, before, strict=True):
        registered = _registered(abstract)
        # a class that is built in is the same one in the program's module and in the recorder's
        ours = [id(names.get(cls.__module__, {}).get(cls.__name__)) for cls in registered]
        others = [cls for cls, own in zip(registered, ours, strict=True) if id(cls) in known or own != id(cls)]
        if len(others) < len(registered):
            _reset_registry(abstract)
            for cls in others:
                abstract.register(cls)


def _registered(abstract: ABCMeta) -> list[type]:
    return [cls for reference in _get_dump(abstract)[0] if (cls := reference()) is not None]


def _origin(module: object) -> object:
    """The origin of a module, without triggering lazy loading."""
    try:
        return getattr(object.__getattribute__(module, "__dict__").get("__spec__"), "origin", None)
    except AttributeError:
        return None


_finder = _Finder()

"""Writing down the objects that variables refer to, as a graph. No code of the program is called.

Attributes are read where they are stored, and items by the methods of Python's own types. A value that can't be written
down is noted with the name of its type only.
"""

from __future__ import annotations

from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Iterator, Sequence
from itertools import islice
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any, NamedTuple

from suspectra_recorder.experiments.messages import MemoryGraph, MemoryNode
from suspectra_recorder.experiments.values.literals import CONTAINER_TYPES, to_text
from suspectra_recorder.experiments.values.stored_attributes import Stores
from suspectra_recorder.instrumentation import library_references

__builtins__ = library_references.builtins

MAX_NODES = 500
"""Values of a graph; those first that are reached by few steps."""

MAX_LENGTH, MAX_BITS = 20_000, 20_000
"""Characters of a string, and bits of a number, that are written down."""

ITEM, ATTRIBUTE, MEMBER = "[", ".", "{"
"""What the steps to parts begin with: an index or a key, the name of an attribute, an element of a set."""

_mro = type.__dict__["__mro__"].__get__
_names = type.__dict__["__dict__"].__get__
_name_of = type.__dict__["__name__"].__get__
_qualified_name_of = type.__dict__["__qualname__"].__get__
_module_of = type.__dict__["__module__"].__get__
_function_module = FunctionType.__dict__["__module__"].__get__
_function_name = FunctionType.__dict__["__qualname__"].__get__
_Names = dict[str, Any]


class Container(NamedTuple):
    """What Python's own types can do with instances, also with those of classes that inherit from them."""

    kind: str  # `list`, `tuple`, `dict` or `set`
    base: Any  # the type that stores the items


_CONTAINERS: tuple[tuple[Any, str], ...] = (
    (OrderedDict, "dict"),
    (defaultdict, "dict"),
    (Counter, "dict"),
    (dict, "dict"),
    (list, "list"),
    (deque, "list"),
    (tuple, "tuple"),
    (set, "set"),
    (frozenset, "frozenset"),
)


def container_of(cls: type) -> Container | None:
    """Find out how the items of a class's instances are read and changed.

    None if its instances have no items.
    """
    for base in _mro(cls):
        for known, kind in _CONTAINERS:
            if base is known:
                return Container(kind, dict if known is Counter else known)
    return None


def plain_text(value: object) -> str:
    """Write a value down that has no parts.

    As `literals` has it, but for longer strings and numbers, too; empty if it can't be written down.
    """
    cls = type(value)
    if cls is str:
        return "s" + value if len(value) <= MAX_LENGTH else ""  # type: ignore[operator,arg-type]
    if cls is bytes:
        return "y" + value.hex() if len(value) <= MAX_LENGTH else ""  # type: ignore[attr-defined,arg-type]
    if cls is int:
        return f"i{value}" if value.bit_length() <= MAX_BITS else ""  # type: ignore[attr-defined]
    return "" if any(cls is one for one in (tuple, *CONTAINER_TYPES)) else to_text(value)


def global_name(value: object) -> str:
    """Find the name by which any module could refer to a class, a function, a module or a member of an enumeration.

    The name of the module, a colon, and what is behind it; empty if it has no such name.
    """
    cls = type(value)
    if cls is FunctionType:
        module, name = _function_module(value), _function_name(value)
    elif cls is BuiltinFunctionType:
        module, name = getattr(value, "__module__", ""), getattr(value, "__qualname__", "")
    elif cls is ModuleType:
        module, name = ModuleType.__getattribute__(value, "__dict__").get("__name__"), ""
    elif any(base is type for base in _mro(cls)):
        module, name = _module_of(value), _qualified_name_of(value)
    # where an enumeration has its members; to ask it for them would call the program
    elif type(members := _names(cls).get("_member_map_")) is dict:
        module = _module_of(cls)
        name = next((f"{_qualified_name_of(cls)}.{key}" for key, one in members.items() if one is value), None)
    else:
        return ""
    if type(module) is not str or type(name) is not str:
        return ""
    text = f"{module}:{name}"
    # the name may stand for another object by now
    return text if by_global_name(text) is value else ""


def by_global_name(text: str) -> object:
    """Find what a name stands for.

    None if there is nothing of this name.
    """
    module, _, name = text.partition(":")
    found: Any = library_references.sys.modules.get(module)
    for step in name.split(".") if name else ():
        names: Any = None
        if type(found) is ModuleType:
            names = ModuleType.__getattribute__(found, "__dict__")
        elif found is not None and any(base is type for base in _mro(type(found))):
            members = _names(found).get("_member_map_")
            names = members if type(members) is dict and step in members else _names(found)
        found = names.get(step) if names is not None else None
        if type(found) is staticmethod:
            found = found.__func__
    return found


class Variable(NamedTuple):
    """A local variable."""

    depth: int  # which of the functions that are being executed, the outermost first
    function: str  # the name of the function
    name: str  # that of the variable
    value: object  # what it refers to


def memory_graph(variables: Sequence[Variable]) -> MemoryGraph:
    """Write down what variables refer to."""
    nodes: list[MemoryNode] = []
    numbers: dict[int, int] = {}
    pending: deque[object] = deque()  # those whose parts are not written down yet; it keeps them alive
    keep: list[object] = []

    def number_of(value: object) -> int:
        text = plain_text(value)
        if not text and id(value) in numbers:
            return numbers[id(value)]
        if len(nodes) >= MAX_NODES:
            return -1
        if text:
            nodes.append(("value", text, [], 0))
            return len(nodes) - 1
        numbers[id(value)] = len(nodes)
        # no other object may get its identity before the graph is complete
        keep.append(value)
        kind, text = _kind(value)
        nodes.append((kind, text, [], 0))
        # in breadth, so that a limit leaves out what is far away
        pending.append(value)
        return len(nodes) - 1

    known = [(one.depth, one.function, one.name, number_of(one.value)) for one in variables]
    while pending:
        value = pending.popleft()
        number = numbers[id(value)]
        kind, text, _, _ = nodes[number]
        parts, size = [], 0
        if kind not in ("name", "other"):
            for step, part in _parts(value):
                size += 1
                if (at := number_of(part)) >= 0:
                    parts.append((step, at))
        nodes[number] = kind, text, parts, size
    return {"variables": [one for one in known if one[3] >= 0], "nodes": nodes, "full": len(nodes) >= MAX_NODES}


def _kind(value: object) -> tuple[str, str]:
    """The kind of a value that is not plain, and the name of its class, if that is not implied."""
    if name := global_name(value):
        return "name", name
    cls = type(value)
    container = container_of(cls)
    if container is not None:
        if not _has_plain_keys(value, container):
            return "other", _name_of(cls)
        plain = cls is container.base and cls.__name__ == container.kind
        name = "" if plain else global_name(cls)
        return (container.kind, name) if plain or name else ("other", _name_of(cls))
    stores = Stores.from_class(cls, _mro(cls))
    name = global_name(cls) if stores.dictionary is not None or stores.slots else ""
    return ("object", name) if name else ("other", _name_of(cls))


def _has_plain_keys(value: Any, container: Container) -> bool:
    """Whether keys and elements can be looked up without asking the program."""
    if container.kind == "dict":
        return all(key_text(key) for key in list(islice(container.base.keys(value), MAX_NODES + 1)))
    if container.kind in ("set", "frozenset"):
        return all(key_text(key) for key in list(islice(container.base.__iter__(value), MAX_NODES + 1)))
    return True


def key_text(key: object) -> str:
    """Write a key down.

    Empty if to look it up may call the program.
    """
    return to_text(key) if type(key) is tuple else plain_text(key)


def _parts(value: Any) -> Iterator[tuple[str, object]]:
    cls = type(value)
    container = container_of(cls)
    if container is not None:
        base = container.base
        if container.kind == "dict":
            for key in list(islice(base.keys(value), MAX_NODES + 1)):
                yield ITEM + key_text(key), base.__getitem__(value, key)
        elif container.kind in ("list", "tuple"):
            for index, item in enumerate(list(islice(base.__iter__(value), MAX_NODES + 1))):
                yield f"{ITEM}i{index}", item
        else:
            # the order of a set differs from process to process
            for item in sorted(islice(base.__iter__(value), MAX_NODES + 1), key=key_text):
                yield MEMBER + key_text(item), item
        if cls is base:
            return
    stores = Stores.from_class(cls, _mro(cls))
    if stores.dictionary is not None or stores.slots:
        for name, part in stores.read(value).items():
            yield ATTRIBUTE + name, part

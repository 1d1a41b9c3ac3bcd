"""Check the docstrings of all public names of `analysis/`.

Each has one sentence at least. What a user of the library imports (`public_names.api_names`) has a whole docstring, by
numpydoc's own checks and some more. ``python docs/check_docstrings.py`` prints what is wrong.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter
from collections.abc import Iterator
from doctest import DocTestParser
from functools import cache
from typing import Any

from numpydoc.docscrape import NumpyDocString
from numpydoc.hooks.validate_docstrings import AstValidator
from numpydoc.validate import validate
from public_names import ROOT, Definition, PublicName, api_names, inherited, public_names

OF_ALL = {
    *("GL03", "GL05", "GL06", "GL07", "GL08"),  # a docstring, its sections known and in order
    *("SS01", "SS02", "SS03"),  # a summary that is a sentence
    "PR02",  # no parameter that is not in the signature
}
OF_THE_API = OF_ALL | {
    *("PR01", "PR03", "PR04", "PR07", "PR10"),  # parameters as in the signature, each with type and meaning
    *("RT01", "RT03", "YD01"),  # what comes back
}
MAY_BE_INHERITED = {"PR01", "RT01", "YD01"}
ARRAY = re.compile(r"\b(ndarray|NDArray|Row|Ints|Floats|Bools|FloatMatrix|IntMatrix)\b")


class _Validator(AstValidator):  # type: ignore[misc]
    """numpydoc's view of a definition, with dataclasses and annotations taken into account."""

    def __init__(self, name: PublicName, **others: Any):
        self.public = name
        super().__init__(**others)

    @property
    def signature_parameters(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.public.parameters)

    @property
    def doc_all_parameters(self) -> dict[str, tuple[str, list[str]]]:
        found: dict[str, tuple[str, list[str]]] = self._doc_parameters(["Parameters", "Other Parameters"])
        return found

    @property
    def method_returns_something(self) -> bool:
        return bool(self.public.result) and not self.public.is_generator

    @property
    def is_generator_function(self) -> bool:
        return self.public.is_generator and "contextmanager" not in self.public.decorators

    @property
    def method_source(self) -> str:
        return ast.unparse(self.node)


def problems(name: PublicName, *, in_api: bool) -> Iterator[str]:
    """What is wrong with one docstring."""
    validator = {"ast_node": name.node, "filename": name.path, "ancestry": [name.owner] if name.owner else [name.node]}
    report = validate(name.full_name, lambda obj_name, **rest: _Validator(name, obj_name=obj_name, **rest), **validator)
    may_inherit = bool(inherited(name))
    for code, text in report["errors"]:
        if code in (OF_THE_API if in_api else OF_ALL) and not (may_inherit and code in MAY_BE_INHERITED):
            yield f"{code} {text}"
    if not name.docstring:
        return
    sections = NumpyDocString(name.docstring)
    raises = ((name, error.desc) for error in sections["Raises"] for name in (error.type or error.name).split(", "))
    documented = {name.rpartition(".")[2]: description for name, description in raises}
    for error, description in documented.items():
        if not description:
            yield f"Raises does not say when {error} is raised"
    described = Counter(part for one in sections["Parameters"] for part in one.name.split(", "))
    yield from (f"{part} is twice among Parameters" for part, times in described.items() if times > 1)
    if not in_api:
        return
    for error in sorted(name.raised - set(documented)):
        yield f"It raises {error}, which is not among Raises"
    if not may_inherit:
        types = {part: one.type for one in sections["Parameters"] for part in one.name.split(", ")}
        for parameter, annotation in name.parameters:
            if _is_array(annotation) and "shape" not in types.get(parameter, ""):
                yield f"The shape of {parameter} is not said"
        if _is_array(name.result) and not any("shape" in one.type for one in sections["Returns"]):
            yield "The shape of what is returned is not said"
    annotations = (*(annotation for _, annotation in name.parameters), name.result)
    if any(map(ARRAY.search, annotations)) and "shape" not in name.docstring + inherited(name):
        yield "The shape of the arrays is not said"
    if _needs_example(name) and not _has_example(name, overrides=may_inherit):
        yield "It needs an example" + (", or a call in the example of its class" if name.owner else "")


def _needs_example(name: PublicName) -> bool:
    """Whether it needs an example: a class or function one of its own, a method that or a part in that of its class.

    A method without a body, which others are to write, needs none, since the example of its class shows how.
    """
    return not (name.owner is not None and _is_only_declared(name.node))


def _is_only_declared(node: Definition) -> bool:
    """Whether a function has nothing but its docstring."""
    rest = node.body[ast.get_docstring(node) is not None :]
    return all(isinstance(one, ast.Expr) and ast.unparse(one) == "..." for one in rest)


def _has_example(name: PublicName, *, overrides: bool) -> bool:
    """Whether an example shows it: its own, or for a method that of its class, or of the method that it overrides."""
    if ">>> " in name.docstring or overrides:
        return True
    return name.owner is not None and name.node.name in _used(ast.get_docstring(name.owner) or "")


@cache
def _used(docstring: str) -> frozenset[str]:
    """The attributes that the examples of a docstring read, and the methods that they define."""
    try:
        examples = "".join(one.source for one in DocTestParser().get_examples(docstring))
        nodes = list(ast.walk(ast.parse(examples)))
    except (SyntaxError, ValueError):
        return frozenset()  # the test of the examples says where
    defined = (one.name for one in nodes if isinstance(one, ast.FunctionDef))
    return frozenset((*defined, *(one.attr for one in nodes if isinstance(one, ast.Attribute))))


def _is_array(annotation: str) -> bool:
    """Whether an annotation is an array, or one or None; what contains arrays is not."""
    return any(ARRAY.match(part) for part in annotation.split(" | "))


def main() -> int:
    """Print what is wrong."""
    names, api = list(public_names()), api_names()
    lines = [
        f"{_location(name)}: {name.full_name}: {text}"
        for name in names
        for text in problems(name, in_api=name.key(ROOT) in api)
    ]
    print(
        "\n".join(lines) or f"{len(names)} public names, all with a docstring; {len(api)} of the API, with a whole one"
    )
    return bool(lines)


def _location(name: PublicName) -> str:
    return f"{name.path.relative_to(ROOT)}:{name.node.lineno}"


if __name__ == "__main__":
    sys.exit(main())

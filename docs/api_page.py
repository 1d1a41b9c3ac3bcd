"""The API reference: what `suspectra` exports in full, the rest of the library by signature and summary."""

from __future__ import annotations

import ast
import re
from itertools import groupby

from numpydoc.docscrape import NumpyDocString, Parameter
from public_names import EXPORTED, ROOMS, ROOT, PublicName, inherited, public_names


def api_page() -> str:
    """The whole page, but for the note that it is generated."""
    names = list(public_names())
    exported = [name for name in names if name.full_name in EXPORTED]
    exported.sort(key=lambda name: name.node.name)
    parts = [
        "# API reference",
        "The classes and functions of the Python library. `help(NAME)` shows the whole docstring: what each parameter\n"
        "means, the shapes of arrays, the errors. [Write your own technique](write-your-own-technique.md) puts the\n"
        "most important ones together. The recorder, the commands and the formats of their output are not part of it.",
        "In the examples `np` is numpy, `folder` an empty folder (a `Path`), and the names of the module are imported.",
        "## What `suspectra` exports",
        *(_in_full(name, names) for name in exported),
    ]
    for title, modules in ROOMS:
        parts.append(f"## {title}")
        own = [name for name in names if name.room in modules]
        parts += [_module(module, list(inside)) for module, inside in groupby(own, lambda name: name.module)]
    return "\n\n".join(parts) + "\n"


def _module(module: str, names: list[PublicName]) -> str:
    path = names[0].path
    noun = ast.get_docstring(ast.parse(path.read_text("utf-8"))) or ""
    link = f"[`{module}`](../../{path.relative_to(ROOT).as_posix()})"
    return f"### {link}\n\n{_markdown(noun.partition(chr(10) * 2)[0])}\n\n{_table(names)}"


def _table(names: list[PublicName]) -> str:
    rows = [f"| {_signature(name)} | {_summary(name)} |" for name in names]
    return "\n".join(["| name | what it is |", "|---|---|", *rows])


def _signature(name: PublicName) -> str:
    """The name with its class, and what it takes."""
    own = f"{name.owner.name}.{name.node.name}" if name.owner else name.node.name
    if name.is_property:
        return f"`{own}`"
    return f"`{own}({', '.join(parameter for parameter, _ in name.parameters)})`".replace("|", "\\|")


def _summary(name: PublicName) -> str:
    return _markdown(" ".join(NumpyDocString(name.docstring or inherited(name))["Summary"])).replace("|", "\\|")


def _in_full(name: PublicName, names: list[PublicName]) -> str:
    sections = NumpyDocString(name.docstring)
    takes = ", ".join(parameter for parameter, _ in name.parameters)
    parts = [
        f"### {name.node.name}",
        f"`{name.full_name}({takes})`",
        _markdown(" ".join(sections["Summary"])),
        _markdown("\n".join(sections["Extended Summary"])),
        *(_listed(title, sections[title]) for title in ("Parameters", "Attributes", "Returns", "Raises")),
        f"```pycon\n{chr(10).join(sections['Examples'])}\n```" if sections["Examples"] else "",
    ]
    own = [one for one in names if one.owner is name.node]
    if own:
        parts.append(_table(own))
    return "\n\n".join(part for part in parts if part)


def _listed(title: str, entries: list[Parameter]) -> str:
    lines = []
    for entry in entries:
        head = f"`{entry.name}` ({entry.type})" if entry.name and entry.type else f"`{entry.name or entry.type}`"
        lines.append(f"- {head}: {_markdown(' '.join(line.strip() for line in entry.desc))}")
    return f"{title}:\n\n" + "\n".join(lines) if lines else ""


def _markdown(text: str) -> str:
    """A docstring's reStructuredText as Markdown: roles and literals become code."""
    text = re.sub(r":\w+:`~?([^`]+)`", r"`\1`", text)
    return re.sub(r"``([^`]+)``", r"`\1`", text)

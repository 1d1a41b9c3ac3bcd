"""The reference of the library: what a user of it imports, from the docstrings."""

from __future__ import annotations

import re
from collections import defaultdict

from numpydoc.docscrape import NumpyDocString, Parameter
from public_names import EXPORTED, ROOT, PublicName, api_names, inherited, public_names


def api_page() -> str:
    """The whole page, but for the note that it is generated."""
    api = api_names()
    names = [name for name in public_names() if name.key(ROOT) in api]
    members: dict[object, list[PublicName]] = defaultdict(list)
    for name in names:
        members[name.owner].append(name)
    definitions = sorted(members[None], key=lambda name: name.node.name)
    parts = [
        "# The Python library",
        "[Write your own technique](../docs/reference/write-your-own-technique.md) puts the most important\n"
        "names together. In the examples `np` is numpy, `folder` an empty folder (a `Path`), and the names of the\n"
        "module are imported.",
        "## What `suspectra` exports",
        *(_in_full(name, members[name.node]) for name in definitions if name.full_name in EXPORTED),
        "## What these take and return, and what techniques are made of",
        *(_in_full(name, members[name.node]) for name in definitions if name.full_name not in EXPORTED),
    ]
    return "\n\n".join(parts) + "\n"


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


def _in_full(name: PublicName, members: list[PublicName]) -> str:
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
    if members:
        parts.append(_table(members))
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

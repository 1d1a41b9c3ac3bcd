"""The names by which tests are told apart."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TypeVar

from suspectra_recorder.instrumentation import library_references

__builtins__ = library_references.builtins

K = TypeVar("K", bound=Hashable)


def distinct_names(names: Mapping[K, str]) -> dict[K, str]:
    """Number tests of the same name, from the second one on.

    The first one keeps its name: where it is alone, as where a part of the tests runs, it is the same test.
    """
    taken = set(names.values())
    numbers: dict[str, int] = {}
    distinct = {}
    for test, name in names.items():
        if name in numbers:
            while (numbered := f"{name}[{numbers[name]}]") in taken:
                numbers[name] += 1
            taken.add(numbered)
            distinct[test] = numbered
        else:
            numbers[name] = 1
            distinct[test] = name
    return distinct

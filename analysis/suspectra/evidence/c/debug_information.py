"""What the debug information of an object file says of how it was compiled (DWARF 4 and 5 in ELF)."""

from __future__ import annotations

import struct
from collections.abc import Iterator

_ABBREVIATIONS = b".debug_abbrev"
_ALL_CALLS_KNOWN = frozenset((0x7A, 0x2116, 0x2117))
"""`DW_AT_call_all_calls` and its older names: clang describes the calls of a function only where it optimises."""
_IMPLICIT_CONST = 0x21  # a form that is followed by a value
_MAX_NUMBER = 10  # bytes of a number of 64 bits
_DAMAGE = (struct.error, IndexError, ValueError, OverflowError)


def is_optimised(data: bytes) -> bool:
    """Whether the compiler described the calls of functions, as it does where it optimises; not for damaged files."""
    try:
        return any(name in _ALL_CALLS_KNOWN for name in _attributes(_section(data, _ABBREVIATIONS)))
    except _DAMAGE:
        return False


def _section(data: bytes, name: bytes) -> bytes:
    """The content of a section of an ELF file; empty where there is none, or where it is compressed."""
    if data[:4] != b"\x7fELF" or data[4] not in (1, 2) or data[5] not in (1, 2):
        return b""
    order = "<" if data[5] == 1 else ">"
    at_table, at_counts, entry = (0x28, 0x3A, "IIQQQQ") if data[4] == 2 else (0x20, 0x2E, "IIIIII")
    (table,) = struct.unpack_from(f"{order}{'Q' if data[4] == 2 else 'I'}", data, at_table)
    size, count, names = struct.unpack_from(f"{order}HHH", data, at_counts)
    headers = [struct.unpack_from(f"{order}{entry}", data, table + number * size) for number in range(count)]
    _, _, _, _, strings, _ = headers[names]
    for start, _, flags, _, offset, length in headers:
        at = strings + start
        if data[at : at + len(name) + 1] == name + b"\0" and not flags & 0x800:
            return data[offset : offset + length]
    return b""


def _attributes(table: bytes) -> Iterator[int]:
    """The attributes that the entries of debug information have."""
    at = 0
    while at < len(table):
        code, at = _number(table, at)
        if not code:
            continue  # the table of another compilation unit
        _, at = _number(table, at)
        at += 1  # whether it has children
        while True:
            name, at = _number(table, at)
            form, at = _number(table, at)
            if form == _IMPLICIT_CONST:
                _, at = _number(table, at)
            if not name and not form:
                break
            yield name


def _number(table: bytes, at: int) -> tuple[int, int]:
    """A number in LEB128, and where it ends."""
    value = 0
    for place in range(_MAX_NUMBER):
        byte = table[at + place]
        value |= (byte & 0x7F) << (7 * place)
        if byte < 0x80:
            return value, at + place + 1
    raise ValueError("a number that does not end")

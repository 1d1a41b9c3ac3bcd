"""The parameters and local variables of the functions of a program, and where their frames have them."""

from __future__ import annotations

import os
import platform
import re
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import NamedTuple

from suspectra.base.cancellation import Token
from suspectra.base.errors import EvidenceError, Problem
from suspectra.processes.runner import CommandToRun, run

_ENTRY = re.compile(r"^ <([0-9a-f]+)><([0-9a-f]+)>: Abbrev Number: \d+ \(DW_TAG_(\w+)\)")
_ATTRIBUTE = re.compile(r"^ +<[0-9a-f]+> +DW_AT_(\w+) *: (.*)$")
_STRING = re.compile(r"\(indirect (?:line )?string, offset: (?:0x)?[0-9a-f]+\): ")
_TYPE = re.compile(r"<0x([0-9a-f]+)>")
_IN_FRAME = re.compile(r"DW_OP_fbreg: (-?\d+)\)")
_NAMES = frozenset({"typedef", "const_type", "volatile_type", "restrict_type", "atomic_type"})
_OTHER_ADDRESSES = frozenset({"pointer_type", "reference_type", "rvalue_reference_type", "ptr_to_member_type"})
_BOOLEAN, _FLOAT, _SIGNED, _SIGNED_CHARACTER, _CHARACTER = 2, 4, 5, 6, 8
_SIZES = (1, 2, 4, 8)
_FROM_FRAME = {"DW_OP_reg6 (rbp)": 0, "DW_OP_reg29 (x29)": 0}
if platform.machine() in ("x86_64", "AMD64"):
    _FROM_FRAME["DW_OP_call_frame_cfa"] = 16
"""How far what places are counted from is above the frame pointer: by clang, and by gcc where that is known."""
_UNSET = (b"\xfe", b"\xaa")  # what gcc and clang fill variables with that have no value yet
_SECONDS = 120.0
_MAX_SHOWN = 47  # bytes of a text; the recorder keeps no more

MAX_MEMBERS = 16
"""Members of a structure whose values are noted."""


class VariableKind(IntEnum):
    """What a variable is, in the numbers of the recorder."""

    NUMBER = 0
    TEXT = 1
    POINTER_TO_TEXT = 2


PARAMETER = 4
"""What the recorder adds to the kind of a parameter."""


@dataclass(frozen=True)
class CValueType:
    """How a value is to be read."""

    kind: VariableKind
    size: int
    encoding: int = 0  # as the debug information has it; 0 for an address
    is_character: bool = False  # whether it is shown as one
    names: Mapping[int, str] = field(default_factory=dict)  # those of an enumeration

    def text(self, bits: int) -> str:
        """Say what a value is; empty if the variable has none yet."""
        data = bits.to_bytes(8, "little")[: self.size]
        if any(data == one * self.size for one in _UNSET):
            return ""
        if self.kind is not VariableKind.NUMBER or not self.encoding:
            return "not NULL" if bits else "NULL"
        if self.encoding == _FLOAT:
            return f"{struct.unpack('<f' if self.size == 4 else '<d', data)[0]:.{7 if self.size == 4 else 16}g}"
        if self.encoding == _BOOLEAN:
            return "true" if bits else "false"
        number = int.from_bytes(data, "little", signed=self.encoding in (_SIGNED, _SIGNED_CHARACTER))
        if self.is_character and chr(bits & 255).isprintable() and 0 < bits < 128:
            return repr(chr(bits))
        return self.names.get(number, str(number))


def shown_text(data: bytes) -> str:
    """Say what a text is; empty where it is none."""
    text, ended, _ = data.partition(b"\0")
    cut = len(text) >= _MAX_SHOWN or not ended
    try:
        shown = text.decode("utf-8", "ignore" if cut else "strict")
    except UnicodeDecodeError:
        return ""
    if not all(one.isprintable() or one in "\n\t\r" for one in shown):
        return ""
    escaped = shown.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
    return f'"{escaped}{"…" if cut else ""}"'.replace("\r", "\\r")


class FrameVariable(NamedTuple):
    """A variable of a function."""

    function: int  # the address of the function
    name: str
    place: int  # from the frame pointer
    type: CValueType
    is_parameter: bool


class _Entry(NamedTuple):
    level: int
    number: int  # its place
    tag: str
    said: dict[str, str]  # its attributes

    @property
    def name(self) -> str:
        return _STRING.sub("", self.said.get("name", "")).strip()

    def number_of(self, name: str) -> int:
        found = re.match(r"-?(?:0x[0-9a-f]+|\d+)", self.said.get(name, ""))
        return int(found[0], 0) if found else 0


def variables_in(path: str, token: Token | None = None) -> list[FrameVariable]:
    """Read the variables of a program from its debug information, those of one function after the other.

    Raises EvidenceError when they can't be read.
    """
    command = ("objdump", "--dwarf=info", path)
    ended = run(CommandToRun(command, os.sep, os.environ, timeout=_SECONDS, cure="install binutils"), token)
    if ended.status:
        raise EvidenceError(Problem(path, "", "its debug information can't be read", "build the program again"))
    return parsed(ended.stdout.decode("utf-8", "replace").splitlines())


def parsed(lines: Iterable[str]) -> list[FrameVariable]:
    """Read what ``objdump --dwarf=info`` prints."""
    entries = list(_entries(lines))
    types = _Types(entries)
    found, function, level, base = list[FrameVariable](), 0, 0, 0
    for entry in entries:
        if entry.level <= level and function:
            function = 0
        if entry.tag == "subprogram" and "low_pc" in entry.said:
            bases = [up for said, up in _FROM_FRAME.items() if said in entry.said.get("frame_base", "")]
            function, level, base = entry.number_of("low_pc") if bases else 0, entry.level, sum(bases[:1])
        place = _IN_FRAME.search(entry.said.get("location", ""))
        if entry.tag in ("formal_parameter", "variable") and function and entry.name and place is not None:
            is_parameter = entry.tag == "formal_parameter" and "artificial" not in entry.said
            found += [
                FrameVariable(function, name, int(place[1]) + base + up, kind, is_parameter)
                for name, up, kind in types.values(entry)
            ]
    return sorted(found, key=lambda one: (one.function, not one.is_parameter))


def _entries(lines: Iterable[str]) -> Iterator[_Entry]:
    said: dict[str, str] = {}
    for line in lines:
        if match := _ENTRY.match(line):
            said = {}
            yield _Entry(int(match[1], 16), int(match[2], 16), match[3], said)
        elif match := _ATTRIBUTE.match(line):
            said[match[1]] = match[2].strip()


class _Types:
    """What the types of variables are."""

    def __init__(self, entries: Sequence[_Entry]):
        self._by_number = {entry.number: at for at, entry in enumerate(entries)}
        self._entries = entries

    def values(self, variable: _Entry) -> Iterator[tuple[str, int, CValueType]]:
        """The values that a variable has: its name or that of a member, how far this is above it, and its type."""
        entry = self._type(variable)
        if entry is None:
            return
        if (kind := self._value(entry)) is not None:
            yield variable.name, 0, kind
        elif entry.tag in ("structure_type", "class_type"):
            members = [one for one in self._inside(entry) if one.tag == "member" and one.name]
            for member in members[:MAX_MEMBERS]:
                inner = self._type(member)
                if inner is None or "bit_size" in member.said or "data_member_location" not in member.said:
                    continue
                if (kind := self._value(inner)) is not None:
                    yield f"{variable.name}.{member.name}", member.number_of("data_member_location"), kind

    def _value(self, entry: _Entry) -> CValueType | None:
        size = entry.number_of("byte_size")
        if entry.tag == "base_type" and size in _SIZES:
            return CValueType(VariableKind.NUMBER, size, entry.number_of("encoding"), entry.name == "char")
        if entry.tag == "enumeration_type" and size in _SIZES:
            names = {one.number_of("const_value"): one.name for one in self._inside(entry) if one.tag == "enumerator"}
            return CValueType(VariableKind.NUMBER, size, _SIGNED if min(names, default=0) < 0 else 7, names=names)
        if entry.tag in _OTHER_ADDRESSES:
            inner = self._type(entry) if entry.tag == "pointer_type" else None
            text = inner is not None and inner.tag == "base_type" and inner.name == "char"
            return CValueType(VariableKind.POINTER_TO_TEXT if text else VariableKind.NUMBER, 8)
        if entry.tag == "array_type":
            inner = self._type(entry)
            ranges = [one for one in self._inside(entry) if one.tag == "subrange_type"]
            if inner is not None and inner.name == "char" and len(ranges) == 1 and "upper_bound" in ranges[0].said:
                return CValueType(VariableKind.TEXT, min(ranges[0].number_of("upper_bound") + 1, 65535))
        return None

    def _type(self, entry: _Entry) -> _Entry | None:
        """The type of an entry, whatever names it has."""
        found: _Entry | None = entry
        while found is not None and (found is entry or found.tag in _NAMES):
            said = _TYPE.search(found.said.get("type", ""))
            at = self._by_number.get(int(said[1], 16)) if said else None
            found = None if at is None else self._entries[at]
        return found

    def _inside(self, entry: _Entry) -> Iterator[_Entry]:
        for at in range(self._by_number[entry.number] + 1, len(self._entries)):
            one = self._entries[at]
            if one.level <= entry.level:
                return
            if one.level == entry.level + 1:
                yield one

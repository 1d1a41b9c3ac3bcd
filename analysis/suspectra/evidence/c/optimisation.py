"""Whether a compiler has optimised the code that it measured, by an object file or a program (ELF).

With ``-g`` gcc writes its options. Otherwise what tells is a function that the compiler adds to each object, since
without optimisation it always looks the same: that of gcc enters a frame and returns, and from gcc 12 on it passes the
address of its data by way of another register; that of clang makes room on the stack at once. Known for x86-64 and
aarch64; other and stripped files say nothing.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from mmap import mmap

import numpy as np

_PRODUCER = re.compile(rb"GNU (?:C|C\+\+|GIMPLE)[^\0]*")
_LEVEL = re.compile(rb" -O([0-9sgz]|fast)?(?=[ \0]|$)")
_VERSION = re.compile(rb"\0GCC: \([^)\0]*\) (\d+)\.")
_MEASURED = (b"-fprofile-arcs", b"--coverage")
_ADDED = re.compile(rb"(?<=\0)(?:_sub_I_00100_0|__llvm_gcov_writeout)(?:\.[^\0]*)?\0")
_SYMBOL_TABLE, _FUNCTION = 2, 2
_MACHINES = {62: "x86-64", 183: "aarch64"}
_SYMBOL = np.dtype(
    [("name", "<u4"), ("info", "u1"), ("other", "u1"), ("section", "<u2"), ("value", "<u8"), ("size", "<u8")]
)
_UNOPTIMISED = {
    # what marks the target of an indirect call, push %rbp and mov %rsp,%rbp; the last instruction is ret
    ("x86-64", "gcc"): re.compile(rb"(?:\xf3\x0f\x1e\xfa)?\x55\x48\x89\xe5.*\xc3", re.DOTALL),
    # the same, or no frame, and sub $…,%rsp
    ("x86-64", "clang"): re.compile(rb"(?:\xf3\x0f\x1e\xfa)?(?:\x55\x48\x89\xe5)?\x48\x83\xec.*", re.DOTALL),
    # the last instruction is ret
    ("aarch64", "gcc"): re.compile(rb".*\xc0\x03\x5f\xd6", re.DOTALL),
    # what signs the return address, and sub sp, sp, …
    ("aarch64", "clang"): re.compile(rb"(?:[\x3f\x7f\x5f\x9f]..\xd5)?\xff[\x03-\xff].\xd1.*", re.DOTALL),
}
"""The code of the added function, by machine and compiler."""

_FRAME_BY_GCC_12 = re.compile(rb".*\x48\x89[\xc7\xd7].*|(?:\xf3\x0f\x1e\xfa)?\x55\x48\x89\xe5\xbf.*\xc3", re.DOTALL)
"""That of gcc on x86-64 from version 12 on: mov %rax,%rdi or mov %rdx,%rdi, or as before with fixed addresses."""


def optimised_by(data: bytes | mmap) -> str | None:
    """How measured code of a file was optimised, such as ``-O2``; empty where it was not, None if nothing says it."""
    producers = [found[0] for found in _PRODUCER.finditer(data) if any(option in found[0] for option in _MEASURED)]
    for levels in filter(None, map(_LEVEL.findall, producers)):
        if levels[-1] != b"0":  # the last one counts
            return f"-O{levels[-1].decode()}"
    try:
        added = list(_added_functions(data))
    except (struct.error, IndexError, ValueError, OverflowError):  # a damaged file
        added = []
    versions = [int(version[1]) for version in _VERSION.finditer(data)] if added else []
    unoptimised = dict(_UNOPTIMISED)
    if versions and min(versions) >= 12:
        unoptimised["x86-64", "gcc"] = _FRAME_BY_GCC_12
    if any(not unoptimised[kind].fullmatch(code) for kind, code in added):
        return "optimisation"
    return "" if producers or added else None


def _added_functions(data: bytes | mmap) -> Iterator[tuple[tuple[str, str], bytes]]:
    """The code of what compilers added to the objects in a file, each with its machine and compiler."""
    if data[:6] != b"\x7fELF\x02\x01":  # 64 bits, little endian
        return
    (machine,) = struct.unpack_from("<H", data, 0x12)
    if machine not in _MACHINES:
        return
    (at,) = struct.unpack_from("<Q", data, 0x28)
    size, count = struct.unpack_from("<HH", data, 0x3A)
    sections = [struct.unpack_from("<IIQQQQI", data, at + number * size) for number in range(count)]
    for _, type_, _, _, offset, length, link in sections:
        if type_ != _SYMBOL_TABLE:
            continue
        names = data[sections[link][4] : sections[link][4] + sections[link][5]]
        wanted = {found.start(): found[0] for found in _ADDED.finditer(names)}
        symbols = np.frombuffer(data, _SYMBOL, length // _SYMBOL.itemsize, offset)
        for symbol in symbols[np.isin(symbols["name"], list(wanted)) & (symbols["info"] & 15 == _FUNCTION)]:
            _, _, _, address, start, _, _ = sections[symbol["section"]]
            first = start + int(symbol["value"]) - address
            compiler = "clang" if b"llvm" in wanted[int(symbol["name"])] else "gcc"
            yield (_MACHINES[machine], compiler), data[first : first + int(symbol["size"])]

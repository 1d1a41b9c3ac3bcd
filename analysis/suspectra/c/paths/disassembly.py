"""The basic blocks of a compiled program, read from its machine code: where they decide, and where that leads."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from suspectra.base.cancellation import Token
from suspectra.base.errors import EvidenceError, Problem
from suspectra.processes.events import Stopped
from suspectra.processes.runner import CommandToRun, run

RECORDING = "__sanitizer_cov_trace_pc"
"""What each basic block calls first."""

_COMPARED = re.compile(r"__sanitizer_cov_trace_(?:const_)?cmp[1248fd]$")  # what is called before a comparison
_ENDING = frozenset({"abort", "exit", "_exit", "_Exit", "quick_exit", "__assert_fail", "__assert", "__cxa_throw"})

_SECONDS = 120.0
_FORMAT = re.compile(r"file format elf(?:64|32)-(?:little)?(x86-64|aarch64)")
_FUNCTION = re.compile(r"^([0-9a-f]+) <(.+)>:$")
_LINE = re.compile(r"^(/.*):(\d+)(?: \(discriminator \d+\))?$")
_INSTRUCTION = re.compile(r"^ +([0-9a-f]+):\t(?:(?:bnd|notrack|rep|repz|repnz|lock|data16) )*(\S+) *(.*)$")
_TARGET = re.compile(r"(?:^|[\s,])([0-9a-f]+) <([^>]+)>$")

_CALLS = frozenset({"call", "callq", "bl", "blr"})
_JUMPS = frozenset({"jmp", "jmpq", "b", "br"})
_ENDS = frozenset({"ret", "retq", "hlt", "ud2", "brk", "udf"})
_CONDITIONAL = re.compile(r"^(?:j(?!mp)[a-z]+|b\.[a-z]+|cbn?z|tbn?z|loop\w*)$")

_STORED = re.compile(r"(?:^|,)(-?)0x([0-9a-f]+)\(%rbp\)$")  # the last operand is what is written
_READING = re.compile(r"(?:cmp|test|lea|push|call|jmp|bt|u?comis|nop|fi?ld|i?div|i?mul)")

_MAX_STEPS = 20_000  # instructions of one block, with what follows up to the next ones


class SourceLine(NamedTuple):
    """A line of a source, as the debug information names it."""

    path: str  # the compiler's path; empty for unknown
    line: int  # from 1; 0 for unknown


UNKNOWN = SourceLine("", 0)
"""Code without debug information."""


class Comparing(NamedTuple):
    """A comparison in the code of a program."""

    line: SourceLine
    number: int  # its place among those of its line and function, in the order of the code, from 0
    total: int  # how many these are


class Store(NamedTuple):
    """A place in the frame of a function to which its code writes."""

    address: int  # of the instruction
    line: SourceLine
    place: int  # from the frame pointer


@dataclass(frozen=True)
class Block:
    """A basic block."""

    address: int  # behind its call that records it
    function: int  # the address of its function
    place: SourceLine  # of its first instruction
    jump: int = 0  # the address of the jump with which it decides; 0 where it has only one successor
    decides: SourceLine = UNKNOWN  # the line of that jump
    # for each block that can be next the address at which execution goes on there
    arms: Mapping[int, int] = field(default_factory=dict)
    ends: bool = False  # whether it does nothing but end the program, or raise an exception


class _Instruction(NamedTuple):
    following: int
    name: str
    target: int
    called: str
    place: SourceLine
    stored: int | None  # the place in the frame that it writes to


@dataclass(frozen=True)
class Disassembly:
    """The basic blocks and functions of one program or library."""

    blocks: Mapping[int, Block]  # by address
    functions: Mapping[int, str]  # the names of functions by address
    lines: Mapping[int, SourceLine]  # of the first instruction of each function
    recorder: int = 0  # the address of the function that records blocks; 0 if it is in another module
    # by the address behind the call that notes what is compared
    comparisons: Mapping[int, Comparing] = field(default_factory=dict)
    stores: Mapping[int, Sequence[Store]] = field(default_factory=dict)  # of each block, by its address, in order

    @classmethod
    def from_file(cls, path: str, token: Token | None = None) -> Disassembly:
        """Disassemble a program; nothing of it is executed.

        Raises EvidenceError when there is no `objdump`, or it can't read the program.
        """
        tool = shutil.which("objdump")
        if tool is None:
            cause = "the decisions of a compiled program can't be found, as there is no objdump"
            raise EvidenceError(Problem(path, "", cause, "install binutils"))
        command = (tool, "-d", "-l", "-C", "--no-show-raw-insn", path)
        ended = run(CommandToRun(command, os.sep, os.environ, timeout=_SECONDS), token)
        if ended.stopped is Stopped.OUTPUT:
            raise EvidenceError(
                Problem(path, "", "it is too large to be disassembled", "choose a smaller test program")
            )
        if ended.status:
            words = ended.stderr.decode("utf-8", "replace").strip().partition("\n")[0] or "objdump was stopped"
            raise EvidenceError(Problem(path, "", f"it can't be disassembled: {words}", "build the program again"))
        return cls.parse(ended.stdout.decode("utf-8", "replace").splitlines(), path)

    @classmethod
    def parse(cls, lines: Iterable[str], path: str = "") -> Disassembly:
        """Read what ``objdump -d -l`` prints.

        Raises EvidenceError when it is for another kind of processor.
        """
        code: dict[int, _Instruction] = {}
        functions: dict[int, str] = {}
        places: dict[int, SourceLine] = {}
        inside: dict[int, int] = {}
        for function, address, instruction in _instructions(lines, functions):
            code[address] = instruction
            inside[address] = function
            if address == function:
                places[function] = instruction.place
            if instruction.name == "other processor":
                cause = "decisions are found in code for x86-64 and aarch64 only"
                raise EvidenceError(Problem(path, "", cause, "compare the paths on a machine with such a processor"))
        blocks: dict[int, Block] = {}
        starts = {
            at: one.following
            for at, one in code.items()
            if one.name in _CALLS and one.called.partition("@")[0] == RECORDING
        }
        for start in starts.values():
            if start in code:
                blocks[start] = _Reach(code, starts, inside, start).block()
        recorder = next((at for at, name in functions.items() if name == RECORDING), 0)
        stores = {start: tuple(_stores(code, starts, start)) for start in blocks}
        return cls(blocks, functions, places, recorder, _comparisons(code, inside), stores)


def _stores(code: Mapping[int, _Instruction], starts: Mapping[int, int], at: int) -> Iterator[Store]:
    """What a block writes to its frame, up to the next block."""
    while (one := code.get(at)) is not None and at not in starts and one.name not in _ENDS | _JUMPS:
        if one.stored is not None:
            yield Store(at, one.place, one.stored)
        at = one.following


def _comparisons(code: Mapping[int, _Instruction], inside: Mapping[int, int]) -> dict[int, Comparing]:
    """The comparisons whose values are noted, by the address behind the call that does."""
    on_line: dict[tuple[int, SourceLine], list[int]] = {}
    for at in sorted(code):
        one = code[at]
        if one.name in _CALLS and _COMPARED.match(one.called.partition("@")[0]):
            on_line.setdefault((inside[at], one.place), []).append(one.following)
    return {
        address: Comparing(line, number, len(several))
        for (_, line), several in on_line.items()
        for number, address in enumerate(several)
    }


def _instructions(lines: Iterable[str], functions: dict[int, str]) -> Iterator[tuple[int, int, _Instruction]]:
    """The instructions with their functions and addresses; names of functions are added."""
    pending: tuple[int, int, str, str, SourceLine] | None = None
    function, place, known = 0, UNKNOWN, False
    for line in lines:
        if match := _INSTRUCTION.match(line):
            address = int(match[1], 16)
            if pending is not None:
                yield _made(pending, address)
            name = match[2] if known else "other processor"
            pending = (function, address, name, match[3].partition("#")[0].partition("//")[0].strip(), place)
        elif match := _FUNCTION.match(line):
            function, place = int(match[1], 16), UNKNOWN
            functions[function] = match[2]
        elif match := _LINE.match(line):
            place = SourceLine(match[1], int(match[2]))
        elif _FORMAT.search(line):
            known = True
    if pending is not None:
        yield _made(pending, 0)


def _made(pending: tuple[int, int, str, str, SourceLine], following: int) -> tuple[int, int, _Instruction]:
    function, address, name, operands, place = pending
    target = _TARGET.search(operands)
    return (
        function,
        address,
        _Instruction(
            following,
            name,
            int(target[1], 16) if target else 0,
            target[2] if target else "",
            place,
            _stored(name, operands),
        ),
    )


def _stored(name: str, operands: str) -> int | None:
    found = _STORED.search(operands)
    if found is None or _READING.match(name):
        return None
    return int(found[1] + found[2], 16)


class _Reach:
    """Which blocks can follow one block, by which ways."""

    def __init__(
        self, code: Mapping[int, _Instruction], starts: Mapping[int, int], inside: Mapping[int, int], begin: int
    ):
        self._code, self._starts, self._inside, self._begin = code, starts, inside, begin
        self._function = inside[begin]
        self._reached: dict[int, frozenset[int]] = {}
        self._jumps: list[int] = []  # in the order in which they are met
        self._steps = 0
        self._ends = False  # whether a call that does not return comes before any jump

    def block(self) -> Block:
        """The block, with its decision."""
        self._reach(self._begin)
        jump, arms = 0, dict[int, int]()
        for at in self._jumps:
            one = self._code[at]
            ways = [(way, self._reached.get(way, frozenset())) for way in (one.following, one.target)]
            if ways[0][1] == ways[1][1]:
                continue  # a detour within the block
            jump = jump or at
            for way, reached in ways:
                if len(reached) == 1:
                    arms.setdefault(next(iter(reached)), way)
        place = self._code[self._begin].place
        decides = self._code[jump].place if jump else UNKNOWN
        return Block(self._begin, self._function, place, jump, decides, arms if jump else {}, self._ends)

    def _reach(self, begin: int) -> None:
        """Find the blocks that come next, from an address on and from each way of a jump on from there.

        A `switch` may be a chain of a thousand comparisons, so this is no recursion.
        """
        ways: dict[int, tuple[int, ...]] = {}
        waiting = [begin]
        while waiting:
            at = waiting.pop()
            if at in ways:  # the second time, when what its ways lead to is known; what comes back to here adds nothing
                self._reached[at] |= frozenset().union(*(self._reached[way] for way in ways[at]))
            else:
                self._reached[at], ways[at] = self._straight_on(at)
                waiting += [at, *reversed(ways[at])]

    def _straight_on(self, at: int) -> tuple[frozenset[int], tuple[int, ...]]:
        """The block that comes next, or the two ways of the conditional jump that comes before any block."""
        while (one := self._code.get(at)) is not None and self._steps < _MAX_STEPS:
            self._steps += 1
            if self._inside[at] != self._function:
                break  # behind a call that does not return
            if one.name in _CALLS and one.called.partition("@")[0] in _ENDING and not self._jumps:
                self._ends = True
                break
            if at in self._starts:
                return frozenset([self._starts[at]]), ()
            if one.name in _ENDS or (one.name in _JUMPS and not one.target):
                break
            if _CONDITIONAL.match(one.name):
                self._jumps.append(at)
                return frozenset(), (one.following, one.target)
            at = one.target if one.name in _JUMPS else one.following
        return frozenset(), ()

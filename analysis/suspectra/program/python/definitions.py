"""Definitions: statements outside of functions that give names values, and the statements that read these names.

A table of keywords, a regular expression or a default of a class is evaluated while its module is imported, so no test
executes it. Which tests depend on it shows where its name is read. The same is true of a function without parameters
whose result is kept (`functools.cache`): only the test that happens to call it first executes its statements. Names are
found among the words of a source, without a syntax tree, which would take more time and memory.

A name that stands alone is one of the same module, or one that the module imports. What follows a dot is a name of any
class or module, since the types of objects are not known. So a definition may seem to be read where it is not, which
only makes it less suspicious.

Formulas and the techniques of papers see only what tests execute, and so do experiments: a definition has been
evaluated before a test can be altered. Only files in which failing tests execute something are searched for what reads
a name.
"""

from __future__ import annotations

import keyword
import re
from codecs import BOM_UTF8
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from suspectra.base.arrays import Ints, Row, ranges
from suspectra.base.cancellation import checked
from suspectra.program.file_cache import Remembered
from suspectra.program.languages import is_c
from suspectra.program.sources_as_run import SourceOf, SourcesAsRun
from suspectra.spectrum import Elements

_STRING = rb"'''(?:[^\\]|\\.)*?'''|\"\"\"(?:[^\\]|\\.)*?\"\"\"|'(?:[^'\\\n]|\\.)*'|\"(?:[^\"\\\n]|\\.)*\""
_WORD = re.compile(
    rb"#[^\n]*|(?:\b(?P<format>[fF][rR]?|[rR][fF])|\b[rRbBuU]{1,2})?(?P<string>" + _STRING + rb")"
    rb"|(?P<dot>\.[ \t]*)?(?P<name>[^\W\d]\w*)",
    re.DOTALL,
)
_IN_FORMAT = re.compile(rb"\{([^{}]*)")
_NAME = re.compile(rb"(\.[ \t]*)?([^\W\d]\w*)")
# no part of a text may match them in two ways, as a source could then take very long
_ITEM = rb"\[[^\n=\[\]]*(?:\[[^\n=\[\]]*\][^\n=\[\]]*)*\]"
_TARGET = rb"\*?[^\W\d]\w*(?:\.\w+|" + _ITEM + rb")*"
_TARGETS = re.compile(
    rb"[ \t]*\(?(" + _TARGET + rb"(?:[ \t]*,[ \t]*" + _TARGET + rb")*)[ \t]*,?[ \t]*\)?[ \t]*"
    rb"(?::[^=\n]+)?(?:[-+*/|&^%@]|//|\*\*|>>|<<)?=(?!=)"
)
_ITEMS = re.compile(_ITEM)
# an attribute that is only set is not read: a class's default of that name would rank first
_SET = re.compile(rb"\.[ \t]*([^\W\d]\w*)[ \t]*(?:,|$)")  # the last name of a target, in which items are no names
_CHANGED = re.compile(rb"[ \t]*([^\W\d]\w*)\.[\w.]+\(")
_HEAD = re.compile(rb"([ \t]*)(\w*)")
# only the first test that calls such a function executes it, and all others use its result
_KEPT = re.compile(
    rb"^@[ \t]*(?:functools[ \t]*\.[ \t]*)?(?:lru_)?cache[ \t]*(?:\([^()\n]*\)[ \t]*)?(?:#[^\n]*)?\n"
    rb"(?:@[^\n]*\n)*def[ \t]+(\w+)[ \t]*\([ \t]*\)",
    re.MULTILINE,
)
_IMPORTS_ALL = re.compile(rb"^[ \t]*from[ \t]+[\w.]+[ \t]+import[ \t]+\*", re.MULTILINE)
_OPERATORS = frozenset(bytes([sign]) for sign in b"-+*/|&^%@<>")
_KEYWORDS = frozenset(map(str.encode, keyword.kwlist)) - {b"from", b"import"}  # these are looked at


@dataclass(frozen=True, eq=False)
class Definitions:
    """Statements that give names values once for all tests, and the statements in functions that read the names."""

    element: Ints  # the column of each definition, ascending; shape (definitions,)
    reader: Ints  # the columns of the statements that read any of them, ascending; shape (readers,)
    start: Ints  # where in `read` the definitions of each reader begin; shape (readers + 1,)
    # the numbers of the definitions that each reader reads: itself, or by way of other definitions; shape (k,)
    read: Ints

    @classmethod
    def from_elements(
        cls, elements: Elements, source_of: SourceOf, reading: Collection[int] | None = None
    ) -> Definitions:
        """Find the definitions among some elements.

        Without those of files whose source is not available, and of C and C++.
        """
        _names_in.begin()
        headers: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for number, function in enumerate(elements.functions):
            headers[function.file].append((number, function.line))
        files = []
        for number, path in enumerate(checked(elements.files)):
            place = elements.in_file(path)
            source = source_of(path) if place.stop > place.start and not is_c(path) else None
            if source is not None:
                lines, ends, functions = (
                    part[place].astype(np.int32).tobytes()
                    for part in (elements.line, elements.end_line, elements.function)
                )
                whole = reading is None or number in reading
                names = _names_in(source, lines, ends, functions, tuple(headers[number]), whole=whole)
                files.append((place.start, names))
        return _joined(files, len(elements))

    def read_by(self, row: Row) -> Ints:
        """Return the definitions that some statements read.

        Of shape (m,). Numbers of definitions, ascending.
        """
        position = np.searchsorted(self.reader, row)
        position[position == len(self.reader)] = 0
        at = position[self.reader[position] == row] if len(self.reader) else position[:0]
        return np.unique(self.read[ranges(self.start[at], self.start[at + 1])])


@lru_cache(maxsize=4)
def definitions(elements: Elements, source_of: SourcesAsRun, reading: tuple[int, ...]) -> Definitions:
    """Return the definitions among some elements: the same object as long as the table and the files are the same.

    Empty where no source is available.
    """
    if (facts := source_of.facts) is not None:
        return Definitions(facts.element, facts.reader, facts.start, facts.read)
    return Definitions.from_elements(elements, source_of, reading)


class _Definition(NamedTuple):
    name: bytes
    element: int  # within its file
    in_class: bool


class _Names(NamedTuple):
    """The names of one file. Elements are counted within it."""

    definitions: tuple[_Definition, ...]
    alone: dict[bytes, Ints]  # by name, the statements that read it
    after_dot: dict[bytes, Ints]
    imported: frozenset[bytes]
    imports_all: bool  # of some module


class _Word(NamedTuple):
    name: bytes
    after_dot: bool
    offset: int


@Remembered
def _names_in(
    source: bytes, lines: bytes, ends: bytes, functions: bytes, headers: tuple[tuple[int, int], ...], *, whole: bool
) -> _Names:
    """The names of a Python source, or of its definitions alone.

    `lines`, `ends` and `functions` are those of its elements, int32; `headers` are the numbers and lines of its
    functions.
    """
    line, end, function = (np.frombuffer(part, np.int32) for part in (lines, ends, functions))
    mark = len(BOM_UTF8) if source.startswith(BOM_UTF8) else 0
    line_start = np.concatenate(
        [[0, mark], 1 + np.flatnonzero(np.frombuffer(source, np.uint8) == ord("\n")), [len(source)]]
    )
    begin = line_start[np.minimum(line, len(line_start) - 1)].tolist()
    scope = function.tolist()
    found = (*_definitions(source, begin, scope), *_kept_results(source, line_start, scope, headers))
    reading = {definition.element for definition in found}
    header_of = {int(np.searchsorted(line, at, "right")) - 1: number for number, at in headers}
    reads: tuple[dict[bytes, list[int]], dict[bytes, list[int]]] = defaultdict(list), defaultdict(list)
    local: set[tuple[int, bytes]] = set()
    imported: set[bytes] = set()
    if whole:
        words = list(_words(source, 0, len(source)))
    else:
        stop = line_start[np.minimum(end + 1, len(line_start) - 1)].tolist()
        words = [word for at in sorted(reading) for word in _words(source, begin[at], stop[at])]
    at_line = np.searchsorted(line_start[:-1], [word.offset for word in words], "right") - 1
    element = np.searchsorted(line, at_line, "right") - 1
    element[at_line > end[element]] = -1
    previous, importing, overwritten = -1, False, frozenset[int]()
    for word, at in zip(words, element.tolist(), strict=True):
        if at < 0:
            continue
        if at != previous:
            previous, importing = at, word.name in (b"from", b"import")
            overwritten = _overwritten(source, begin[at])
            if scope[at] >= 0 and not importing:
                local.update((scope[at], name) for name in _assigned(source, begin[at]))
        if importing:
            imported.add(word.name)
        elif at in header_of and not word.after_dot:
            local.add((header_of[at], word.name))  # a parameter
        elif (scope[at] >= 0 or at in reading) and word.offset not in overwritten:
            reads[word.after_dot][word.name].append(at)
    alone = {name: [at for at in places if (scope[at], name) not in local] for name, places in reads[False].items()}
    return _Names(
        found,
        _as_arrays(alone),
        _as_arrays(reads[True]),
        frozenset(imported),
        _IMPORTS_ALL.search(source) is not None,
    )


def _as_arrays(places: Mapping[bytes, list[int]]) -> dict[bytes, Ints]:
    """Each place once; they come in the order of the source."""
    return {name: np.array(list(dict.fromkeys(several)), np.int64) for name, several in places.items() if several}


def _words(source: bytes, start: int, stop: int) -> Iterator[_Word]:
    """The names in a part of a source, without keywords, comments and what is only text."""
    for match in _WORD.finditer(source, start, stop):
        if name := match["name"]:
            if name not in _KEYWORDS:
                yield _Word(name, match["dot"] is not None, match.start("name"))
        elif match["format"]:
            for part in _IN_FORMAT.finditer(match["string"]):
                for inner in _NAME.finditer(part[1]):
                    yield _Word(inner[2], inner[1] is not None, match.start("string") + part.start(1))


def _definitions(source: bytes, begin: list[int], scope: list[int]) -> Iterator[_Definition]:
    """The definitions among the elements that begin at some offsets, in some functions."""
    blocks: list[tuple[int, bool]] = []  # the blocks around: how far they are indented, and whether in a class
    for element, (offset, function) in enumerate(zip(begin, scope, strict=True)):
        if function >= 0:
            continue
        head = _HEAD.match(source, offset)
        assert head is not None  # it matches nothing, too
        indent = len(head[1])
        while blocks and blocks[-1][0] >= indent:
            blocks.pop()
        in_class = bool(blocks) and blocks[-1][1]
        blocks.append((indent, in_class or head[2] == b"class"))
        for name in _assigned(source, offset) or _changed(source, offset):
            yield _Definition(name, element, in_class)


def _kept_results(
    source: bytes, line_start: Ints, scope: list[int], headers: tuple[tuple[int, int], ...]
) -> Iterator[_Definition]:
    """The statements of functions without parameters whose result is kept, under the name of the function."""
    for match in _KEPT.finditer(source):
        first, last = np.searchsorted(line_start[:-1], [match.start(), match.end()], "right") - 1
        numbers = {number for number, line in headers if first <= line <= last}
        for element, function in enumerate(scope):
            if function in numbers:
                yield _Definition(match[1], element, in_class=False)


def _assigned(source: bytes, offset: int) -> list[bytes]:
    """The names that a statement assigns to; for an attribute also the object's, for an item that of the whole."""
    return [
        name
        for match in _targets(source, offset)
        for _, name in _NAME.findall(_ITEMS.sub(b"", match[1]))
        if name not in _KEYWORDS
    ]


def _overwritten(source: bytes, offset: int) -> frozenset[int]:
    """Where the names of attributes are that a statement gives another value: `self.rate = 7` does not read `rate`."""
    found: set[int] = set()
    for match in _targets(source, offset):
        if source[match.end() - 2 : match.end() - 1] not in _OPERATORS:
            targets = _ITEMS.sub(lambda item: b"]" * len(item[0]), match[1])
            found.update(match.start(1) + name.start(1) for name in _SET.finditer(targets))
    return frozenset(found)


def _targets(source: bytes, offset: int) -> Iterator[re.Match[bytes]]:
    """The targets of a statement, with what assigns to them; of `a = b = 0` there are two."""
    while match := _TARGETS.match(source, offset):
        yield match
        offset = match.end()


def _changed(source: bytes, offset: int) -> list[bytes]:
    """The name whose method a statement calls, and does nothing else."""
    match = _CHANGED.match(source, offset)
    return [match[1]] if match is not None else []


def _joined(files: list[tuple[int, _Names]], columns: int) -> Definitions:
    """The definitions of several files, each with the column of its first element."""
    by_name: dict[bytes, list[tuple[int, bool, int]]] = defaultdict(list)  # file, whether in a class, column
    for number, (first, names) in enumerate(files):
        for definition in names.definitions:
            by_name[definition.name].append((number, definition.in_class, first + definition.element))
    element = np.unique([column for places in by_name.values() for _, _, column in places]).astype(np.int64)
    defines = np.zeros(columns, bool)
    defines[element] = True
    readers: dict[int, list[Ints]] = defaultdict(list)  # of each definition
    for number, (first, names) in enumerate(checked(files)):
        for name in names.alone.keys() & by_name.keys():
            places = first + names.alone[name]
            for file, in_class, column in by_name[name]:
                if file == number:
                    # a name of a class is known alone only in the class, where definitions are
                    readers[column].append(places[defines[places]] if in_class else places)
                elif not in_class and (names.imports_all or name in names.imported):
                    readers[column].append(places)
        for name in names.after_dot.keys() & by_name.keys():
            places = first + names.after_dot[name]
            for file, in_class, column in by_name[name]:
                if in_class or file != number:
                    readers[column].append(places)
    direct = {
        column: np.unique(np.concatenate(places)) if len(places) > 1 else places[0]
        for column, places in readers.items()
    }
    by_definitions = {column: places[defines[places]].tolist() for column, places in direct.items()}
    in_functions = {column: places[~defines[places]] for column, places in direct.items()}
    reader, read = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for number, column in enumerate(checked(element.tolist())):
        parts = [in_functions[one] for one in _reached(column, by_definitions) if one in in_functions]
        own = np.unique(np.concatenate(parts)) if len(parts) > 1 else np.concatenate([reader[0], *parts])
        reader.append(own)
        read.append(np.full(len(own), number))
    every, numbers = np.concatenate(reader), np.concatenate(read)
    order = np.lexsort((numbers, every))
    reading, start = np.unique(every[order], return_index=True)
    return Definitions(element, reading, np.append(start, len(every)), numbers[order])


def _reached(column: int, by_definitions: dict[int, list[int]]) -> set[int]:
    """A definition, and those that read it, themselves or by way of others."""
    found, pending = {column}, [column]
    while pending:
        new = set(by_definitions.get(pending.pop(), ())) - found
        found |= new
        pending += new
    return found

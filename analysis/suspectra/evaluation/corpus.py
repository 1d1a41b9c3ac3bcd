"""Subjects with known faults: a folder of spectra, as arrays, with an index.

The folder contains ``index.csv``, one row a subject with at least the columns ``family``, ``subject`` and ``path``, and
for each subject a numpy archive:

``outcomes`` (1 = failed), ``elements`` ("file:line") and ``faulty`` (indices into the elements);
``cov_row`` (test → unique row) with ``cov_indptr`` and ``cov_indices``, the unique rows over the elements;
optionally ``tests`` (names), and ``edges`` (int, n × 3) with ``edge_row``, ``edge_indptr`` and ``edge_indices`` laid
out alike. Edges of compiled code are (function, source block, target block), with ``functions``
("name|file|first|last") and ``block_lines`` (function, block, line); edges of Python are (file, from line, to line)
in coverage.py's convention, with the files in ``functions``. For Python also optionally ``end_line`` (the last line of
each element), ``function`` (its function, -1 for none) and ``function_names`` ("file|name|first|last"); ``conditions``
(int, n × 5: the file's number in ``functions``, then first line, first column, last line, last column + 1), whose
outcomes are edges too; and, in place of sources, ``kind`` (of each element) with ``definition`` (elements, ascending),
``definition_reader`` (elements, ascending), ``definition_start`` and ``definition_read`` (for each reader numbers of
definitions).

Beside an archive ``NAME.npz`` there may be ``NAME.tb.json.gz``: the tracebacks of failing tests, a list of objects with
``test`` and ``frames`` ([file, line, function], outermost first). Where sources are given, each subject's lie in a
folder that is named as the distribution in its ``provenance`` (such as "sdist cachetools 8.0.1"), and
``NAME.src.json.gz`` may contain the one ``file`` that is different, as ``source``.

Archives are not trusted: nothing in them is unpickled, and every index is checked.
"""

from __future__ import annotations

import csv
import gzip
import json
import lzma
import os
import re
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from suspectra.base.arrays import Ints, Row
from suspectra.base.errors import EvidenceError, Problem
from suspectra.program import Program
from suspectra.program.flow_graph import FlowGraph
from suspectra.program.source_facts import SourceFacts
from suspectra.program.statements import StatementKind
from suspectra.spectrum import EdgeKind, Edges, Elements, Function, Spectrum

INDEX = "index.csv"
_MAX_SIZE = 8 << 30  # bytes of one archive when it is unpacked
_MAX_BLOCKS = 1 << 24  # of one function
_MAX_JSON = 1 << 28  # bytes of a file beside an archive when it is unpacked
_DISTRIBUTION = re.compile(r"\bsdist ([\w.-]+?)[- ](\d[\w.]*)")
_CURE = "write the archive again, or take its row out of the index"


@dataclass(frozen=True)
class SubjectFile:
    """The files of a stored subject."""

    family: str  # what tables group subjects by
    name: str  # of the subject
    path: Path  # its archive
    sources: Path | None = None  # a folder with the source distributions that subjects were recorded from

    def files(self) -> list[Path]:
        """The files that its results depend on."""
        return [self.path, self.tracebacks, self.changed_source]

    @property
    def tracebacks(self) -> Path:
        """The path of the tracebacks of its failing tests, if there are any."""
        return self.path.with_suffix(".tb.json.gz")

    @property
    def changed_source(self) -> Path:
        """The path of the changed source file, if it differs from the distribution's."""
        return self.path.with_suffix(".src.json.gz")


@dataclass(frozen=True, eq=False)
class Subject:
    """A program with known faults and the spectrum of its tests."""

    # what tables group subjects by, and its own name
    family: str
    name: str
    spectrum: Spectrum  # the spectrum of its tests
    program: Program  # its flow graphs and sources, as far as they are known
    faulty: Ints  # elements that contain a fault; shape (k,)
    # several faults that are ranked one by one: the name and the elements of each
    faults: tuple[tuple[str, Ints], ...] = ()


def read_index(folder: Path, sources: Path | None = None) -> tuple[list[SubjectFile], list[Problem]]:
    """Read the index of a corpus.

    In the order of the index.

    Raises EvidenceError when there is no index, or it is not one.
    """
    path = folder / INDEX
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            rows = csv.DictReader(file)
            missing = {"family", "subject", "path"} - set(rows.fieldnames or ())
            if missing:
                cause = f"it has no column {' and no column '.join(sorted(missing))}"
                raise EvidenceError(Problem(str(path), "", cause, "name the folder of a corpus"))
            found = [_entry(folder, row, number, sources) for number, row in enumerate(rows, 2)]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        cause = f"it can't be read: {getattr(error, 'strerror', None) or error}"
        raise EvidenceError(Problem(str(path), "", cause, "name the folder of a corpus")) from None
    return (
        [entry for entry in found if isinstance(entry, SubjectFile)],
        [entry for entry in found if isinstance(entry, Problem)],
    )


def _entry(folder: Path, row: dict[str, str | None], number: int, sources: Path | None) -> SubjectFile | Problem:
    path = row["path"] or ""
    if not path or "\x00" in path or not _within(folder, path):
        return Problem(
            str(folder / INDEX), f"line {number}", f"{path!r} is not a file of the corpus", "correct the path"
        )
    return SubjectFile(row["family"] or "", row["subject"] or path, Path(os.path.realpath(folder / path)), sources)


def _within(folder: Path, path: str) -> bool:
    real, root = os.path.realpath(folder / path), os.path.realpath(folder)
    return os.path.commonpath([root, real]) == root


def read_subject(file: SubjectFile) -> Subject:
    """Read one archive.

    With flow graphs where the archive contains them.

    Raises EvidenceError when it is damaged, or does not contain what a subject needs.
    """
    try:
        return _Reader(file).subject()
    except EvidenceError:
        raise
    except FileNotFoundError:
        raise _damaged(file, "there is no such file") from None
    except KeyError as error:
        raise _damaged(file, f"it contains no array {error}") from None
    except _DAMAGE as error:
        raise _damaged(file, f"it is damaged: {error}") from None


_DAMAGE = (
    OSError,
    ValueError,
    TypeError,
    IndexError,
    EOFError,
    MemoryError,
    RuntimeError,  # an unknown compression, or a password
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
)


def _damaged(file: SubjectFile, cause: str) -> EvidenceError:
    return EvidenceError(Problem(str(file.path), file.name, cause, _CURE))


class _Reader:
    def __init__(self, file: SubjectFile):
        self.file = file
        with zipfile.ZipFile(file.path) as archive:
            size = sum(part.file_size for part in archive.infolist())
        if size > _MAX_SIZE:
            raise ValueError(f"it would take {size >> 20} MB")
        with np.load(file.path, allow_pickle=False) as arrays:
            self.arrays = {name: arrays[name] for name in arrays.files}

    def subject(self) -> Subject:
        failed = self._integers("outcomes") != 0
        elements, place = self._elements()
        rows = self._rows("cov", len(failed), len(elements), place)
        faulty = self._within("faulty", len(elements))
        if not len(faulty):
            raise _damaged(self.file, "it names no faulty element")
        edges: Edges | None = None
        edge_rows: tuple[Row, ...] | None = None
        graphs: tuple[FlowGraph, ...] = ()
        if "edges" in self.arrays:
            elements, edges, graphs = self._edges(elements)
            edge_rows = self._rows("edge", len(failed), len(edges), np.arange(len(edges)))
        names = self.arrays.get("tests")
        tests = tuple(map(str, names)) if names is not None else tuple(f"t{i + 1}" for i in range(len(failed)))
        candidates, raised = np.ones(len(elements), bool), self._raised(tests, elements)
        spectrum = Spectrum(tests, failed, elements, rows, candidates, edges, edge_rows, raised=raised)
        program = Program((), graphs, self._source_of(), facts=self._facts(len(elements), place))
        return Subject(self.file.family, self.file.name, spectrum, program, np.unique(place[faulty]))

    def _raised(self, tests: tuple[str, ...], elements: Elements) -> Ints | None:
        """The element in which each test failed, -1 where it is unknown."""
        stacks = _json(self.file.tracebacks)
        if stacks is None:
            return None
        raised = np.full(len(tests), -1, np.int32)
        number = {test: i for i, test in enumerate(tests)}
        for stack in stacks:
            for file, line, _ in reversed(stack["frames"]):
                element = elements.at(str(file), int(line))
                if element is not None and stack["test"] in number:
                    raised[number[stack["test"]]] = element
                    break
        return raised

    def _source_of(self) -> Callable[[str], bytes | None] | None:
        """Reads the sources of its distribution, if available, with the changed file in place of the original."""
        meta = json.loads(str(self.arrays["meta"])) if "meta" in self.arrays else {}
        named = _DISTRIBUTION.search(str(meta.get("provenance", "")))
        if self.file.sources is None or named is None:
            return None
        wanted = _normal("-".join(named.groups()))
        folder = next((entry for entry in sorted(self.file.sources.iterdir()) if _normal(entry.name) == wanted), None)
        if folder is None:
            raise ValueError(f"{self.file.sources} contains no folder {'-'.join(named.groups())}")
        changed = _json(self.file.changed_source) or {}
        return partial(_source, folder, {changed["file"]: changed["source"]} if changed.get("source") else {})

    def _facts(self, count: int, place: Ints) -> SourceFacts | None:
        """What is known of the sources, if the archive contains that."""
        if "kind" not in self.arrays:
            return None
        kinds = np.zeros(count, np.int8)
        kinds[place] = self._for_elements("kind", np.zeros(0, int), np.arange(count))
        if len(kinds) and not (kinds.min() >= StatementKind.OTHER and kinds.max() <= StatementKind.RETURN):
            raise ValueError("kinds that there are not")
        element, reader = (place[self._within(name, count)] for name in ("definition", "definition_reader"))
        start, read = self._integers("definition_start").astype(np.int64), self._within("definition_read", len(element))
        if (
            any((np.diff(columns) <= 0).any() for columns in (element, reader))
            or len(start) != len(reader) + 1
            or (start[0], start[-1]) != (0, len(read))
            or (np.diff(start) < 0).any()
        ):
            raise ValueError("the definition arrays do not fit together")
        return SourceFacts(kinds, element, reader, start, read)

    def _elements(self) -> tuple[Elements, Ints]:
        """The elements by file and line, and where each array index went."""
        names = [str(name).rpartition(":") for name in self.arrays["elements"]]
        files = tuple(dict.fromkeys(file for file, _, _ in names))
        number = {file: i for i, file in enumerate(files)}
        file = np.array([number[file] for file, _, _ in names], np.int32)
        line = np.array([int(line) for _, _, line in names], np.int32)
        if (line < 1).any():
            raise ValueError("lines count from 1")
        order = np.lexsort((line, file))
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order))
        functions = self._functions(number)
        files = tuple(number)
        end_line = self._for_elements("end_line", line, order)
        file, line = file[order], line[order]
        if (end_line < line).any():
            raise ValueError("statements end before they begin")
        function: Ints = np.full(len(line), -1, np.int32)
        for i, one in enumerate(functions):
            function[(file == one.file) & (line >= one.line) & (line <= one.end_line)] = i
        if not self._compiled:
            function = self._for_elements("function", np.full(len(line), -1), order)
            if len(function) and not (function.min() >= -1 and function.max() < len(functions)):
                raise ValueError("function points outside")
        return Elements(files, file, line, end_line, function, functions), place

    def _for_elements(self, name: str, default: Ints, order: Ints) -> Ints:
        """An array with a number per element, sorted like the elements."""
        given = self._integers(name) if name in self.arrays else default
        if len(given) != len(order):
            raise ValueError(f"{name} does not fit the elements")
        return given[order].astype(np.int32)

    @property
    def _compiled(self) -> bool:
        return "block_lines" in self.arrays

    def _functions(self, files: dict[str, int]) -> tuple[Function, ...]:
        if self._compiled:
            parts = [str(name).rsplit("|", 3) for name in self.arrays["functions"]]
        else:
            named = [str(name).split("|") for name in self.arrays.get("function_names", ())]
            parts = [[name, file, first, last] for file, name, first, last in named]
        return tuple(
            Function(files.setdefault(file, len(files)), name, max(int(first), 1), max(int(last), int(first), 1))
            for name, file, first, last in parts
        )

    def _edges(self, elements: Elements) -> tuple[Elements, Edges, tuple[FlowGraph, ...]]:
        table = self._integers("edges").reshape(-1, 3).astype(np.int64)
        owner = table[:, 0]
        named = self.arrays["functions"]
        if len(table) and not (owner.min() >= 0 and owner.max() < len(named)):
            raise ValueError("edges of functions that are not there")
        ends = table[:, 1].astype(np.int32), table[:, 2].astype(np.int32)
        if self._compiled:
            file = np.array([function.file for function in elements.functions], np.int32)
            edges = Edges(file[owner], *ends, owner.astype(np.int32), EdgeKind.BLOCK)
            return elements, edges, self._graphs(table, elements)
        known = {file: i for i, file in enumerate(elements.files)}
        files = elements.files + tuple(dict.fromkeys(str(file) for file in named if str(file) not in known))
        known = {file: i for i, file in enumerate(files)}
        number = np.array([known[str(file)] for file in named], np.int32)
        whole = Elements(files, elements.file, elements.line, elements.end_line, elements.function, elements.functions)
        edges = Edges(
            number[owner],
            *ends,
            np.full(len(table), -1, np.int32),
            EdgeKind.ARC,
            conditions=self._conditions(number, len(files)),
        )
        return whole, edges, ()

    def _conditions(self, number: Ints, files: int) -> tuple[Ints, ...]:
        """The conditions inside expressions of each file; none if the archive has none."""
        if "conditions" not in self.arrays:
            return ()
        table = self._integers("conditions").reshape(-1, 5).astype(np.int32)
        if len(table) and not (table[:, 0].min() >= 0 and table[:, 0].max() < len(number)):
            raise ValueError("conditions of files that are not there")
        return tuple(table[number[table[:, 0]] == file, 1:] for file in range(files))

    def _graphs(self, table: Ints, elements: Elements) -> tuple[FlowGraph, ...]:
        lines = self._integers("block_lines").reshape(-1, 3).astype(np.int64)
        if (len(table) and table[:, 1:].min() < 0) or (len(lines) and lines[:, :2].min() < 0):
            raise ValueError("negative numbers of blocks")
        column = np.arange(len(table))
        graphs = []
        for index, function in enumerate(elements.functions):
            own, own_lines = table[:, 0] == index, lines[lines[:, 0] == index]
            span = elements.in_file(elements.files[function.file])
            at = np.searchsorted(elements.line[span], own_lines[:, 2])
            found = at < span.stop - span.start
            found[found] = elements.line[span][at[found]] == own_lines[found, 2]
            blocks = int(max(table[own, 1:].max(initial=1), own_lines[:, 1].max(initial=1))) + 1
            if blocks > _MAX_BLOCKS:
                raise ValueError("numbers of blocks out of range")
            edges = zip(*(part.tolist() for part in (table[own, 1], table[own, 2], column[own])), strict=True)
            members = zip(own_lines[found, 1].tolist(), (at[found] + span.start).tolist(), strict=True)
            graphs.append(FlowGraph.from_edges(index, blocks, edges, members))
        return tuple(graphs)

    def _rows(self, name: str, tests: int, columns: int, place: Ints) -> tuple[Row, ...]:
        """For each test its sorted columns; tests with one row share the array."""
        of_test = self._integers(f"{name}_row")
        starts, indices = self._integers(f"{name}_indptr"), self._within(f"{name}_indices", columns)
        sound = (
            len(of_test) == tests
            and len(starts) > 0
            and starts[0] == 0
            and starts[-1] == len(indices)
            and (np.diff(starts.astype(np.int64)) >= 0).all()
            and (not tests or (of_test.min() >= 0 and of_test.max() < len(starts) - 1))
        )
        if not sound:
            raise ValueError(f"the {name} arrays do not fit together")
        starts = starts.astype(np.int64)
        unique = [np.unique(place[indices[start:end]]).astype(np.int32) for start, end in pairwise(starts.tolist())]
        return tuple(unique[row] for row in of_test.tolist())

    def _within(self, name: str, count: int) -> Ints:
        indices = self._integers(name).astype(np.int64)
        if len(indices) and not (indices.min() >= 0 and indices.max() < count):
            raise ValueError(f"{name} points outside")
        return indices

    def _integers(self, name: str) -> Ints:
        array: Ints = self.arrays[name]
        if array.dtype.kind not in "iub":
            raise ValueError(f"{name} contains no whole numbers")
        return array


def _json(path: Path) -> Any:
    """The content of a compressed JSON file; None if there is no such file."""
    try:
        with gzip.open(path) as packed:
            text = packed.read(_MAX_JSON + 1)
        if len(text) > _MAX_JSON:
            raise ValueError(f"it would take more than {_MAX_JSON >> 20} MB")
        return json.loads(text)
    except FileNotFoundError:
        return None
    except (OSError, EOFError, zlib.error, ValueError, RecursionError) as error:
        raise ValueError(f"{path.name} can't be read: {error}") from None


def _normal(name: str) -> str:
    """The normalized name of a distribution, in which case and separators do not matter."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _source(folder: Path, changed: dict[str, str], path: str) -> bytes | None:
    """The content of a source file as it was run."""
    if path in changed:
        return changed[path].encode()
    if not _within(folder, path):
        return None
    try:
        return (folder / path).read_bytes()
    except OSError:
        return None

"""Subjects with known faults: a folder of spectra, as arrays, with an index.

The folder holds ``index.csv``, one row a subject with at least the columns ``family``, ``subject`` and ``path``, and
for each subject a numpy archive:

``outcomes`` (1 = failed), ``elements`` ("file:line") and ``faulty`` (indices into the elements);
``cov_row`` (test → unique row) with ``cov_indptr`` and ``cov_indices``, the unique rows over the elements;
optionally ``tests`` (names), and ``edges`` (int, n × 3) with ``edge_row``, ``edge_indptr`` and ``edge_indices`` laid
out alike. Edges of compiled code are (function, source block, target block), with ``functions``
("name|file|first|last") and ``block_lines`` (function, block, line); edges of Python are (file, from line, to line)
in coverage.py's convention, with the files in ``functions``.

Archives come from others and are not trusted: nothing in them is unpickled, and every index is checked.
"""

from __future__ import annotations

import csv
import lzma
import os
import zipfile
import zlib
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

from suspectra.arrays import Ints, Row
from suspectra.errors import EvidenceError, Problem
from suspectra.program import Program
from suspectra.program.flow_graph import FlowGraph
from suspectra.spectrum import EdgeKind, Edges, Elements, Function, Spectrum

INDEX = "index.csv"
_MAX_SIZE = 8 << 30  # bytes of one archive when it is unpacked
_MAX_BLOCKS = 1 << 24  # of one function
_CURE = "write the archive again, or take its row out of the index"


@dataclass(frozen=True)
class SubjectFile:
    """Where a subject is stored.

    Parameters
    ----------
    family : str
        What tables group subjects by.
    name : str
        Of the subject.
    path : Path
        Its archive.

    Examples
    --------
    >>> subject = SubjectFile("shop", "shop-17", Path("corpus/shop-17.npz"))
    >>> subject.files() == [subject.path]
    True
    """

    family: str
    name: str
    path: Path

    def files(self) -> list[Path]:
        """What its results depend on.

        Returns
        -------
        list of Path
            When one of them changes, the subject is ranked again.
        """
        return [self.path]


@dataclass(frozen=True, eq=False)
class Subject:
    """A program with known faults, and what its tests did.

    Parameters
    ----------
    family, name : str
        What tables group subjects by, and its own name.
    spectrum : Spectrum
        What its tests did.
    program : Program
        Its flow graphs.
    faulty : ndarray of int64, shape (k,)
        Elements that hold a fault.

    Examples
    --------
    >>> spectrum = Spectrum.from_matrix([[1, 1, 0], [1, 0, 1]], failed=[True, False])
    >>> subject = Subject("shop", "shop-17", spectrum, Program(()), np.array([1]))
    >>> print(subject.spectrum.elements.location(subject.faulty[0]))
    program:2
    """

    family: str
    name: str
    spectrum: Spectrum
    program: Program
    faulty: Ints


def read_index(folder: Path) -> tuple[list[SubjectFile], list[Problem]]:
    r"""The subjects of a corpus, and rows of the index that name none.

    Parameters
    ----------
    folder : Path
        The corpus.

    Returns
    -------
    subjects : list of SubjectFile
        In the order of the index.
    problems : list of Problem
        Rows that name no subject.

    Raises
    ------
    EvidenceError
        When there is no index, or it is not one.

    Examples
    --------
    >>> _ = (folder / "index.csv").write_text("family,subject,path\nshop,shop-17,shop-17.npz\n")
    >>> subjects, problems = read_index(folder)
    >>> [subject.name for subject in subjects]
    ['shop-17']
    """
    path = folder / INDEX
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            rows = csv.DictReader(file)
            missing = {"family", "subject", "path"} - set(rows.fieldnames or ())
            if missing:
                cause = f"it has no column {' and no column '.join(sorted(missing))}"
                raise EvidenceError(Problem(str(path), "", cause, "name the folder of a corpus"))
            found = [_entry(folder, row, number) for number, row in enumerate(rows, 2)]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        cause = f"it can't be read: {getattr(error, 'strerror', None) or error}"
        raise EvidenceError(Problem(str(path), "", cause, "name the folder of a corpus")) from None
    return (
        [entry for entry in found if isinstance(entry, SubjectFile)],
        [entry for entry in found if isinstance(entry, Problem)],
    )


def _entry(folder: Path, row: dict[str, str | None], number: int) -> SubjectFile | Problem:
    path = row["path"] or ""
    if not path or "\x00" in path or not _within(folder, path):
        return Problem(
            str(folder / INDEX), f"line {number}", f"{path!r} is not a file of the corpus", "correct the path"
        )
    return SubjectFile(row["family"] or "", row["subject"] or path, Path(os.path.realpath(folder / path)))


def _within(folder: Path, path: str) -> bool:
    real, root = os.path.realpath(folder / path), os.path.realpath(folder)
    return os.path.commonpath([root, real]) == root


def read_subject(file: SubjectFile) -> Subject:
    """Read one archive.

    Parameters
    ----------
    file : SubjectFile
        From the index.

    Returns
    -------
    Subject
        With flow graphs where the archive holds them.

    Raises
    ------
    EvidenceError
        When it is damaged, or does not hold what a subject needs.

    Examples
    --------
    >>> np.savez(
    ...     folder / "shop-17.npz", outcomes=[1, 0], elements=["cart.py:3", "cart.py:4"], faulty=[1],
    ...     cov_row=[0, 1], cov_indptr=[0, 2, 3], cov_indices=[0, 1, 0],
    ... )
    >>> subject = read_subject(SubjectFile("shop", "shop-17", folder / "shop-17.npz"))
    >>> subject.spectrum.counts.ef.tolist(), subject.faulty.tolist()
    ([1, 1], [1])
    """
    try:
        return _Reader(file).subject()
    except EvidenceError:
        raise
    except FileNotFoundError:
        raise _damaged(file, "there is no such file") from None
    except KeyError as error:
        raise _damaged(file, f"it holds no array {error}") from None
    except _DAMAGE as error:
        raise _damaged(file, f"it is damaged: {error}") from None


_DAMAGE = (
    OSError,
    ValueError,
    TypeError,
    IndexError,
    EOFError,
    MemoryError,
    RuntimeError,  # packed in a way, or with a password, that is not known here
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
        spectrum = Spectrum(tests, failed, elements, rows, np.ones(len(elements), bool), edges, edge_rows)
        return Subject(self.file.family, self.file.name, spectrum, Program((), graphs), np.unique(place[faulty]))

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
        file, line = file[order], line[order]
        function = np.full(len(line), -1, np.int32)
        for i, one in enumerate(functions):
            function[(file == one.file) & (line >= one.line) & (line <= one.end_line)] = i
        return Elements(files, file, line, line, function, functions), place

    @property
    def _compiled(self) -> bool:
        return "block_lines" in self.arrays

    def _functions(self, files: dict[str, int]) -> tuple[Function, ...]:
        if not self._compiled:
            return ()
        parts = [str(name).rsplit("|", 3) for name in self.arrays["functions"]]
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
        return whole, Edges(number[owner], *ends, np.full(len(table), -1, np.int32), EdgeKind.ARC), ()

    def _graphs(self, table: Ints, elements: Elements) -> tuple[FlowGraph, ...]:
        lines = self._integers("block_lines").reshape(-1, 3).astype(np.int64)
        if (len(table) and table[:, 1:].min() < 0) or (len(lines) and lines[:, :2].min() < 0):
            raise ValueError("negative numbers of blocks")
        column = np.arange(len(table))
        graphs = []
        for index, function in enumerate(elements.functions):
            own, held = table[:, 0] == index, lines[lines[:, 0] == index]
            span = elements.of_file(elements.files[function.file])
            at = np.searchsorted(elements.line[span], held[:, 2])
            found = at < span.stop - span.start
            found[found] = elements.line[span][at[found]] == held[found, 2]
            blocks = int(max(table[own, 1:].max(initial=1), held[:, 1].max(initial=1))) + 1
            if blocks > _MAX_BLOCKS:
                raise ValueError("numbers of blocks out of range")
            edges = zip(*(part.tolist() for part in (table[own, 1], table[own, 2], column[own])), strict=True)
            members = zip(held[found, 1].tolist(), (at[found] + span.start).tolist(), strict=True)
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
            raise ValueError(f"{name} holds no whole numbers")
        return array

"""Reading coverage.py's data file directly from its SQLite tables.

The file is not trusted: it is opened read-only, only plain tables are read, the sizes of values are checked before they
are loaded, and the work of each statement is limited.

References
----------
https://coverage.readthedocs.io/en/latest/dbschema.html describes the tables; this reads schema 7, which
coverage.py has written since 5.0.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol
from urllib.parse import quote

import numpy as np

from suspectra.base.arrays import Ints
from suspectra.base.errors import EvidenceError, Problem
from suspectra.evidence import places
from suspectra.evidence.boundary import Boundary
from suspectra.evidence.opening import open_evidence
from suspectra.evidence.sources import reason

SCHEMA = 7
_COLUMNS = {
    "coverage_schema": ("version",),
    "meta": ("key", "value"),
    "file": ("id", "path"),
    "context": ("id", "context"),
    "line_bits": ("file_id", "context_id", "numbits"),
    "arc": ("file_id", "context_id", "fromno", "tono"),
    "tracer": ("file_id", "tracer"),
}
_MAGIC = b"SQLite format 3\x00"
_OLD_MAGIC = b"!coverage.py: This is a private"

# limits of plausible values; all far above those of real projects
MAX_LINES = 2**20  # in one file
_MAX_NAME = 2**16
_MAX_NAMES = 2**21
_MAX_NAME_BYTES = 2**28
_CHUNK_BYTES = 2**21
_BESIDE = ("-journal", "-wal", "-shm")  # suffixes of further files that SQLite opens
MAX_DATA = 2**34  # bytes of the file
_BUSY_TIMEOUT_S = 1.0
"""For SQLite to wait for the lock of a program that writes to the file: longer than such a program needs it."""

# a row takes about twenty steps of SQLite's virtual machine, and sixteen bytes of the file with its index
_STEPS_PER_BYTE = 10
_STEPS_AT_LEAST = 50_000_000
_STEPS_BETWEEN_CHECKS = 1_000_000

HOW_TO_SWITCH_CONTEXTS_ON = (
    "run pytest with `--cov --cov-context=test` (pytest-cov), or set `dynamic_context = test_function` under `[run]`"
    " in .coveragerc; on Python 3.14 also set `core = ctrace` there, because coverage.py's sys.monitoring core records"
    " no contexts. `suspectra record -- pytest` needs neither"
)
_REMAKE = "run the tests with coverage again"
_OTHER_READERS = (
    "install the coverage.py that wrote it beside Suspectra, write `coverage json --show-contexts` for it, or use"
    " `suspectra record -- pytest`"
)


class MeasuredData(Protocol):
    """What each context executed in each file, whatever it was read from."""

    name: str
    files: list[tuple[int, str]]  # numbers and paths
    contexts: dict[int, str]  # by number
    has_arcs: bool
    plugins: set[int]  # the files that a plugin measured, which are no Python

    def lines(self, file: int) -> Iterator[tuple[Ints, Ints]]:
        """Read the contexts and the lines that these executed, in chunks."""

    def arcs(self, file: int) -> tuple[Ints, Ints, Ints]:
        """Read contexts, and the ends of the arcs that these executed."""


class NewerSchema(EvidenceError):
    """Plain tables that a later version of coverage.py wrote."""


class CoverageData:
    """One open data file; use it in a ``with`` statement.

    Raises EvidenceError when the file can't be read, is not coverage data or is damaged, and NewerSchema when another
    version of coverage.py may be able to read it.
    """

    def __init__(self, path: Path, name: str, boundary: Boundary | None = None):
        self.path, self.name, self._boundary = path, name, boundary

    def __enter__(self) -> CoverageData:
        size = self._check_file()
        with self._errors():
            uri = f"file:{quote(os.path.abspath(self.path))}?mode=ro"
            self._db = sqlite3.connect(uri, uri=True, timeout=_BUSY_TIMEOUT_S, isolation_level=None)
            try:
                self._open(size)
            except BaseException:
                self._db.close()
                raise
        return self

    def __exit__(self, *_: object) -> None:
        self._db.close()

    def lines(self, file: int) -> Iterator[tuple[Ints, Ints]]:
        """Read the executed lines of a file, in chunks.

        Of shape (hits,).
        """
        with self._errors():
            query = "select max(length(numbits)) from line_bits where file_id = ?"
            longest = self._db.execute(query, (file,)).fetchone()[0] or 1
            if longest > MAX_LINES // 8:
                raise self._damaged("table line_bits", f"it contains line numbers above {MAX_LINES}")
            query = "select context_id, numbits from line_bits where file_id = ? and typeof(numbits) = 'blob'"
            rows = self._db.execute(query, (file,))
            while chunk := rows.fetchmany(max(1, _CHUNK_BYTES // longest)):
                yield _unpack(chunk)

    def arcs(self, file: int) -> tuple[Ints, Ints, Ints]:
        """Read the executed arcs of a file.

        Of shape (hits,).
        """
        with self._errors():
            # packed into one integer, a row costs a third of what three columns cost
            query = (
                f"select (rowid_of << 42) | ((fromno + {MAX_LINES}) << 21) | (tono + {MAX_LINES}) from ("
                "select context_id as rowid_of, fromno, tono from arc where file_id = ?)"
                f" where abs(fromno) < {MAX_LINES} and abs(tono) < {MAX_LINES}"
                f" and rowid_of between 0 and {_MAX_NAMES} and typeof(rowid_of) = 'integer'"
                " and typeof(fromno) = 'integer' and typeof(tono) = 'integer'"
            )
            packed = np.fromiter((row[0] for row in self._db.execute(query, (file,))), np.int64)
            count = self._db.execute("select count(*) from arc where file_id = ?", (file,)).fetchone()[0]
        if count != len(packed):
            raise self._damaged("table arc", f"{count - len(packed)} rows contain values that are not line numbers")
        mask = 2 * MAX_LINES - 1
        return packed >> 42, (packed >> 21 & mask) - MAX_LINES, (packed & mask) - MAX_LINES

    def _check_file(self) -> int:
        try:
            with open_evidence(self.path, self._boundary, MAX_DATA) as file:
                head = file.read(len(_OLD_MAGIC))
                size = os.fstat(file.fileno()).st_size
            for suffix in _BESIDE:
                if os.path.islink(f"{self.path}{suffix}"):
                    raise self._error(f"the file {suffix} that belongs to it is a link", "remove the link")
        except FileNotFoundError:
            raise self._error(
                "there is no such file", "run pytest with `--cov --cov-context=test`, or `suspectra record -- pytest`"
            ) from None
        except (OSError, ValueError) as error:
            is_denied = isinstance(error, PermissionError)
            cure = "check its permissions" if is_denied else "name the data file itself, normally .coverage"
            raise self._error(f"it can't be read: {reason(error)}", cure) from None
        if not head:
            raise self._error("it is empty", f"{_REMAKE} and let the run finish")
        if head.startswith(_OLD_MAGIC):
            raise self._error("coverage.py 4 wrote it", "update coverage.py to 5 or newer and run the tests again")
        if not head.startswith(_MAGIC):
            raise self._error("it is not coverage.py's SQLite data", "name a file that coverage.py 5 or newer wrote")
        return size

    def _open(self, size: int) -> None:
        db = self._db
        if hasattr(db, "setlimit"):  # Python 3.11
            db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 2**24)
        db.text_factory = lambda data: data.decode("utf-8", "replace")
        steps = iter(range(max(_STEPS_AT_LEAST, size * _STEPS_PER_BYTE) // _STEPS_BETWEEN_CHECKS))
        db.set_progress_handler(lambda: next(steps, None) is None, _STEPS_BETWEEN_CHECKS)
        db.execute("pragma trusted_schema = off")
        db.execute("pragma cell_size_check = on")
        db.execute("begin")  # one consistent state, even if another process writes
        self._check_version()
        self._check_tables()
        self.files = self._names("file", "path")
        self.contexts = dict(self._names("context", "context"))
        known = dict(db.execute("select key, value from meta where length(value) < 100"))
        self.has_arcs = str(known.get("has_arcs", "")) in ("1", "True")
        plugged = db.execute("select file_id from tracer where tracer != ''")
        self.plugins = {row[0] for row in plugged}

    def _check_tables(self) -> None:
        """Check that all tables are plain: views, virtual tables and generated columns could execute code in the
        file.
        """
        found = dict(self._db.execute("select name, type || ' ' || substr(sql, 1, 20) from sqlite_master"))
        for table, columns in _COLUMNS.items():
            if table not in found:
                raise self._error(
                    f"it is a SQLite file of something else: it has no table {table}",
                    "name a file that coverage.py wrote",
                )
            if not _is_plain(found[table]):
                raise self._damaged(f"table {table}", "it is not a plain table")
            info = self._db.execute(f"pragma table_xinfo({table})").fetchall()
            hidden = {row[1]: row[6] for row in info}
            for column in columns:
                if hidden.get(column) != 0:
                    raise self._damaged(f"table {table}", f"it has no plain column {column}")

    def _check_version(self) -> None:
        kind = self._db.execute(
            "select type || ' ' || substr(sql, 1, 20) from sqlite_master where name = 'coverage_schema'"
        ).fetchone()
        if kind is None or not _is_plain(kind[0]):
            return  # the check of the tables says so
        row = self._db.execute("select version from coverage_schema").fetchone()
        version = row[0] if row else None
        if version == SCHEMA:
            return
        if isinstance(version, int) and version > SCHEMA:
            every = self._db.execute(
                "select name, type || ' ' || substr(sql, 1, 20) from sqlite_master where sql is not null"
            )
            for name, kind in every.fetchall():
                if not _is_plain(kind) and not str(kind).lower().startswith("index create "):
                    raise self._damaged(f"table {name}", "it is not a plain table")
            cause = f"its format is {version}, newer than {SCHEMA}, the newest this version of Suspectra reads"
            raise NewerSchema(Problem(self.name, "", cause, _OTHER_READERS))
        raise self._error(f"its format is {version!r}, not {SCHEMA}", f"update coverage.py, then {_REMAKE}")

    def _names(self, table: str, column: str) -> list[tuple[int, str]]:
        size = f"length(cast({column} as blob))"  # the length of a text ends at a null character
        query = f"select count(*), max({size}), sum({size}) from {table}"
        count, longest, total = self._db.execute(query).fetchone()
        if count > _MAX_NAMES or (longest or 0) > _MAX_NAME or (total or 0) > _MAX_NAME_BYTES:
            raise self._damaged(f"table {table}", "it is far too large")
        rows = self._db.execute(f"select id, {column} from {table} order by id").fetchall()
        if not all(isinstance(key, int) for key, _ in rows):
            raise self._damaged(f"table {table}", "its keys are not numbers")
        return [(key, str(name)) for key, name in rows]

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise self._explained(error) from None
        except (TypeError, ValueError, OverflowError) as error:
            raise self._damaged("", f"it contains values of the wrong kind ({error})") from None

    def _explained(self, error: sqlite3.Error) -> EvidenceError:
        text = str(error)
        if "locked" in text or "busy" in text:
            return self._error("another process has it locked", "wait until the tests have finished")
        if "interrupted" in text:
            return self._damaged("", "reading it takes far more steps than its size allows")
        if "unable to open" in text or "readonly" in text:
            return self._error("it was left in the middle of a write", f"{_REMAKE} and let the run finish")
        return self._damaged("", f"it is damaged or cut short ({text})")

    def _damaged(self, place: str, cause: str) -> EvidenceError:
        return EvidenceError(Problem(self.name, place, cause, f"delete it and {_REMAKE}"))

    def _error(self, cause: str, cure: str) -> EvidenceError:
        return EvidenceError(Problem(self.name, "", cause, cure))


def parallel_files(path: Path, boundary: Boundary | None = None) -> list[Path]:
    """Find data files of single processes next to a data file, which are not combined yet.

    Those of processes that are running are not complete, and left out.
    """
    return [Path(found) for found, _ in places.found(places.parts_of(path), boundary)]


def _is_plain(kind: str) -> bool:
    return str(kind).lower().startswith("table create table")


def _unpack(rows: list[tuple[int, bytes]]) -> tuple[Ints, Ints]:
    """Unpack (context, numbits) rows to contexts and lines: bit n of the little-endian blob stands for line n."""
    sizes = np.fromiter((len(bits) for _, bits in rows), np.int64, len(rows))
    contexts = np.fromiter((context for context, _ in rows), np.int64, len(rows))
    bits = np.unpackbits(np.frombuffer(b"".join(bits for _, bits in rows), np.uint8), bitorder="little")
    where = np.flatnonzero(bits)
    start = (np.cumsum(sizes) - sizes) * 8
    row = np.searchsorted(start, where, "right") - 1
    return contexts[row], where - start[row]

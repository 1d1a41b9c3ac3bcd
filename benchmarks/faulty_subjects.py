"""Programs with known faults, as folders: those of `faulty_programs`, and others rebuilt from source distributions and
histories.

A subject is a folder with a program, its tests and a file `faults.txt`, as `suspectra evaluate` reads it:

    cart.py:12 cart.py:15  # missing call: nobody asks whether the amount is there

The places in one line belong to one fault. What stands before the colon of the first comment is the kind of the fault.
`python -m pytest` in the folder runs the tests, with the folder and its `src` on the import path.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import json
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

import numpy as np
from classic_subjects import make as make_classics
from fixed_faults import LISTS, make_listed
from peer_subjects import SUBJECTS, from_sdist

FAULTS = "faults.txt"
PROGRAMS = Path(__file__).parent / "faulty_programs"
FAMILIES = ("small", "classic", *LISTS, "mutants", "releases", "sqlparse")
LEFT_OUT = shutil.ignore_patterns("__pycache__", ".pytest_cache", ".suspectra", ".git")
_RELEASE = re.compile(r"sdist ([A-Za-z0-9_]+)[- ]([0-9.]*[0-9])")
_KIND = re.compile(r"#\s*([^:]+)")


@dataclass(frozen=True)
class Subject:
    """A program with a known fault."""

    family: str
    folder: Path

    @property
    def name(self) -> str:
        return f"{self.family}/{self.folder.name}"

    @property
    def kind(self) -> str:
        """The kind of its fault, in words."""
        match = _KIND.search((self.folder / FAULTS).read_text("utf-8"))
        return match[1].strip() if match else ""

    def digest(self) -> str:
        """Of all its files, so that results of other files do not count."""
        total = hashlib.sha256()
        for path in sorted(self.folder.rglob("*")):
            if path.is_file() and not {"__pycache__", ".pytest_cache", ".suspectra"} & set(path.parts):
                total.update(f"{path.relative_to(self.folder)}\0".encode() + path.read_bytes())
        return total.hexdigest()[:16]


def subjects(wanted: list[str], only: list[str], cache: Path, corpus: Path | None) -> Iterator[Subject]:
    """The subjects of families and folders whose names fit."""
    for one in wanted:
        if one not in FAMILIES:
            folder = Path(one)
        elif one == "small":
            folder = PROGRAMS
        else:
            folder = cache / "subjects" / one
            if one == "classic":
                make_classics(folder)
            elif one in LISTS:
                make_listed(one, folder, cache / "clones")
            elif one == "sqlparse":
                rebuild_sqlparse(folder)
            elif corpus is None:
                sys.exit(f"{one} are rebuilt after a corpus: name its folder with --corpus")
            else:
                rebuild(corpus, one, only, folder, cache / "sdists")
        found = sorted(path.parent for path in folder.rglob(FAULTS) if ".suspectra" not in path.parts)
        if not found:
            sys.exit(f"{folder} contains no {FAULTS}")
        family = one if one in FAMILIES else folder.resolve().name
        for path in found:
            if fits(path.name, only):
                yield Subject(family, path)


def fits(name: str, only: list[str]) -> bool:
    return not only or any(fnmatchcase(name, pattern) for pattern in only)


def rebuild(corpus: Path, family: str, only: list[str], folder: Path, sdists: Path) -> None:
    """Make those subjects of a corpus that are not there yet, from source distributions."""
    with (corpus / "index.csv").open(newline="") as rows:
        entries = [row for row in csv.DictReader(rows) if row["family"] == family and fits(row["subject"], only)]
    for row in entries:
        if not (folder / row["subject"] / FAULTS).exists():
            match = _RELEASE.search(row["provenance"])
            if match is None:
                sys.exit(f"{corpus / 'index.csv'}: {row['subject']}: {row['provenance']!r} names no sdist")
            with tempfile.TemporaryDirectory() as scratch:
                made = Path(scratch) / row["subject"]
                shutil.copytree(distribution(sdists, *match.groups()), made)
                _put_fault(made, corpus / row["path"])
                (made / FAULTS).write_text(f"{row['faulty']}  # {row['kinds']}: {row['provenance']}\n", "utf-8")
                shutil.copytree(made, folder / row["subject"], dirs_exist_ok=True)


def _put_fault(folder: Path, archive: Path) -> None:
    """Change the one file that differs from the source distribution."""
    with np.load(archive, allow_pickle=False) as arrays:
        meta = json.loads(str(arrays["meta"]))
    with gzip.open(archive.with_suffix(".src.json.gz")) as packed:
        source = json.load(packed)
    path = folder / source["file"]
    if "new" not in meta:
        path.write_text(source["source"], "utf-8")
        return
    lines = path.read_text("utf-8").split("\n")
    old = meta["old"].split("\n")
    at = slice(meta["line"] - 1, meta["line"] - 1 + len(old))
    if lines[at] != old:
        sys.exit(f"{archive}: line {meta['line']} of {source['file']} is not what the corpus says it was")
    lines[at] = meta["new"].split("\n")
    path.write_text("\n".join(lines), "utf-8")


def distribution(folder: Path, name: str, version: str) -> Path:
    """The folder of an unpacked source distribution, which is fetched where it is missing."""
    own = folder / f"{name}-{version}"
    if not own.is_dir():
        print(f"fetching {name} {version} …", flush=True)
        with tempfile.TemporaryDirectory() as scratch:
            pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q", "download", "-d", scratch]
            subprocess.run([*pip, "--no-deps", "--no-binary", ":all:", f"{name}=={version}"], check=True)
            with tarfile.open(next(Path(scratch).glob("*.tar.gz"))) as packed:
                packed.extractall(scratch, filter="data")
            (inner,) = (path for path in Path(scratch).iterdir() if path.is_dir())
            shutil.copytree(inner, own)
    return own


def rebuild_sqlparse(folder: Path) -> None:
    """The releases of sqlparse of `peer_subjects.py`, each with a test for a fault that was fixed later."""
    for subject in SUBJECTS:
        if subject.project == "sqlparse" and not (folder / subject.name / FAULTS).exists():
            with tempfile.TemporaryDirectory() as scratch:
                made = Path(scratch) / subject.name
                made.mkdir()
                from_sdist(made, Path(sys.executable), subject)
                places = " ".join(f"{file}:{line}" for file, line in subject.faults)
                text = f"{places}  # fixed later: {subject.project} {subject.version}\n"
                (made / FAULTS).write_text(text, "utf-8")
                shutil.copytree(made, folder / subject.name, dirs_exist_ok=True)

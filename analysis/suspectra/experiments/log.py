"""Writing the log of experiments: lines of JSON, each written at once, and only ever added."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from types import TracebackType

from suspectra.base.errors import EvidenceError, Problem
from suspectra.evidence.logs.experiments import FOLDER, NAME
from suspectra.evidence.logs.logged_sources import MAX_LOG
from suspectra.runs.experiment import Experiment
from suspectra_recorder.folders import make_recording_folder


class ExperimentLog:
    """Adds experiments to the log of a workspace.

    A line that contains the digests of sources comes before the experiments that were made with them, and names them by
    a number of its own, so that several programs may write at the same time.

    Raises EvidenceError when the log can't be written. Raises RecordingError when its folder is a link, or can't be
    made.
    """

    def __init__(self, workspace: Path):
        folder = make_recording_folder(os.path.realpath(workspace), FOLDER)
        self._path = os.path.join(folder, NAME)
        self._sources: tuple[Mapping[str, str], str] = ({}, "")
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0)
        try:
            self._file = os.open(self._path, flags, 0o666)
        except OSError as error:
            raise EvidenceError(_unwritable(error)) from None
        if os.fstat(self._file).st_size > MAX_LOG // 2:
            os.ftruncate(self._file, 0)  # experiments can be made again
        self._end_last_line()

    def _end_last_line(self) -> None:
        """A program that was killed may have left half a line."""
        size = os.fstat(self._file).st_size
        if size:
            os.lseek(self._file, size - 1, os.SEEK_SET)
            if os.read(self._file, 1) != b"\n":
                self._write(b"\n")

    def add(self, experiment: Experiment, sources: Mapping[str, str]) -> None:
        """Add an experiment."""
        self._line({"with": self._number(sources), **asdict(experiment)})

    def add_causes(self, causes: Sequence[Mapping[str, object]], sources: Mapping[str, str]) -> None:
        """Add what a search for the changes that broke tests has found."""
        self._line({"with": self._number(sources), "causes": list(causes)})

    def _number(self, sources: Mapping[str, str]) -> str:
        known, number = self._sources
        if known is not sources:
            number = os.urandom(6).hex()
            self._sources = sources, number
            self._line({"sources": number, "digests": dict(sources)})
        return number

    def _line(self, what: Mapping[str, object]) -> None:
        self._write(json.dumps(what).encode() + b"\n")

    def _write(self, data: bytes) -> None:
        try:
            os.write(self._file, data)
        except OSError as error:
            raise EvidenceError(_unwritable(error)) from None

    def close(self) -> None:
        """Nothing more is added."""
        os.close(self._file)

    def __enter__(self) -> ExperimentLog:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


def _unwritable(error: OSError) -> Problem:
    cause = f"experiments can't be kept: {error.strerror or error}"
    return Problem(f".suspectra/{FOLDER}/{NAME}", "", cause, "make it writable, or remove it if it is a link")

"""The source files of a workspace folder: read and looked at in worker threads, and taken over by the loop."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable

from suspectra.base.cancellation import Token
from suspectra.evidence.boundary import Boundary
from suspectra_server.session.ranking.ranker import texts_of, texts_to_compare_with
from suspectra_server.session.ranking.watching import state_of
from suspectra_server.session.workers import FolderContext
from suspectra_server.state.documents import Disk, Reading, Texts
from suspectra_server.state.ranking import Ranking


class SourceFiles:
    """The sources of one workspace folder. Belongs to the loop."""

    def __init__(
        self,
        context: FolderContext,
        texts: Texts,
        ranking: Callable[[], Ranking],
        loaded: Callable[[], None],  # called when texts were taken over
    ):
        self._key = context.uri
        self._files = context.workers.files
        self._watcher = context.workers.watcher
        self._boundary = context.boundary
        self._disk = context.disk
        self._texts = texts
        self._ranking = ranking
        self._on_loaded = loaded
        self._closed = False

    def load(self, others: Iterable[str]) -> None:
        """Read the sources that the marks of the present ranking need, and others, and watch them."""
        ranking, others = self._ranking(), tuple(others)
        self._files.submit(
            ("load", self._key),
            lambda token: _load(self._disk, self._boundary, ranking, others, token),
            self._loaded,
        )

    def load_one(self, path: str) -> None:
        """Read a file that was opened."""
        files = self._ranking().files
        self._files.submit(("open", self._key, path), lambda token: self._disk.read([path], files), self._loaded_one)

    async def read(self, paths: Iterable[str]) -> None:
        """Read measured files, so that their statements can be placed."""
        files = self._ranking().files
        wanted = [path for path in paths if path in files]
        if wanted:
            self.take(await self._files.run(lambda: self._disk.read(wanted, files)))

    def read_in_worker(self, paths: Iterable[str]) -> Reading:
        """Read files in the worker thread that calls this; the loop takes them over afterwards."""
        return self._disk.read(paths, self._ranking().files)

    def take(self, reading: Reading, ranking: Ranking | None = None) -> None:
        """Take over what a worker thread read, for the present ranking or for the one that comes next."""
        ranking = ranking or self._ranking()
        measured = [ranking.files[path] for path in reading.found if path in ranking.files]
        self._texts.take([*measured, *ranking.other_versions], reading)

    def close(self) -> None:
        """Stop for good."""
        self._closed = True
        self._files.cancel(("load", self._key))
        self._watcher.watch(("sources", self._key), ())

    def _loaded_one(self, reading: Reading | Exception) -> None:
        if isinstance(reading, Reading):
            self.take(reading)
            self._on_loaded()

    def _loaded(self, result: tuple[Reading, dict[str, object]] | Exception) -> None:
        if isinstance(result, Exception) or self._closed:
            return
        reading, states = result
        self.take(reading)
        self._on_loaded()
        self._watcher.watch(("sources", self._key), states, states, self._boundary)


def _load(
    disk: Disk, boundary: Boundary, ranking: Ranking, others: Iterable[str], token: Token
) -> tuple[Reading, dict[str, object]]:
    """In a worker thread: the texts that marks need and those that edits are compared with, and what to watch."""
    shown = dict.fromkeys(
        [
            *(suspect.location.file for suspect in ranking.suspects),
            *(version.path for version in ranking.other_versions if version.path),
        ]
    )
    states = {path: state_of(path, boundary) for path in (os.path.join(boundary.workspace, file) for file in shown)}
    wanted = dict.fromkeys([*texts_of(ranking, others), *texts_to_compare_with(ranking)])
    return disk.read(wanted, ranking.files, token), states

"""Texts of sources with which tests passed, so that it can be found out later which change broke them.

They are in the user's own cache folder, compressed, a bounded amount for each workspace; a text is known by its digest.
"""

from __future__ import annotations

import os
import re
import zlib
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from suspectra.evidence.opening import read_evidence
from suspectra_recorder.complete_file import complete_file
from suspectra_recorder.folders import cache_folder
from suspectra_recorder.log.frames import DAMAGE
from suspectra_recorder.log.history import inflate
from suspectra_recorder.log.reader import LogReader, RecordedTest, Source

MAX_TEXTS = 32 << 20
"""Bytes of compressed texts that are kept for a workspace; of more, those that were used last."""

_DIGEST = re.compile(r"[0-9a-f]{64}")


class KeptTexts:
    """The texts of a workspace."""

    def __init__(self, workspace: str | os.PathLike[str], environ: Mapping[str, str] = os.environ):
        self._workspace = Path(os.path.realpath(workspace))
        cache = cache_folder(str(self._workspace), environ)
        self._folder = Path(cache) / "texts" if cache is not None else None

    def keep(self, sources: Iterable[tuple[str, str]]) -> None:
        """Keep the texts of files, given with their digests, that still have these.

        Does nothing where there is no cache folder, or no room.
        """
        if self._folder is None:
            return
        with suppress(OSError):
            self._folder.mkdir(mode=0o700, exist_ok=True)
            new = []
            for path, digest in sources:
                try:
                    os.utime(self._folder / digest)
                except FileNotFoundError:
                    new.append((path, digest))
            if new:  # mostly nothing is, and then nothing has to be loaded
                self._keep_new(self._folder, new)

    def _keep_new(self, folder: Path, sources: Iterable[tuple[str, str]]) -> None:
        import hashlib

        from suspectra.evidence.sources import SourceReader

        read = SourceReader(self._workspace)
        for path, digest in sources:
            if (text := read(path)) is not None and hashlib.sha256(text).hexdigest() == digest:
                with complete_file(folder / digest, 0o600) as stream:
                    stream.write(zlib.compress(text))
        self._tidy(folder)

    def read(self, digest: str) -> bytes | None:
        """The text with a digest; None where it is not kept, or was altered."""
        if self._folder is None or not _DIGEST.fullmatch(digest):
            return None
        import hashlib

        from suspectra.evidence.sources import MAX_SOURCE

        try:
            text = inflate((self._folder / digest).read_bytes(), MAX_SOURCE)
        except (OSError, ValueError):
            return None
        return text if hashlib.sha256(text).hexdigest() == digest else None

    @staticmethod
    def _tidy(folder: Path) -> None:
        with os.scandir(folder) as entries:
            known = [(entry.stat(follow_symlinks=False), entry.path) for entry in entries]
        size = 0
        for status, path in sorted(known, key=lambda one: -one[0].st_mtime_ns):
            size += status.st_size
            if size > MAX_TEXTS:
                os.unlink(path)


def keep_texts(workspace: str, logs: Iterable[str]) -> None:
    """Keep the texts of the sources that a run has loaded, if any test of it passed."""
    run = _Sources()
    for path in logs:
        with suppress(OSError, *DAMAGE):
            run.read(read_evidence(path, follow=False))
    if run.passed:
        KeptTexts(workspace).keep(sorted(run.sources))


class _Sources(LogReader):
    """Collects the sources of logs, and whether any test passed."""

    def __init__(self) -> None:
        super().__init__()
        self.sources: set[tuple[str, str]] = set()
        self.passed = False

    def on_source(self, source: Source) -> None:
        if _DIGEST.fullmatch(source.digest):
            self.sources.add((source.path, source.digest))

    def on_test(self, test: RecordedTest) -> None:
        self.passed = self.passed or test.passed

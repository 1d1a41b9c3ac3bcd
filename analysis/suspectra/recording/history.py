"""Which of all recorded tests still count, over any number of logs."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from suspectra.recording.log import read_json

MAX_SCOPE = 1 << 26


@dataclass(frozen=True)
class WholeFiles:
    """The test files a run collected as a whole: those of their tests it did not see are gone.

    Parameters
    ----------
    time : int
        When, in nanoseconds since the epoch.
    files : dict of str to frozenset of str
        Names of the tests by test file.
    """

    time: int
    files: dict[str, frozenset[str]]

    @classmethod
    def from_payload(cls, payload: bytes) -> WholeFiles:
        """Out of a ``SCOPE`` frame.

        Raises
        ------
        ValueError
            When the payload is anything else.
        """
        data = read_json(inflate(payload, MAX_SCOPE))
        if not isinstance(data, dict) or not isinstance(data.get("files"), dict):
            raise ValueError("no list of collected files")
        files = {str(file): frozenset(map(str, names)) for file, names in data["files"].items()}
        return cls(int(data["time"]), files)

    def forgets(self, name: str, time: int) -> bool:
        """Whether a test recorded at `time` is gone by this collection."""
        names = self.files.get(name.partition("::")[0])
        return names is not None and time < self.time and name not in names


def newest(times: Iterable[tuple[str, int]], collections: Iterable[WholeFiles]) -> Mapping[str, int]:
    """The time of each test's last record, without the tests that a later collection no longer found."""
    last: dict[str, int] = {}
    for name, time in times:
        if time >= last.get(name, -1):
            last[name] = time
    for collection in collections:
        for name in [n for n, time in last.items() if collection.forgets(n, time)]:
            del last[name]
    return last


def inflate(data: bytes, limit: int) -> bytes:
    """Decompress at most `limit` bytes.

    Raises
    ------
    ValueError
        When the data is damaged or holds more.
    """
    stream = zlib.decompressobj()
    try:
        out = stream.decompress(data, limit + 1)
    except zlib.error as error:
        raise ValueError(f"damaged compression ({error})") from None
    if len(out) > limit or not stream.eof:
        raise ValueError("more data than there can be" if len(out) > limit else "compression cut off")
    return out


def inflate_head(data: bytes, size: int) -> bytes:
    """The first `size` bytes of what was compressed, or fewer if there are no more.

    Raises
    ------
    ValueError
        When the data is damaged.
    """
    try:
        return zlib.decompressobj().decompress(data, size)
    except zlib.error as error:
        raise ValueError(f"damaged compression ({error})") from None

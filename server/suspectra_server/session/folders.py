"""All workspace folders of a session."""

from __future__ import annotations

from collections.abc import Iterator

from suspectra_server.session.folder import Folder


class Folders:
    """All workspace folders, by URI."""

    def __init__(self) -> None:
        self._folders: dict[str, Folder] = {}

    def __iter__(self) -> Iterator[Folder]:
        return iter(self._folders.values())

    def __len__(self) -> int:
        return len(self._folders)

    def add(self, folder: Folder) -> None:
        """Add a folder, and close one with the same URI."""
        self.remove(folder.uri)
        self._folders[folder.uri] = folder

    def remove(self, uri: str) -> None:
        """Close and remove a folder."""
        if folder := self._folders.pop(uri, None):
            folder.close()

    def get(self, uri: str) -> Folder | None:
        """The folder with a URI."""
        return self._folders.get(uri)

    def containing(self, uri: str) -> tuple[Folder, str] | None:
        """The innermost folder that contains a document, and the path of the document in it."""
        found = [(folder, path) for folder in self if (path := folder.path_in(uri)) is not None]
        return min(found, key=lambda one: len(one[1]), default=None)

"""Which files of a project import which."""

from __future__ import annotations

import posixpath
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cached_property

from suspectra_recorder.instrumentation.outline import ANYTHING


class Importers:
    """Which files import which, by paths.

    A dotted name may mean any file whose path ends with it, if the folder above is not a package, so that modules may
    be imported from it.
    """

    def __init__(self, imports: Mapping[str, tuple[str, ...]], paths: set[str]):
        self.imports = imports
        self.paths = paths
        # the last parts of all names that are imported
        self.names = {name.rpartition(".")[2] for names in imports.values() for name in names}
        # the folders that are packages
        self.packages = {posixpath.dirname(p) for p in paths if posixpath.basename(p) == "__init__.py"}

    def reached_from(self, seeds: Mapping[str, str]) -> dict[str, str]:
        """Find all files that import some, directly or not."""
        found = dict(sorted(seeds.items()))
        pending = list(found)
        while pending:
            path = pending.pop()
            for importer in self._direct[path] | self._direct[ANYTHING]:
                if importer not in found:
                    found[importer] = found[path]
                    pending.append(importer)
        return found

    def elsewhere(self, paths: set[str]) -> dict[str, set[str]]:
        """Find other files that some would import if they existed."""
        roots = {root for path in self.paths for root in self._roots(path)}
        found: defaultdict[str, set[str]] = defaultdict(set)
        for path in paths:
            for file in self._relative(path):
                found[file].add(path)
            for name in self.imports.get(path, ()):
                if not name.startswith((".", ANYTHING)):
                    for file in _files_of(name):
                        for root in roots:
                            found[f"{root}/{file}" if root else file].add(path)
        return {file: importers for file, importers in found.items() if file not in paths}

    @cached_property
    def _direct(self) -> defaultdict[str, set[str]]:
        known: defaultdict[str, set[str]] = defaultdict(set)
        for path in self.paths:
            for root in self._roots(path):
                known[path[len(root) + 1 :] if root else path].add(path)
        direct: defaultdict[str, set[str]] = defaultdict(set)
        for path, names in self.imports.items():
            for name in names:
                if name == ANYTHING:
                    direct[ANYTHING].add(path)
                elif not name.startswith("."):
                    for file in _files_of(name):
                        for imported in known.get(file, ()):
                            direct[imported].add(path)
            for file in self._relative(path):
                direct[file].add(path)
        return direct

    def _relative(self, path: str) -> Iterator[str]:
        for name in self.imports.get(path, ()):
            if name.startswith("."):
                bare = name.lstrip(".")
                folder = path
                for _ in range(len(name) - len(bare)):
                    folder = posixpath.dirname(folder)
                yield posixpath.join(folder, "__init__.py")
                yield from (posixpath.join(folder, file) for file in _files_of(bare))

    def _roots(self, path: str) -> Iterator[str]:
        """The folders above a file from which it may be imported."""
        folder = posixpath.dirname(path)
        while True:
            if folder not in self.packages:
                yield folder
            if not folder:
                return
            folder = posixpath.dirname(folder)


def _files_of(name: str) -> Iterator[str]:
    """The files that may run when a dotted name is imported: those of its packages, and its own."""
    parts = [part for part in name.split(".") if part]
    for length in range(1, len(parts) + 1):
        base = "/".join(parts[:length])
        yield f"{base}.py"
        yield f"{base}/__init__.py"

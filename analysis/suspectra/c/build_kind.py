"""What builds a project of C or C++."""

from __future__ import annotations

import os
import shlex
from enum import Enum
from pathlib import Path

from suspectra.base.errors import EvidenceError, Problem


class BuildKind(Enum):
    """What builds it, by the option of commands that names such a build."""

    CMAKE = "--ctest"
    MESON = "--meson"
    AUTOMAKE = "--automake"
    MAKE = "--shell"

    @classmethod
    def for_build(cls, build: Path) -> BuildKind:
        """Say what builds in a folder; a file has the commands of the tests of a project that plain make builds.

        Raises EvidenceError when that can't be seen.
        """
        if build.is_file():
            return cls.MAKE
        found = next((kind for kind, mark in _MARKS.items() if (build / mark).is_file()), None)
        if found is None:
            cause = "it is not a build folder of CMake, Meson or automake, so its programs can't be built a second time"
            cure = "name one of them; for plain make, name a file with the commands of the tests with --shell"
            raise EvidenceError(Problem(str(build), "", cause, cure))
        return found


_MARKS = {
    BuildKind.CMAKE: "CMakeCache.txt",
    BuildKind.MESON: os.path.join("meson-info", "meson-info.json"),
    BuildKind.AUTOMAKE: "config.status",
}
"""A file that each build folder of a kind has."""


def option_of(build: Path, workspace: Path) -> str:
    """The option of commands that names a build, as it is given in the folder of the workspace."""
    build, workspace = (Path(os.path.realpath(path)) for path in (build, workspace))
    place = os.path.relpath(build, workspace) if build.is_relative_to(workspace) else build
    return f"{BuildKind.for_build(build).value} {shlex.quote(str(place))}"


def build_again(build: Path, workspace: Path) -> tuple[str, ...]:
    """The command that builds what has changed since, as it is given in the folder of the workspace; () for plain make.

    Nobody knows with which flags that was called.
    """
    folder = shlex.split(option_of(build, workspace))[1]
    kind = BuildKind.for_build(build)
    return {
        BuildKind.CMAKE: ("cmake", "--build", folder),
        BuildKind.MESON: ("meson", "compile", "-C", folder),
        BuildKind.AUTOMAKE: ("make", "-C", folder),
    }.get(kind, ())

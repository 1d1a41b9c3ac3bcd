"""The settings of a build folder of Meson, to build the project a second time."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

from suspectra.base.errors import EvidenceError, Problem


class MesonSettings:
    """What a build folder says of itself.

    Its properties raise EvidenceError when the folder can't be read.
    """

    def __init__(self, build: Path):
        self._build = build

    @property
    def source(self) -> str:
        """The folder of the sources."""
        return str(self._said("meson-info.json")["directories"]["source"])

    @property
    def compilers(self) -> dict[str, str]:
        """The compilers of C and C++, by the variables that name them; empty where the folder does not say that."""
        try:
            found = self._said("intro-compilers.json")["host"]
        except EvidenceError:
            return {}
        return {
            variable: shlex.join(found[language]["exelist"])
            for variable, language in (("CC", "c"), ("CXX", "cpp"))
            if language in found
        }

    @property
    def options(self) -> list[str]:
        """The options of the project and of its compilers, as they are given to Meson."""
        found = []
        for option in self._said("intro-buildoptions.json"):
            value = option["value"]
            if option["section"] in {"user", "compiler"} or option["name"] == "default_library":
                text = value if isinstance(value, str) else json.dumps(value).replace('"', "'")
                found.append(f"-D{option['name']}={text}")
        return found

    def _said(self, name: str) -> Any:
        path = self._build / "meson-info" / name
        try:
            return json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            cure = "configure and build the project again, as `suspectra build-c` does"
            raise EvidenceError(Problem(str(path), "", "it can't be read", cure)) from None

"""Options, each declared once for all places in which it can be set.

`OPTIONS` are those of a recording. pytest's command line, its ini file, `suspectra record` and the reference are made
from them. The other options of the command line and the settings of editors have the same type.

A setting of the server is an option with more for editors: its scope, its heading, and whether it names files or
programs. `docs/generate.py` writes the extension's manifest and the reference from them. An option that a single
command has, such as ``--svg``, is declared there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import pytest


class Option(NamedTuple):
    """An option."""

    name: str  # the name in code, in snake case
    default: Any  # the default value, whose type is the type of the option
    help: str  # sentences about what it does, with code in backticks
    values: Mapping[str, str] = MappingProxyType({})  # the possible values, each with a sentence
    minimum: float | None = None  # the least number, or the least length of a tuple
    maximum: float | None = None  # the greatest number
    flag: str = ""  # its name on command lines and in ini files, if it differs from `name`
    negative: str = ""  # sentence about turning it off, if it is on by default

    @property
    def word(self) -> str:
        """Its name on a command line, without leading dashes."""
        return (self.flag or self.name).replace("_", "-")

    @property
    def pytest_flag(self) -> str:
        """Its name as an option of pytest."""
        return f"--suspectra-{'no-' if self.default is True else ''}{self.word}"

    @property
    def pytest_attribute(self) -> str:
        """The attribute in which pytest stores that option."""
        return self.pytest_flag.removeprefix("--").replace("-", "_")

    @property
    def ini_name(self) -> str:
        """Its name in pytest's ini file."""
        return f"suspectra_{self.word.replace('-', '_')}"

    def given(self, config: pytest.Config) -> tuple[object, object]:
        """Return the values on pytest's command line and in its ini file.

        Both values; None for what is not on the command line.
        """
        # while pytest loads its plugins, options that it knows by then are only here
        options = getattr(config, "known_args_namespace", config.option)
        value = getattr(options, self.pytest_attribute, None)
        if isinstance(self.default, bool):
            value = not self.default if value else None
        return value, config.getini(self.ini_name)

    def combine(self, chosen: Iterable[Any]) -> Any:
        """Combine the values from several places.

        A switch is changed if any place changes it, tuples are concatenated, and otherwise the first value is used.
        """
        values = [value for value in chosen if value is not None and value != ""]
        if isinstance(self.default, bool):
            return any(value != self.default for value in values) != self.default
        if isinstance(self.default, tuple):
            return tuple(item for value in values for item in value)
        return next(iter(values), self.default)


RECORDERS = MappingProxyType(
    {
        "auto": "Whichever costs less.",
        "probes": "Statements that are put into the code.",
        "monitoring": "`sys.monitoring`, on Python 3.12 and newer.",
    }
)
"""The ways to record; see :mod:`suspectra_recorder.probe_choice`."""

COUNTS = Option(
    "counts",
    False,
    "Count how often branches are taken, not only whether: for SOBER and NN/Perm. Slower.",
)
RECORDER = Option("recorder", "auto", "How to record: by probes, by sys.monitoring, or by what costs less.", RECORDERS)

OPTIONS = (
    Option("sources", (), "Record other folders or importable packages too, such as an installed one.", flag="source"),
    Option("include_tests", False, "Record test modules and conftest files too, so that they can be suspects."),
    COUNTS,
    Option(
        "children",
        True,
        "Record the processes that tests start.",
        negative="Do not record the processes that tests start.",
    ),
    RECORDER,
)
"""The options of a recording. Each is a field of :class:`suspectra_recorder.settings.RecordingSettings`."""

SUSPECTS = Option(
    "suspects",
    True,
    "After failing tests, show the first suspects of each failure group in pytest's summary.",
    negative="Do not show the first suspects after failing tests.",
)
"""An option of pytest's plugin alone: `suspectra record` has one of its own, which depends on the terminal."""

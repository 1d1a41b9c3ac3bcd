"""What not every operating system has, and the refusal, in words, of what can't work without it."""

from __future__ import annotations

from importlib import import_module
from platform import system
from typing import NamedTuple

from suspectra.base.errors import Problem, UsageError


class Facility(NamedTuple):
    """Something of the operating system that Python offers where it exists."""

    name: str
    module: str
    attribute: str

    @property
    def exists(self) -> bool:
        """Whether this system has it."""
        try:
            return hasattr(import_module(self.module), self.attribute)
        except ImportError:
            return False


FORK = Facility("fork", "os", "fork")
FILE_LOCKS = Facility("locks of files", "fcntl", "flock")
FILE_OWNERS = Facility("files that belong to one user", "os", "getuid")
LIMITS = Facility("limits for processes", "resource", "setrlimit")
UNIX_SOCKETS = Facility("Unix sockets", "socket", "AF_UNIX")

ELSEWHERE = "use Linux, macOS, or the Windows Subsystem for Linux"


def require(facility: Facility, what: str, instead: str) -> None:
    """Refuse what needs a facility that this system does not have.

    Raises
    ------
    UsageError
        With what was refused, why, and what works instead.
    """
    if not facility.exists:
        cause = f"{what} needs {facility.name}, which {system()} does not have"
        raise UsageError(Problem("", "", cause, instead))

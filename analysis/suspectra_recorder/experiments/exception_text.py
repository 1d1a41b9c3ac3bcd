"""What an exception says, without asking it: code of the program is never called."""

from __future__ import annotations

from suspectra_recorder.instrumentation import library_references
from suspectra_recorder.instrumentation.library_references import hashlib

__builtins__ = library_references.builtins

_ARGUMENTS = BaseException.__dict__["args"]
_PLAIN = (str, int, float, bool, bytes, type(None))
_MAX_LENGTH = 100_000  # characters
_HEXADECIMAL = "0123456789abcdefABCDEF"


def message_digest(error: BaseException) -> str:
    """A digest of an exception's type and arguments, the same wherever its objects are in memory."""
    text = f"{type(error).__name__}{_in_text(_ARGUMENTS.__get__(error), 3)}"
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _in_text(value: object, depth: int) -> str:
    if type(value) is tuple and depth:
        return "(" + ",".join([_in_text(part, depth - 1) for part in value]) + ")"
    if type(value) is str:
        first, *others = value[:_MAX_LENGTH].split("0x")
        return repr("0x".join([first, *(other.lstrip(_HEXADECIMAL) for other in others)]))
    return repr(value) if type(value) in _PLAIN else type(value).__name__

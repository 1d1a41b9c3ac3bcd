"""Columns of numbers, as answers of a machine have them."""

from __future__ import annotations

from array import array
from binascii import b2a_base64

from suspectra_recorder.instrumentation import library_references

__builtins__ = library_references.builtins


def column_text(column: array[int]) -> str:
    """Write a column as text.

    Base64 of its bytes.
    """
    return b2a_base64(column.tobytes(), newline=False).decode()

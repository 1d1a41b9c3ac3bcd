"""The recorder's own references to modules that parse Python; only needed for sources that are not in the cache."""

from __future__ import annotations

from typing import TYPE_CHECKING

from suspectra_recorder.instrumentation import own

__builtins__ = own.builtins

if TYPE_CHECKING:
    import ast as ast
    import io as io
    import tokenize as tokenize
else:
    ast, io, tokenize = map(own.copied, ("ast", "io", "tokenize"))


def decode_source(source: bytes) -> str:
    r"""Decode a source like :func:`importlib.util.decode_source`, which imports modules when it is called.

    Parameters
    ----------
    source : bytes
        The file as it is on disk.

    Returns
    -------
    str
        Each line ends with a line feed.

    Raises
    ------
    SyntaxError
        If its declared encoding is unknown.
    UnicodeDecodeError
        If the source is not in its encoding.

    Examples
    --------
    >>> decode_source("# coding: latin-1\r\nname = 'café'\r\n".encode("latin-1"))
    "# coding: latin-1\nname = 'café'\n"
    """
    encoding, _ = tokenize.detect_encoding(io.BytesIO(source).readline)
    return io.IncrementalNewlineDecoder(None, True).decode(source.decode(encoding))

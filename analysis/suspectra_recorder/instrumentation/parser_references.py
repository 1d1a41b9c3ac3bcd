"""The recorder's own references to modules that parse Python; only needed for sources that are not in the cache."""

from __future__ import annotations

from typing import TYPE_CHECKING

from suspectra_recorder.instrumentation import library_references

__builtins__ = library_references.builtins

if TYPE_CHECKING:
    import ast as ast
    import io as io
    import tokenize as tokenize
else:
    ast, io, tokenize = map(library_references.copied, ("ast", "io", "tokenize"))


def decode_source(source: bytes) -> str:
    """Decode a source like :func:`importlib.util.decode_source`, which imports modules when it is called.

    Raises SyntaxError if its declared encoding is unknown. Raises UnicodeDecodeError if the source is not in its
    encoding.
    """
    encoding, _ = tokenize.detect_encoding(io.BytesIO(source).readline)
    return io.IncrementalNewlineDecoder(None, True).decode(source.decode(encoding))

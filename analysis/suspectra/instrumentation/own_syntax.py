"""The recorder's own references to what takes Python apart; only needed for sources that are not in the cache."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import ast
    import io
    import tokenize
else:
    from suspectra.instrumentation.own import copied

    ast, io, tokenize = map(copied, ("ast", "io", "tokenize"))

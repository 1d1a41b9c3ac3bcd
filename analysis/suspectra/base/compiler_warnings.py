r"""What Python's compiler has to say about sources that are only read.

A source with ``"\d"`` or ``1or x`` gets a warning each time it is parsed. It belongs to a run of that source, not to a
command that reads it, and with ``PYTHONWARNINGS=error`` the source would be taken for one that Python can't parse.
"""

from __future__ import annotations

import warnings


def ignore_compiler_warnings() -> None:
    """Say nothing about sources in this process, whatever its environment asks for."""
    warnings.filterwarnings("ignore", category=SyntaxWarning)
    warnings.filterwarnings("ignore", "invalid ", category=DeprecationWarning)  # of escapes and literals, up to 3.11

"""What notes or alters the program, and can pause. Without pytest, since editors load this at their start."""

from __future__ import annotations

from suspectra_recorder.instrumentation import library_references
from suspectra_recorder.instrumentation.library_references import _thread

__builtins__ = library_references.builtins

_ident = _thread.get_ident


class Pausable:
    """What notes or alters the program, except in threads in which it pauses."""

    def __init__(self) -> None:
        self.paused: set[int] = set()  # these threads

    def begin_pause(self) -> None:
        """Pause in this thread."""
        self.paused.add(_ident())

    def end_pause(self) -> None:
        """Go on in this thread."""
        self.paused.discard(_ident())

"""Writing one process's log.

A log is made under another name, and gets its own when it is locked and begun: readers would take an empty log without
a lock for a damaged one. One that ends early and is not locked is read once more before that is reported, since its
process may have written the rest meanwhile, and ended.
"""

from __future__ import annotations

import contextlib
import errno

from suspectra_recorder.instrumentation import library_references
from suspectra_recorder.instrumentation.library_references import fcntl, os
from suspectra_recorder.log.frames import FRAME, MAGIC, FrameKind, frame
from suspectra_recorder.log.locks import identity, lock

__builtins__ = library_references.builtins

_APPENDING = os.O_WRONLY | os.O_APPEND | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)


class LogWriter:
    """One process's log, open for appending.

    Raises OSError when the file can't be made.
    """

    def __init__(self, path: str):
        self.path = path  # the path of the new file
        self.pid = os.getpid()
        folder, name = os.path.split(path)
        # readers must not find it before it is locked and begun, but Windows can't rename open files
        new = os.path.join(folder, f".{name}.tmp") if fcntl is not None else path
        self._descriptor = os.open(new, _APPENDING | os.O_CREAT | os.O_EXCL, 0o644)
        try:
            lock(self._descriptor)
            self._identity = identity(self._descriptor)
            self.size = 0
            self._append(MAGIC)
            if new != path:
                os.rename(new, path)
        except OSError:
            self.close()
            os.unlink(new)
            raise

    def write(self, kind: FrameKind, payload: bytes) -> None:
        """Append one frame, in a single system call if there is room.

        Raises OSError when it could not be written completely. Then nothing more may be written, as frames after an
        incomplete one are not read.
        """
        # a forked process has the same descriptor
        if self._descriptor >= 0 and os.getpid() == self.pid:
            self._open_again()
            self._append(frame(kind, payload))

    def _append(self, data: bytes) -> None:
        left = data
        while left:  # once is enough, but where there is no room: then the next call says why
            written = os.write(self._descriptor, left)
            if not written:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            left = left[written:]
        self.size += len(data)

    def _open_again(self) -> None:
        """Open the file again if the program closed all descriptors, as daemons do; ours may belong to another file
        now.
        """
        try:
            if identity(self._descriptor) == self._identity:
                return
        except OSError:
            pass
        self._descriptor = os.open(self.path, _APPENDING)
        lock(self._descriptor, wait=False)  # a child may have inherited the old descriptor with its lock
        self._identity = identity(self._descriptor)

    @property
    def is_open(self) -> bool:
        """Whether the log can be written."""
        return self._descriptor >= 0

    def payload(self, offset: int) -> bytes:
        """Read the payload of the frame at an offset."""
        with open(self.path, "rb") as stream:
            stream.seek(offset)
            length, _, _ = FRAME.unpack(stream.read(FRAME.size))
            return stream.read(length - 1)

    def close(self) -> None:
        """Close the log, so that others may merge or remove it."""
        if self._descriptor >= 0:
            with contextlib.suppress(OSError):
                # else the number belongs to a file of the program by now
                if identity(self._descriptor) == self._identity:
                    os.close(self._descriptor)
            self._descriptor = -1

"""Ending what runs in good order when this process is asked to end."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from suspectra.base.cancellation import Token

ASKING = tuple(number for name in ("SIGTERM", "SIGHUP") if (number := getattr(signal, name, None)) is not None)
"""The signals by which others ask a process to end: a job's timeout, a closed terminal."""


@contextmanager
def stopped_by(stop: Token, *signals: signal.Signals) -> Iterator[None]:
    """Let the first of some signals cancel a token, and a second one interrupt.

    A signal that is ignored, as `nohup` says, stays so.
    """

    def act(number: int, _: object) -> None:
        if stop.cancelled:
            raise KeyboardInterrupt
        stop.cancelled = True

    if threading.current_thread() is not threading.main_thread():
        yield  # signals are the main thread's
        return
    wanted = [number for number in signals if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, act) for number in wanted}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)

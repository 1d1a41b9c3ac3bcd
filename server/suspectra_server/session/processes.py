"""Running programs of the workspace; no other module of the server does that."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator
from contextlib import suppress

from suspectra.cancellation import Token
from suspectra.processes.events import Ended, Event
from suspectra.processes.runner import LOOK_S, Program, run
from suspectra_server.session.trust import Trust

MAX_WAITING = 16  # events for the loop; then the program waits


async def events_of(trust: Trust, program: Program, token: Token) -> AsyncGenerator[Event, None]:
    """Run a program in a thread of its own, and yield its events.

    Parameters
    ----------
    trust : Trust
    program : Program
    token : Token
        Ends the program when cancelled.

    Yields
    ------
    Event
        The last one is `Ended`.

    Raises
    ------
    NotTrusted
        When the workspace is not trusted.
    EvidenceError
        When the program can't be started.
    """
    trust.require()
    loop = asyncio.get_running_loop()
    events: asyncio.Queue[Event | Exception] = asyncio.Queue()
    free, left = threading.Semaphore(MAX_WAITING), threading.Event()

    def notify(event: Event | Exception) -> None:
        while not left.is_set() and not free.acquire(timeout=LOOK_S):
            pass
        with suppress(RuntimeError):  # the loop has ended
            loop.call_soon_threadsafe(events.put_nowait, event)

    def work() -> None:
        try:
            run(program, token, notify)
        except Exception as error:
            notify(error)

    threading.Thread(target=work, name="suspectra-run", daemon=True).start()
    try:
        while True:
            event = await events.get()
            free.release()
            if isinstance(event, Exception):
                raise event
            yield event
            if isinstance(event, Ended):
                return
    finally:
        token.cancelled = True
        left.set()

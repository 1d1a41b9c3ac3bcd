"""All the times that the server waits, in one place: seconds, and why so many."""

from __future__ import annotations

# from a change to what is shown

EVIDENCE_DEBOUNCE_S = 0.2
"""Without a change after which a file that is rewritten as a whole is taken as complete."""

EDIT_DEBOUNCE_S = 0.1
"""Without typing after which marks are published again: less than a reader notices, more than between two keys."""

NAVIGATION_DEBOUNCE_S = 1.0
"""After a ranking, before the navigation model is made: while tests run, the next ranking must find the way free."""

RANKING_NOTICE_S = 0.15
"""After which a ranking that is still being made is said in the status: a shorter one would only flicker."""

FIRST_STAGE_S = 0.4
"""Before a quick ranking is shown that a better one of the same evidence will replace: a shorter one would only
flicker."""

MAX_RANKING_PAUSE_S = 2.0
"""The longest pause after a ranking; see also the factors in :mod:`suspectra_server.session.pace`."""

WATCH_POLL_S = 1.0
"""Between two looks at all watched paths, for file systems that send no events."""

RECORDING_POLL_S = 0.5
"""Between two looks whether a recording is complete, before its problems are reported."""

RUN_LOG_S = 0.25
"""Before output of a test run is shown, with what comes meanwhile: often enough to look alive, seldom enough to cost
nothing."""

# how long somebody is waited for

CONFIGURATION_TIMEOUT_S = 1.0
"""A client is given to say its settings before the first ranking."""

STEPS_TIMEOUT_S = 1.0
"""The next suspect may wait for expected steps; then the ranking leads."""

TOKEN_TIMEOUT_S = 10.0
"""A connection is given to show its token."""

SAVE_TIMEOUT_S = 1.0
"""Marks are given to reach their file before the server ends."""

FLUSH_TIMEOUT_S = 1.0
"""The last answers are given to leave before the connection is closed."""

CLOSE_TIMEOUT_S = 1.0
"""The client of a WebSocket is given to close its side too."""

# housekeeping

MEMORY_RELEASE_S = 10.0
"""Between two times that unused memory is given back, at least: each costs some milliseconds."""

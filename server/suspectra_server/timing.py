"""All the times that the server waits, in one place: in seconds, each with its reason."""

from __future__ import annotations

# from a change to what is shown

EVIDENCE_DEBOUNCE_S = 0.2
"""How long a file that is rewritten as a whole must stay unchanged before it is taken as complete."""

SAVE_DEBOUNCE_S = 0.05
"""The pause after a save before tests run: formatters save a second time, and *Save All* saves several files."""

THREAD_TURN_S = 0.0002
"""How long a ranking may compute while the loop waits for its turn. With Python's own 5 ms, marks and answers that are
ready would wait some milliseconds more."""

PUBLISHING_S = 0.003
"""For how long a ranking rests after it has handed over its first suspects. The threads that send them to the editor
need Python's interpreter, which the ranking would take from them again and again."""

PUBLISH_S = 0.15
"""How long marks stay while tests run: those that change with each test can't be read."""

HURRIED_RANKING_MAX_S = 0.3
"""The processor time that the last ranking may have taken for the next one to be made as soon as a test of a run fails:
tests lose as much, once in a run."""

IDLE_S = 3.0
"""How long nobody must type or save before tests run, for those who want them to run only then."""

TYPING_RUN_MAX_S = 2.0
"""How long a run that a save started goes on while the reader types: most runs have ended by then, and a longer one
takes the machine from the editor."""

EDIT_DEBOUNCE_S = 0.1
"""How long nobody must type before marks are published again: less than a reader notices, more than the time between
two keys."""

NAVIGATION_DEBOUNCE_S = 1.0
"""The pause between a ranking and its navigation model: while tests run, the next ranking must not wait for a model."""

RANKING_NOTICE_S = 0.15
"""How long a ranking must take before the status shows it: a shorter one would only flicker."""

FIRST_STAGE_S = 0.4
"""How long a better ranking of the same evidence must take before the quick one is shown, which would only flicker
otherwise."""

MAX_RANKING_PAUSE_S = 2.0
"""The longest pause after a ranking; see also the factors in :mod:`suspectra_server.session.ranking.ranking_pace`."""

WATCH_POLL_S = 1.0
"""The interval at which all watched paths are polled, for file systems that send no events."""

RECORDING_POLL_S = 0.5
"""The interval at which the server checks whether a recording is complete, so that its problems can be reported."""

RUN_LOG_S = 0.25
"""The interval at which the output of a test run is shown: short enough to look alive, long enough to cost nothing."""

PROGRESS_S = 0.1
"""The interval at which the progress of experiments is shown: there may be hundreds of them in a second."""

# timeouts

CONFIGURATION_TIMEOUT_S = 1.0
"""For the client to send its settings, before the first ranking."""

STEPS_TIMEOUT_S = 1.0
"""For expected steps, before the next suspect is taken from the ranking instead."""

TOKEN_TIMEOUT_S = 10.0
"""For a new connection to send its token."""

SAVE_TIMEOUT_S = 1.0
"""For marks to be written to their file, before the server ends."""

JOBS_END_TIMEOUT_S = 1.0
"""For jobs that were cancelled to end, before the process does; each checks at least twice a second."""

FLUSH_TIMEOUT_S = 1.0
"""For the last answers to be sent, before the connection is closed."""

CLOSE_TIMEOUT_S = 1.0
"""For the client of a WebSocket to close its side, too."""

# housekeeping

BRANCH_RECHECK_S = 5.0
"""For how long the server does not ask git again where the branch began: each time costs some milliseconds."""

MEMORY_RELEASE_S = 10.0
"""A rest without jobs after which unused memory is released: the next ranking then pays for fresh pages."""

MEMORY_RELEASE_MAX_S = 120.0
"""After this time unused memory is released even if jobs follow each other without a rest."""

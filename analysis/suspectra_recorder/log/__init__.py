"""The log of a recording: its frames, which of its records count, and keeping it small.

Each process appends to a log of its own (`writer`, `frames`), so nothing has to be agreed upon while tests run. Which
records count is decided when logs are read (`history`); after a run `compaction` merges them.
"""

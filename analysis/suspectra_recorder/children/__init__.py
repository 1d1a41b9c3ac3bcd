"""Processes that tests start: what they execute counts for the test that started them.

A child marks cells in a file that is mapped into its memory (`shared_cells`), and writes which source each belongs to
into a log of its own (`child_log`). The process that runs the tests adds them up when the test ends, or when the child
does (`merge`).
"""

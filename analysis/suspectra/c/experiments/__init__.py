"""Experiments with failing tests of C and C++: decisions that come out differently, and what comparisons compare.

Both need the second build that records paths (:mod:`suspectra.c.paths`). What they find goes into the logs in which
experiments with tests of Python are, and counts as these do.
"""

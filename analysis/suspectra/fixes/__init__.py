"""Fixes: changes of the source with which failing tests pass and passing tests still do, found by running.

A search whose judge are the tests: *candidates* are edits of statements that all failing tests of a group execute, made
from templates, from what stands elsewhere in the file, and from names and constants of the place. Candidates that give
the same there as the program does are never run.
"""

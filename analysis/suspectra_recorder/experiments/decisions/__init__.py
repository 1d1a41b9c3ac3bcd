"""Runs in which decisions, calls and statements are noted, or decisions come out differently.

This is a rewriting of its own, and not a mode of that of recordings: recorded code marks cells and never waits for an
answer; switched code asks the `Switchboard` about each decision, and marks nothing. They share the code that loads
modules. The truth of a value is tested in the program's own frame and passed on as True or False, so the switchboard
never calls the program, and tracebacks stay as they were.

Some decisions are not switched: those of test code, which says what is right; constants; patterns that do not match,
since names would be unbound; and the end of a ``for`` that has no more items.
"""

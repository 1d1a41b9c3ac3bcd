"""Mutants: a program with one small change, as an edit of its text.

They are made where they are asked for, so that an editor can show one as a difference, and the process that runs tests
needs no operators. That process compiles only the outermost function, and replaces `__code__` of the live functions:
nothing is imported again, and objects keep their identity.
"""

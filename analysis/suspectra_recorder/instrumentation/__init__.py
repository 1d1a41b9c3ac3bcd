"""Inserting probes into Python sources during import. Standard library only, as it runs in the process of the tests.

`imports` hooks into what loads and compiles sources, and asks `rewriting` for the tree with probes and for the map of
what they mean (`probes`). The compiled code gets its cells as a constant (`cell_constants`), or its stores become jumps
that Python reports (`monitoring`). `first_imports` and `thread_captures` part what belongs to no test, and
`kept_results` what belongs to several.
"""

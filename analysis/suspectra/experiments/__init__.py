"""Running failing tests again with one thing altered, and keeping what came of it.

Results are evidence: each is written at once to a log, which a reader reads like any other. So a technique that needs
them only computes scores, a partial log gives a partial ranking, and ranking never runs a test. The log has the digests
of all files that were loaded; once one of them changes, its experiments count no longer.
"""

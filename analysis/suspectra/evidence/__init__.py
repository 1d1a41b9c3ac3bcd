"""Readers of evidence: recordings, coverage files and test results, one reader for each format."""

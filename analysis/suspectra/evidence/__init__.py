"""Readers of evidence: recordings, coverage files, test results. One reader per format."""

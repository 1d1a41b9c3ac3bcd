"""Readers of evidence: recordings, coverage files and test results, one reader for each format.

A reader returns the same objects for all that did not change, so no stage needs a list of changes: the next one
compares with `is`. That covers tests that ran again, are new or gone, or ended in another way. A reader that shares
nothing is slower, but right. If a source changed, all columns behind it move, and the rows with them; then
`Evidence.runs` says which tests are the same.
"""

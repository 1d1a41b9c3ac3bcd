"""Recording of unittest, and of runners that stand on it.

`session` wraps methods of unittest's own classes; `commands` knows which commands run tests by unittest at all.
"""

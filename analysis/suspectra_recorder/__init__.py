"""The recorder: it writes what each test executes to logs.

Standard library only, Python 3.10 or newer: it runs in the user's own test process. Importing the package loads nothing
else. It may be imported before pytest, which would then warn that it is too late to rewrite asserts
(PYTEST_DONT_REWRITE).
"""

__version__ = "0.1.0"  # the one place where it is written by hand; `make docs` copies it

"""The recorder: what each test executes, kept in logs that others read.

Standard library only, Python 3.10 or newer: it runs in the user's own test process. Importing the package costs
nothing. It may be there before pytest is, which would warn that it comes too late to rewrite asserts
(PYTEST_DONT_REWRITE).
"""

__version__ = "0.1.0"

"""`python -m suspectra` is the command line."""

import sys

# -m has put the current folder first, where a project's json.py would be taken for Python's
if not getattr(sys.flags, "safe_path", False):
    del sys.path[0]

from suspectra.cli import main

main()

"""``python -m suspectra_server`` is ``suspectra server``."""

import gc
import sys

gc.disable()  # until everything is imported: nothing of that is garbage

# -m has put the current folder first, where a project's json.py would be taken for Python's
if __name__ == "__main__" and not getattr(sys.flags, "safe_path", False):
    del sys.path[0]

from suspectra_server.main import main  # noqa: E402

if __name__ == "__main__":
    sys.exit(main())

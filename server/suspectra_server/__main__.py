"""``python -m suspectra_server`` is ``suspectra server``."""

import gc
import sys

gc.disable()  # until everything is imported: nothing of that is garbage

from suspectra_server.server import main  # noqa: E402

if __name__ == "__main__":
    sys.exit(main())

"""``python -m suspectra_server`` is ``suspectra server``."""

import sys

from suspectra_server.server import main

sys.exit(main())

"""What the user decided about failure groups, in a file of the workspace, so that it outlives the server."""

from __future__ import annotations

import logging
from pathlib import Path

from suspectra.base.errors import SuspectraError
from suspectra.evidence.sources import reason
from suspectra.failure_groups.decisions import GroupDecisions
from suspectra_server.state.workspace_file import WorkspaceFile

log = logging.getLogger(__name__)

NAME = "groups.json"
VERSION = 1
MAX_DECISIONS = 100  # the newest are kept
MAX_NAMES = 20_000  # of tests, in all of them


class DecisionsFile:
    """``.suspectra/groups.json`` of a workspace. Both methods access the disk: for one worker thread."""

    def __init__(self, root: Path, *, writable: bool = True):
        self._file = WorkspaceFile(root, NAME, VERSION)
        self._writable = writable

    def load(self) -> GroupDecisions:
        """The stored decisions; none if the file can't be read."""
        try:
            content = self._file.read()
            return (
                GroupDecisions() if content is None else within_limits(GroupDecisions.from_list(content["decisions"]))
            )
        except (OSError, LookupError, TypeError, ValueError, RecursionError) as error:
            log.warning("%s: the decisions about failure groups in it are not used: %s", self._file.path, reason(error))
            return GroupDecisions()

    def write(self, decisions: GroupDecisions) -> None:
        """Replace the stored decisions."""
        if not self._writable:
            return
        try:
            self._file.write({"decisions": decisions.as_list()} if decisions.made else None)
        except (OSError, ValueError, SuspectraError) as error:
            log.warning("%s can't be written, so groups last until the server ends: %s", self._file.path, reason(error))


def within_limits(decisions: GroupDecisions) -> GroupDecisions:
    """The newest decisions, as many as may be kept."""
    names, kept = 0, 0
    for decision in reversed(decisions.made[-MAX_DECISIONS:]):
        names += len(decision.left) + len(decision.right)
        if names > MAX_NAMES:
            break
        kept += 1
    return GroupDecisions(decisions.made[len(decisions.made) - kept :])

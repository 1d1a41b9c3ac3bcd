"""Names of measured files as people type them: the last parts of a path are enough, where only one file has them."""

from __future__ import annotations

from suspectra.base.errors import Problem, UsageError
from suspectra.evidence.evidence import Evidence

_LISTED = 3


def measured_file(evidence: Evidence, name: str) -> str:
    """The path of the file that a name means; the name itself where it means none.

    Raises UsageError when it is the end of several paths.
    """
    paths = [file.path for file in evidence.files]
    meant = [path for path in paths if path.endswith(f"/{name}")]
    if name in paths or not meant:
        return name
    if len(meant) > 1:
        more = f" and {len(meant) - _LISTED:,} more" if len(meant) > _LISTED else ""
        cause = f"it is the end of {len(meant):,} paths: {', '.join(meant[:_LISTED])}{more}"
        raise UsageError(Problem(name, "", cause, "name one of them"))
    return meant[0]

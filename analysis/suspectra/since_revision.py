"""What changed since a git revision, for failing tests of which no earlier pass is known."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from suspectra.evidence.evidence import Evidence
from suspectra.evidence.replaced import Replaced
from suspectra.evidence.source_changes import changed_columns
from suspectra.evidence.sources import SourceReader
from suspectra.selection.revision import Revision, project_files


def since_revision(evidence: Evidence, workspace: Path, name: str | None) -> Evidence:
    """Add what changed since a git revision, for failing tests of which no earlier pass is known.

    Parameters
    ----------
    evidence : Evidence
        What was read.
    workspace : Path
        The folder that paths are relative to.
    name : str or None
        The revision; unless given, the one where the present branch left the default branch.

    Returns
    -------
    Evidence
        The same object where each failing test has an earlier pass, or git knows of no revision.

    Raises
    ------
    UsageError
        When a revision is named that git does not know.
    """
    unknown = [test.name for test in evidence.tests if test.verdict.failing and test.name not in evidence.changed]
    if not unknown and name is None:
        return evidence
    folder = os.path.realpath(workspace)
    revision = Revision.from_name(folder, name) if name is not None else Revision.before_this_branch(folder)
    if revision is None or not unknown:
        return evidence
    paths = [file.path for file in evidence.files]
    # git takes long to list a large workspace
    is_listed = name is not None or any(path not in revision.files for path in paths)
    listed = set(project_files(folder) or ()) if is_listed else set()
    differing = [path for path in paths if (path in revision.files or path in listed) and revision.differs(path)]
    read = SourceReader(Path(folder))
    then = dict.fromkeys(differing) | revision.contents(differing)
    now = {path: text for path in differing if (text := read(path)) is not None}
    row = changed_columns(evidence.files, then, now)
    replaced = evidence.replaced
    if name is not None:  # all files are read for it
        measured = set(paths)
        replaced += tuple(Replaced(path, "", "") for path in sorted(revision.changed(listed)) if path not in measured)
    return replace(evidence, changed={**evidence.changed, **dict.fromkeys(unknown, row)}, replaced=replaced)

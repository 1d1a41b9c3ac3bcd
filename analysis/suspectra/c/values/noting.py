"""Running tests with programs that note their values."""

from __future__ import annotations

import os
from pathlib import Path

from suspectra.base.cancellation import current_token
from suspectra.c.paths.source_texts import SourceTexts
from suspectra.c.paths.traced_build import Recording
from suspectra.c.paths.traced_project import TracedProject
from suspectra.c.values.noted_run import MAX_EVENTS, NotingProgram, read_values
from suspectra.changes.value_trace import ValueTrace
from suspectra.evidence.sources import SourceReader
from suspectra.processes.runner import memory_folder
from suspectra.processes.scratch import ScratchFolder

VALUES = Recording(
    Path(__file__).with_name("recorder.c"),
    ("-ftrivial-auto-var-init=pattern",),  # so that what has no value yet is not what was on the stack before
)
"""Variables and what is compared, in order."""


def values_of_test(
    workspace: Path, build: Path, folder: Path, test: str, end: float, targets: tuple[str, ...] = ()
) -> ValueTrace:
    """Build a project a second time, or some targets of it, in a folder, and run a test of it that notes its values.

    Raises EvidenceError when the project does not build, or the test can't be run alone, and TimeIsUp when it was not
    over by then.
    """
    project = TracedProject(workspace, build, VALUES, folder, targets)
    with project.tests(current_token(), end) as tests, ScratchFolder(memory_folder()) as scratch:
        noting = NotingProgram.from_program(tests.case(test).program, tests.program)
        notes = scratch / "values"
        notes.mkdir()
        noting.write_table(scratch / "table-", tests.program)
        variables = {
            "SUSPECTRA_VALUES": f"{notes}{os.sep}",
            "SUSPECTRA_VALUES_TABLE": str(scratch / "table-"),
            "SUSPECTRA_VALUES_EVENTS": str(MAX_EVENTS),
        }
        tests.run_with(test, variables, scratch, end)
        texts = SourceTexts(SourceReader(project.workspace))
        return read_values(notes, noting, tests.program, texts)

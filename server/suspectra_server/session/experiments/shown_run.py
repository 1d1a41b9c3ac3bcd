"""A run of a failing test that is shown: its values at the ends of lines, and which lines it executes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from suspectra.evidence.evidence import Evidence
from suspectra_server.safe_text import MAX_TEXT, plain
from suspectra_server.session.experiments.tracing import is_of_sources
from suspectra_server.session.folder import Folder

if TYPE_CHECKING:
    from suspectra.dependences.trace import DependenceTrace


@dataclass(frozen=True)
class ShownRun:
    """One run, in the lines of the texts as they were run."""

    folder: Folder
    evidence: Evidence  # of the recording in which the test failed
    test: str  # its name
    lines: Mapping[tuple[str, int], str]  # what is shown at each line that it executes, by file and line; may be empty
    failed: tuple[tuple[str, int], ...]  # the lines in which it failed

    @classmethod
    def from_trace(cls, folder: Folder, evidence: Evidence, trace: DependenceTrace) -> ShownRun | None:
        """What a trace has; for the thread for long work."""
        from suspectra.dependences.line_values import lines_of

        stack = evidence.stacks.get(trace.test)
        failed = [(line.file, line.line) for line in (stack.failed_lines if stack else ())]
        if trace.failure >= 0:
            site = trace.sites[trace.graph.site[trace.failure]]
            failed.append((site.file, site.line))
        lines = {place: plain(run.text, MAX_TEXT) for place, run in lines_of(trace).items()}
        return cls(folder, evidence, trace.test, lines, tuple(dict.fromkeys(failed)))

    @property
    def is_current(self) -> bool:
        """Whether it is about the sources that were recorded last."""
        return is_of_sources(self.folder, self.evidence)

"""The structure of the program under test, for techniques that need more than the spectrum."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from suspectra.runs.experiment import Experiment
from suspectra.runs.observation import Observation
from suspectra.runs.reported_lines import FailureSlice, ReportedPaths

if TYPE_CHECKING:
    from suspectra.program.flow_graph import FlowGraph
    from suspectra.program.flow_readers import FlowReading
    from suspectra.program.source_facts import SourceFacts
    from suspectra.runs.measured_file import MeasuredFile


@dataclass(frozen=True, eq=False)
class Program:
    """The measured files and their flow graphs. Graphs that are not in the evidence are built on demand.

    Parameters
    ----------
    files : tuple of MeasuredFile
        In the order of the spectrum's element table.
    graphs : tuple of FlowGraph
        Flow graphs, where the evidence has them.
    source_of : callable, optional
        Given a path, returns the current bytes of the source file, or None if it can't be read.
    reading : FlowReading, optional
        The reading of control flow that was begun with the recording, if any.
    experiments : tuple of Experiment
        What came of running tests again with something altered; those of sources as they are now.
    observations : tuple of Observation
        What predicates hold for the values of some tests; those of sources as they are now.
    slices : tuple of FailureSlice
        What the failures of some tests depend on; those of sources as they are now.
    paths : tuple of ReportedPaths
        What searches for paths have reported about some tests; those of sources as they are now.
    facts : SourceFacts, optional
        What is known of the sources, where the evidence has that instead of them.

    Examples
    --------
    >>> program = Program((), source_of=lambda path: b"total = 0" if path == "cart.py" else None)
    >>> program.source_of("cart.py")
    b'total = 0'
    """

    files: tuple[MeasuredFile, ...]
    graphs: tuple[FlowGraph, ...] = ()
    source_of: Callable[[str], bytes | None] | None = None
    reading: FlowReading | None = None
    experiments: tuple[Experiment, ...] = ()
    observations: tuple[Observation, ...] = ()
    slices: tuple[FailureSlice, ...] = ()
    paths: tuple[ReportedPaths, ...] = ()
    facts: SourceFacts | None = None

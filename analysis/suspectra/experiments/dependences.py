"""Traces of failing tests: what a machine answers, with all flow dependences."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, overload

from suspectra.base.cancellation import check
from suspectra.base.errors import EvidenceError, Problem
from suspectra.base.newer_syntax import newer_syntax
from suspectra.experiments.altered_runs import Runs
from suspectra.experiments.run_answers import answer_of
from suspectra.experiments.unusable_tests import require_recorded_failure, unusable
from suspectra.processes.scratch import ScratchFolder
from suspectra.runs.experiment import ExperimentOutcome
from suspectra_recorder.experiments.decisions.switchboard import MAX_DECISIONS
from suspectra_recorder.experiments.messages import MachineRunAnswer, RunRequest, SourceTable, TracedRunAnswer
from suspectra_recorder.experiments.traces.trace_columns import MAX_NODES, NAMES
from suspectra_recorder.instrumentation.source import parse

if TYPE_CHECKING:
    from suspectra.base.arrays import Bools, Ints
    from suspectra.dependences.flows import Names
    from suspectra.dependences.graph import DependenceGraph
    from suspectra.dependences.node_places import SourceOf
    from suspectra.dependences.trace import DependenceTrace, TraceSite

KIND = "dependences"
"""The kind of job; a machine that is made for it can do no other."""

TRACED_S = 60.0
"""For a traced test: as tracing makes it many times slower, more than an alterable test has."""

_MAX_SHOWN = 40  # characters of a value
_COMPARED = ("DocTestFailure", "MultipleDoctestFailures")
"""The exceptions of a doctest that printed something else; what an example raises has its own."""

_WIDTHS = {"shared": 3, "owners": 3, "bound": 4}


def trace_dependences(
    runs: Runs,
    test: str,
    only: Collection[tuple[str, int]] | None = None,
    suspects: Collection[tuple[str, int]] = (),  # those to which the trace is limited if a whole one would be too long
    seconds: float = TRACED_S,
    most: int = MAX_NODES,
    recorded: Mapping[str, str | None] = MappingProxyType({}),
    exception: str = "",
) -> DependenceTrace:
    """Trace the dependences of a failing test.

    Raises EvidenceError when there is nothing to trace, or when a source has changed, with cause and cure.
    """
    _require_recorded(runs.sources, recorded)
    plain = answer_of(_ask(runs, test, {"kind": "plain"}, seconds))
    if plain.outcome is not ExperimentOutcome.FAILED:
        raise unusable(test, plain.outcome, seconds=seconds)
    if plain.exception in _COMPARED:
        cause = f"{test} fails where a doctest compares what an example printed, which can't be traced"
        raise _error(cause, "write the example as a test with assert")
    require_recorded_failure(test, exception, plain)
    notices: list[str] = []
    answer, columns = _traced(runs, test, only, seconds, most)
    if why := _too_long(answer, most):
        if not suspects or only is not None:
            raise _error(f"{why} when {test} is traced", "let it do less, or trace only the suspects' functions")
        answer, columns = _traced(runs, test, suspects, seconds, most)
        if why := _too_long(answer, most):
            raise _error(f"{why} when {test} is traced, even with the suspects' functions alone", "let it do less")
        notices.append("Only the functions of the suspects are traced, since the run is too long for a whole trace.")
    traced = answer_of(answer)
    if (traced.outcome, traced.exception) != (plain.outcome, plain.exception):
        ends = [f"{one.outcome.value} {one.exception}".strip() for one in (plain, traced)]
        raise _error(
            f"two runs of {test} differ: it ends as {ends[0]}, then as {ends[1]}",
            "let it not depend on time, chance, threads or what ran before",
        )
    source_of = _source_of(runs.workspace)
    used = {source["path"]: source_of(source["path"]) or b"" for source in answer["dependences"]["sources"]}
    _require_recorded({path: sha256(source).hexdigest() for path, source in used.items()}, recorded)
    return trace_of(test, answer["dependences"], columns, used.get, notices)


def _require_recorded(sources: Mapping[str, str], recorded: Mapping[str, str | None]) -> None:
    for path, digest in sources.items():
        if recorded.get(path) not in (None, digest):
            cause = "it was changed after the tests ran, so a trace would not fit the recording"
            raise EvidenceError(Problem(path, "", cause, "record the tests again"))


def _source_of(workspace: Path) -> SourceOf:
    def source_of(path: str) -> bytes | None:
        try:
            return (workspace / path).read_bytes()
        except OSError:
            return None

    return source_of


def _ask(runs: Runs, test: str, job: RunRequest, seconds: float) -> MachineRunAnswer:
    (answer,) = runs.ask(test, [job], steps=MAX_DECISIONS, seconds=seconds)
    return answer


def _traced(
    runs: Runs, test: str, only: Collection[tuple[str, int]] | None, seconds: float, most: int
) -> tuple[MachineRunAnswer, dict[str, Ints]]:
    with ScratchFolder() as scratch:
        path = str(scratch / "columns")
        (scratch / "columns").touch()
        job: RunRequest = {"kind": KIND, "columns": path, "most": most}
        if only is not None:
            job["only"] = sorted(only)
        return _ask(runs, test, job, seconds), read_columns(Path(path))


def _too_long(answer: MachineRunAnswer, most: int) -> str:
    """Why a trace is not whole; empty if it is."""
    if answer["outcome"] == "timeout":
        return "the run takes too long"
    if answer["outcome"] == "crashed":
        return "the run ends without a result"
    return f"the run has more than {most:,} nodes" if answer["dependences"]["full"] else ""


def _error(cause: str, cure: str) -> EvidenceError:
    return EvidenceError(Problem("", "", cause, cure))


def read_columns(path: Path) -> dict[str, Ints]:
    """Read the columns that a traced process wrote, as far as they are whole.

    Of shape (k,).
    """
    import numpy as np

    data = path.read_bytes()
    parts: dict[str, list[Ints]] = {name: [] for name in NAMES}
    at = 0
    while at + 8 <= len(data):
        number, size = (int(one) for one in np.frombuffer(data, "<u4", 2, at))
        at += 8
        if at + size > len(data):
            break  # the process was stopped while it wrote
        name = NAMES[number]
        parts[name].append(np.frombuffer(data[at : at + size], np.int8 if name == "outcome" else np.int32))
        at += size
    empty = np.zeros(0, np.int32)
    columns = {name: np.concatenate(part) if part else empty for name, part in parts.items()}
    return {name: part.reshape(-1, _WIDTHS[name]) if name in _WIDTHS else part for name, part in columns.items()}


class _Texts(Sequence[str]):
    """The value of each node, by the number of its text."""

    def __init__(self, texts: Sequence[str], number: Ints):
        self._texts, self._number = [_shortened(text) for text in texts], number

    def __len__(self) -> int:
        return len(self._number)

    @overload
    def __getitem__(self, index: int) -> str: ...

    @overload
    def __getitem__(self, index: slice) -> list[str]: ...

    def __getitem__(self, index: int | slice) -> str | list[str]:
        if isinstance(index, slice):
            return [self._texts[number] for number in self._number[index]]
        return str(self._texts[self._number[index]])


def _shortened(text: str) -> str:
    return text if len(text) <= _MAX_SHOWN else f"{text[: _MAX_SHOWN - 2]}…{text[-1]}"


def trace_of(
    test: str, answer: TracedRunAnswer, columns: Mapping[str, Ints], source_of: SourceOf, notices: Sequence[str] = ()
) -> DependenceTrace:
    """What was traced.

    Raises EvidenceError when there is nothing between the test and its failure.
    """
    import numpy as np

    from suspectra.dependences.failure_message import without_message
    from suspectra.dependences.import_time import needed
    from suspectra.dependences.node_places import with_control
    from suspectra.dependences.trace import DependenceTrace

    tables = _Tables.from_sources(answer["sources"])
    columns = _renumbered(answer, columns)
    imported, call = int(answer["imported"]), columns["call"]
    flow = _flow_graph(tables.names, columns, imported)
    caller = np.append(np.int32(-1), columns["callers"])
    kept = needed(flow, imported, call, caller, tables.decides[flow.site])
    graph, number = flow.restricted_to(kept), np.cumsum(kept, dtype=np.int32) - 1
    in_test = tables.is_test[graph.site]
    _require_code(test, answer, bool(np.any(~in_test & (graph.instance > 0))))
    failure = int(number[answer["failure"]]) if answer["failure"] >= 0 else -1
    trace = DependenceTrace(
        test,
        tables.sites,
        graph,
        call[kept],
        columns["outcome"][kept],
        _Texts(answer["texts"], columns["text"][kept]),
        failure,
        in_test,
        (*notices, *_left_out(answer)),
    )
    used = {tables.sites[site].file for site in np.unique(graph.site).tolist()}

    def used_source(path: str) -> bytes | None:
        return source_of(path) if path in used else None

    found = with_control(trace, used_source, caller, _calling(columns, len(caller)))
    found = replace(found, left_out=(*found.left_out, *undecided(used, source_of)))
    return without_message(found, used_source)


def undecided(files: Iterable[str], source_of: SourceOf) -> Iterator[str]:
    """Say of which files the decisions are not known, since this Python can't parse what a newer one ran."""
    for path in sorted(files):
        try:
            parse(source_of(path) or b"")
        except SyntaxError:
            problem = newer_syntax(path, "its decisions are left out")
            yield f"{path}: {problem.cause}. Fix: {problem.cure}."
        except (ValueError, RecursionError, MemoryError):
            continue


@dataclass(frozen=True, eq=False)
class _Tables:
    """The places of a run, and what they read and bind."""

    sites: tuple[TraceSite, ...]
    names: Names
    # which are in test code; and which are decisions, or where functions begin; shape (sites,)
    is_test: Bools
    decides: Bools

    @classmethod
    def from_sources(cls, sources: Sequence[SourceTable]) -> _Tables:
        import numpy as np

        from suspectra.dependences.flows import Names
        from suspectra.dependences.trace import TraceSite

        sites: list[TraceSite] = []
        frame: list[int] = []
        uses: list[list[int]] = []
        defines: list[list[int]] = []
        scope: list[int] = []
        is_global: list[bool] = []
        is_test: list[bool] = []
        decides: list[bool] = []
        for source in sources:
            first, module = len(scope), source["module"]
            frames = dict(source["frames"])
            scope += [frames.get(one, one) for one in source["scopes"]]
            is_global += [frames.get(one, one) == module for one in source["scopes"]]
            is_test += [source["test"]] * len(source["sites"])
            for line, end_line, column, kind, number, frame_number, reads, binds in source["sites"]:
                sites.append(TraceSite(source["path"], line, end_line, column, kind, number))
                frame.append(frame_number)
                uses.append([first + one for one in reads])
                defines.append([first + one for one in binds])
                decides.append(kind in ("decision", "end") or (kind == "entry" and frame_number != module))
        names = Names(np.array(frame, np.int64), uses, defines, np.array(scope, np.int64), np.array(is_global, bool))
        return cls(tuple(sites), names, np.array(is_test, bool), np.array(decides, bool))


def _flow_graph(names: Names, columns: Mapping[str, Ints], imported: int) -> DependenceGraph:
    """The flow dependences: those that were noted, and those through variables."""
    import numpy as np

    from suspectra.dependences.flows import variable_flows
    from suspectra.dependences.graph import DependenceGraph

    site = columns["site"]
    size = max(len(site), 1)
    flows = variable_flows(names, site, columns["call"], columns["shared"], columns["owners"], columns["bound"])
    source, target = (
        np.concatenate([columns[name], flow]) for name, flow in zip(("source", "target"), flows, strict=True)
    )
    check()
    pairs = np.sort(target.astype(np.int64) * size + source)  # np.unique takes 20 times as long
    pairs = pairs[np.diff(pairs, prepend=-1) > 0]
    check()
    start = np.searchsorted(pairs, np.arange(len(site) + 1, dtype=np.int64) * size)
    source = (pairs % size).astype(np.int32)
    instance = np.concatenate([np.zeros(imported, np.int32), _instances(site[imported:])])
    return DependenceGraph(site, instance, start, source, np.zeros(len(source), np.int8))


def _renumbered(answer: TracedRunAnswer, columns: Mapping[str, Ints]) -> dict[str, Ints]:
    """The columns with the sites of those sources alone that have nodes."""
    import numpy as np

    sources = answer["sources"]
    new = np.zeros(max((one["first"] + len(one["sites"]) for one in sources), default=0), np.int32)
    before = 0
    for source in sources:
        count = len(source["sites"])
        new[source["first"] : source["first"] + count] = np.arange(before, before + count)
        before += count
    shared, bound = columns["shared"].copy(), columns["bound"].copy()
    shared[:, 1], bound[:, 1] = new[shared[:, 1]], new[bound[:, 1]]
    return {**columns, "site": new[columns["site"]], "shared": shared, "bound": bound}


def _calling(columns: Mapping[str, Ints], calls: int) -> Ints:
    """The site at which each call was made, -1 for an unknown one."""
    import numpy as np

    found = np.full(calls, -1, np.int32)
    first = np.zeros(calls, np.int64)  # of each call: only that shares what the call around it reads
    first[columns["call"][::-1]] = np.arange(len(columns["call"]))[::-1]
    node, at, _ = columns["shared"].T
    call = columns["call"][node]
    begins = first[call] == node
    found[call[begins]] = at[begins]
    return found


def _instances(site: Ints) -> Ints:
    """Which time each node's site was executed, from 1."""
    import numpy as np

    order = np.argsort(site, kind="stable")
    ordered = site[order]
    begins = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]])) if len(site) else np.zeros(0, int)
    counts = np.diff(np.append(begins, len(site)))
    instance = np.empty(len(site), np.int32)
    instance[order] = np.arange(len(site)) - np.repeat(begins, counts) + 1
    return instance


def _require_code(test: str, answer: TracedRunAnswer, any_code: bool) -> None:
    where = " in its set-up" if answer["phase"] == "setup" else ""
    if answer["failure"] < 0:
        raise _error(
            f"{test} fails{where} where no code of the workspace is executed",
            "look at the fixtures and plugins that it uses",
        )
    if not any_code:
        raise _error(
            f"no code of the workspace besides test code is traced before {test} fails{where}",
            "look at the test itself; a package that pytest itself imports, such as pluggy, can't be traced",
        )


def _left_out(answer: TracedRunAnswer) -> list[str]:
    found = []
    if answer["phase"] in ("setup", "teardown"):
        found.append(f"The test fails in its {'set-up' if answer['phase'] == 'setup' else 'teardown'}.")
    if answer["left_out_imports"]:
        found.append("What ran while modules were imported is left out, since it is too long.")
    if answer["threads"]:
        count = answer["threads"]
        found.append(f"{count} other thread{'s execute' if count > 1 else ' executes'} code that is left out.")
    if answer["processes"]:
        found.append(f"Other processes are left out ({', '.join(answer['processes'])}).")
    return found

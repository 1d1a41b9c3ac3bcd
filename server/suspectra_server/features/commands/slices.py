"""The commands that say what led to a line or a failure, and what a line influenced, in one run of a failing test."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from suspectra.base.location import Location
from suspectra.evidence.evidence import Evidence
from suspectra_server.features.commands.arguments import parse_flag, parse_location
from suspectra_server.features.commands.refusals import CHANGED, RequestFailed
from suspectra_server.features.commands.registry import Handlers
from suspectra_server.features.commands.traced_runs import TracedRuns
from suspectra_server.features.failing_tests import failing_tests, tests_at
from suspectra_server.features.step_messages import StepMessages
from suspectra_server.messages import SlicedFile, SliceMessage, Step
from suspectra_server.safe_text import MAX_TEXT, plain
from suspectra_server.session.experiments.tracing import Tracing, is_of_sources
from suspectra_server.session.folder import Folder
from suspectra_server.session.session import Session

if TYPE_CHECKING:
    from suspectra.dependences.shown_links import Direction
    from suspectra.dependences.slice_tree import SliceBranch
    from suspectra.dependences.slices import Slice
    from suspectra.dependences.trace import DependenceTrace

_MAX_STEPS = 200
_MAX_SAID = 8  # steps that a message names


class _Found(NamedTuple):
    """A slice, computed in a worker thread."""

    slice: Slice
    tree: tuple[SliceBranch, ...]
    lines: dict[str, list[int]]
    of_failure: bool


class SliceCommands:
    """Slices of a traced run."""

    def __init__(self, session: Session, traced: TracedRuns):
        self._session = session
        self._traced = traced

    def handlers(self) -> Handlers:
        """By their names."""
        return {
            "whatLedHere": self.what_led_here,
            "whatThisInfluenced": self.what_this_influenced,
        }

    async def what_led_here(
        self, uri: object = None, line: object = None, test: object = None, options: object = None
    ) -> SliceMessage | None:
        """Say what led to the values on a line, or to the failure."""
        return await self._slice(*parse_location(uri, line), test, options, forward=False)

    async def what_this_influenced(
        self, uri: object = None, line: object = None, test: object = None, options: object = None
    ) -> SliceMessage | None:
        """Say what the values on a line influenced."""
        return await self._slice(*parse_location(uri, line), test, options, forward=True)

    async def _slice(self, uri: str, line: int, test: object, options: object, *, forward: bool) -> SliceMessage | None:
        show = parse_flag(options, "show", not self._session.supports_status)
        found = self._session.folders.containing(uri)
        evidence = found[0].snapshot.ranking.evidence if found else None
        if found is None or evidence is None or not found[0].snapshot.ranking.failing:
            raise RequestFailed("No recorded test fails here, so there is nothing to trace.")
        folder, path = found
        name = test if isinstance(test, str) else self._test_for(folder, path, line)
        chosen = failing_tests(folder, [name])
        if not chosen:
            raise RequestFailed("This test did not fail in the last recorded run.")
        place = path, self._line_as_run(folder, path, line)
        in_test = name in tests_at(folder, path, line)
        trace = await self._traced.trace(Tracing(folder, evidence, chosen[0]))
        sliced = await folder.ask(lambda _: _sliced(trace, place, forward=forward, in_test=in_test))
        if sliced is None:
            raise RequestFailed(f"The run of {plain(name)} computes nothing on this line.")
        answer = await self._answer_with(folder, evidence, sliced, f"{path}:{line + 1}")
        if show:
            self._session.answer(_as_text(answer))
        return answer

    def _test_for(self, folder: Folder, path: str, line: int) -> str:
        """The failing test that a line is in, or else the first one that executes it, or else the first one."""
        suspect = folder.current().suspect_at(path, line)
        names = tests_at(folder, path, line) or (suspect.failing_tests if suspect else ())
        return next(iter(names), None) or next(iter(failing_tests(folder))).name

    def _line_as_run(self, folder: Folder, path: str, line: int) -> int:
        placement = folder.placement(path)
        origin = placement.origin(line) if placement is not None else line + 1
        if origin is None:
            raise RequestFailed("This line was edited since the tests ran. Run the tests again first.")
        return origin

    async def _answer_with(self, folder: Folder, evidence: Evidence, found: _Found, place: str) -> SliceMessage:
        # here and below: what few users need is loaded when they do, as starting the server must be quick
        from suspectra.output.pictures.slice import slice_svg

        steps = StepMessages(self._session, folder)
        await steps.read([*found.lines, *(file for file, _ in _places(found.tree))])
        trace, direction = found.slice.trace, found.slice.direction
        svg = await folder.ask(lambda _: slice_svg(found.slice, steps.source))
        if not is_of_sources(folder, evidence):  # the lines of the trace would be taken for those of another text
            raise RequestFailed(CHANGED)
        return {
            "heading": plain(_heading(found, place), MAX_TEXT),
            "test": plain(trace.test, MAX_TEXT),
            "size": len(found.slice),
            "steps": [step for branch in found.tree if (step := _step(steps, branch, direction))],
            "files": list(_files(folder, steps, found.lines)),
            "leftOut": [plain(sentence, MAX_TEXT) for sentence in trace.left_out],
            "svg": svg or "",
        }


def _sliced(trace: DependenceTrace, place: tuple[str, int], *, forward: bool, in_test: bool) -> _Found | None:
    """The slice that is asked for; None where the run computes nothing on the line."""
    from suspectra.dependences.slice_tree import slice_tree
    from suspectra.dependences.slices import backward, nodes_at
    from suspectra.dependences.slices import forward as influenced

    nodes = nodes_at(trace, *place).tolist()
    of_failure = not forward and (trace.failure in nodes or (in_test and not nodes))
    if not nodes and not of_failure:
        return None
    found = backward(trace) if of_failure else influenced(trace, nodes) if forward else backward(trace, nodes)
    return _Found(found, slice_tree(found, _MAX_STEPS).roots, found.lines(), of_failure)


def _heading(found: _Found, place: str) -> str:
    from suspectra.dependences.shown_links import Direction

    test = found.slice.trace.test
    if found.of_failure:
        return f"What led to the failure of {test}"
    if found.slice.direction is Direction.FORWARD:
        return f"What {place} influenced, in {test}"
    return f"What led to {place}, in {test}"


def _step(steps: StepMessages, branch: SliceBranch, direction: Direction) -> Step | None:
    from suspectra.output.slices import WHY, results_of

    step = branch.step
    why = "" if branch.why is None else WHY[direction, branch.why]
    below = [inner for one in branch.branches if (inner := _step(steps, one, direction))]
    where = Location(step.file, step.line, step.end_line)
    more, rounds = branch.more, len(branch.steps)
    return steps.step(where, results_of(branch), step.instance, why, below, more, step.operand, rounds)


def _places(tree: Iterable[SliceBranch]) -> Iterable[tuple[str, int]]:
    for branch in tree:
        yield branch.step.file, branch.step.line
        yield from _places(branch.branches)


def _files(folder: Folder, steps: StepMessages, lines: dict[str, list[int]]) -> Iterable[SlicedFile]:
    """The lines of a slice where they are now, counted from 0."""
    for file, numbers in lines.items():
        ranges = (steps.range_of(Location(file, number, number)) for number in numbers)
        yield {"uri": folder.uri_of(file), "lines": [range_.start.line for range_ in ranges if range_ is not None]}


def _as_text(answer: SliceMessage) -> str:
    def said(step: Step) -> str:
        value = f" → {step['value']}" if step["value"] else ""
        return f"{step['why']} {step['file']}:{step['line']} {step['source']}{value}".strip()

    first = [below for step in answer["steps"] for below in step["steps"]][:_MAX_SAID]
    return plain(f"{answer['heading']}: {'; '.join(map(said, first)) or 'nothing'}.", MAX_TEXT)

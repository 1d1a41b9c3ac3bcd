"""Names of failing tests as people type them: a part that only one of them has is enough."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from itertools import compress

from suspectra.base.errors import EvidenceError, Problem, UsageError
from suspectra.evidence.evidence import Evidence, Outcomes
from suspectra_recorder.log.collection import is_below, summary

_LISTED = 5


def failing_names(evidence: Evidence, wanted: Sequence[str] = ()) -> list[str]:
    """The failing tests that some texts mean; all without a text.

    A text is the name of a test, of its class or its file, or a glob; or any part that only one failing test has.

    Raises EvidenceError when no recorded test fails. Raises UsageError when a text fits no failing test, or is a part
    of several names.
    """
    failing = [test.name for test in evidence.failing]
    if not failing:
        raise EvidenceError(_none_fails(evidence))
    if not wanted:
        return failing
    known = {test.name for test in evidence.tests}
    return list(dict.fromkeys(name for text in wanted for name in _meant(text, failing, known)))


def uncollected_names(evidence: Evidence, wanted: Sequence[str] = ()) -> list[str]:
    """The recorded tests that can't run since their modules can't be collected; of these what some texts mean."""
    errors = [error for error in evidence.collection_errors if not error.is_cut_off]
    names = [test.name for test in evidence.tests if any(is_below(test.name, error.collector) for error in errors)]
    known = {test.name for test in evidence.tests}
    return list(dict.fromkeys(name for text in wanted for name in _meant(text, names, known))) if wanted else names


def one_failing_name(evidence: Evidence, wanted: str | None) -> str:
    """The failing test that a text means; without a text the only one that fails.

    Raises EvidenceError when no recorded test fails. Raises UsageError when the text fits no failing test, or several,
    or there is no text and several tests fail.
    """
    names = failing_names(evidence, [wanted] if wanted is not None else ())
    if len(names) > 1:
        cause = f"it fits {_several(names)}" if wanted is not None else f"there are {_several(names)}"
        raise UsageError(Problem(wanted or "", "", cause, "name one of them"))
    return names[0]


def with_failing(evidence: Evidence, names: Collection[str]) -> Evidence:
    """The same evidence without the other failing tests."""
    kept = [not test.verdict.failing or test.name in names for test in evidence.tests]
    if all(kept):
        return evidence
    tests, edges = tuple(compress(evidence.tests, kept)), evidence.edges
    if edges is not None:
        counts = None if edges.counts is None else tuple(compress(edges.counts, kept))
        edges = replace(edges, rows=tuple(compress(edges.rows, kept)), counts=counts)
    rows, runs = tuple(compress(evidence.rows, kept)), tuple(compress(evidence.runs, kept))
    outcomes = Outcomes.from_tests(tests)
    return replace(evidence, tests=tests, rows=rows, runs=runs, edges=edges, outcomes=outcomes)


def _meant(text: str, failing: Sequence[str], known: Collection[str]) -> list[str]:
    """The failing tests that a text means: those that it names, else the only one that contains it."""
    for fits in (_names, _is_part_of):
        if found := [name for name in failing if fits(name, text)]:
            break
    else:
        cause = "this test passed when it was recorded" if text in known else "no failing test has this in its name"
        raise UsageError(Problem(text, "", cause, f"failing tests are: {_listed(failing)}"))
    if fits is _is_part_of and len(found) > 1:
        raise UsageError(Problem(text, "", f"it fits {_several(found)}", f"name one of them, or all by '*{text}*'"))
    return found


def _names(name: str, text: str) -> bool:
    """Whether a text names a test, its class, its file, its function without parameters, or is a glob.

    Folders at the front may be left out, as they are in what is printed, and so may the module and the class.
    """
    return fnmatchcase(name, text) or any(
        shorter == text or shorter.startswith((f"{text}::", f"{text}[")) for shorter in _without_folders(name)
    )


def _is_part_of(name: str, text: str) -> bool:
    return text.casefold() in name.casefold()


def _without_folders(name: str) -> Iterator[str]:
    """A name, and what is left of it without the first folder, the first two folders and so on."""
    module, separator, inside = name.partition("::")
    folders = module.split("/")
    yield from ("/".join(folders[i:]) + separator + inside for i in range(len(folders)))
    while separator and inside:
        yield inside
        inside = inside.partition("[")[0].partition("::")[2] and inside.partition("::")[2]


def _several(names: Sequence[str]) -> str:
    return f"{len(names)} failing tests: {_listed(names)}"


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return ", ".join(names[:_LISTED]) + more


def _none_fails(evidence: Evidence) -> Problem:
    cause, cure = "no recorded test fails", "record a failing test first"
    if uncollected := summary(evidence.collection_errors):
        cause = f"{cause}; {uncollected}" if evidence.tests else uncollected
        cure = evidence.collection_errors[0].cure
    return Problem(evidence.source, "", cause, cure)

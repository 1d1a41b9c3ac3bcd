"""All evidence: a simple measure, whose ties are broken by further evidence.

Five keys are compared one after the other, higher first:

1. D + S + w C: D is 1 for a statement that changed since a failing test that executes it passed, if there are few of
   these: at most 10, or a twentieth of what failing tests execute; S is the highest K of the statement and of the
   branches that leave it, 0 for a line of C or C++ that only opens or only closes a function; C is the weighted
   share of the failing tests that execute the statement and for which it changed, since they passed or according to
   git, among those for which anything did; w is 0.3 divided by the number of statements for which C is not 0, and at
   least 0.1;
2. K of the statement alone;
3. the number of failing tests whose innermost traceback frame in a candidate is in the statement;
4. the kind of statement: ``return``, then decisions, then others, then definitions;
5. how few statements of its function failing tests execute.

K is Kulczynski2, but for its weights: the share of the failing tests that execute a statement counts 0.55, the share of
the tests that execute it and fail 0.45. With equal weights a statement that few tests execute, most of them failing,
often ranks before a fault that all failing tests execute. Failing tests weigh more the less they execute
(:mod:`suspectra.techniques.failure_weights`). A key whose evidence is missing is equal for all statements. Statements
that no failing test executes come last.

A definition outside of functions, such as a table or a regular expression, runs at import, so no test executes it. It
counts as executed by the tests that execute a statement that reads its name
(:mod:`suspectra.program.python.definitions`). So do the statements of a function without parameters whose result is
kept, for the tests that call it.

Of what the first two keys leave equal and first, the statements of the first function come first
(:mod:`suspectra.report.functions`), so that lists of functions and of lines begin with the same statement.

Keys are compared, and not weighed, so that each suspect can say in one sentence why it ranks before the next. The kind
of a statement follows from the first word of its first line: a syntax tree would say the same, and take longer than
everything else.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from suspectra.base.arrays import Bools, Ints
from suspectra.base.cancellation import check
from suspectra.base.english import every, many
from suspectra.program import Program
from suspectra.program.flow_graph import EXIT
from suspectra.program.python.definitions import definitions
from suspectra.program.sources_as_run import SourcesAsRun
from suspectra.program.statements import StatementKind, StatementProperties, statements
from suspectra.report import Explanation, RankedReport
from suspectra.spectrum import FIRST_OUTCOME, Counts, EdgeKind, Spectrum, SpectrumWithUses
from suspectra.techniques.catalogue import EVIDENCE as INFO
from suspectra.techniques.definition_uses import with_uses
from suspectra.techniques.failure_weights import FailureWeights, weight_of
from suspectra.techniques.formulas import in_words, require_failure
from suspectra.techniques.staged_technique import Staged
from suspectra.techniques.technique import Technique, headline, own_report, score_difference

_DIGITS = 10**10  # scores are compared in multiples of 1e-10
_OF_FAILING = 0.55  # what the share of failing tests counts, beside that of the tests that execute a column and fail
_ONE_CHANGE = 3 * _DIGITS // 10  # what the only change adds at most to the first key
_MANY_CHANGES = _DIGITS // 10  # what one of many changes adds at most
_CHANGED_FIRST = _DIGITS  # what puts changed statements before all others, as long as they are few
_FEW, _FEW_SHARE = 10, 20  # so many, or one in so many of those that failing tests execute
_BEST, _OWN, _RAISED, _KIND, _SIZE = range(5)
_BY_KIND = {
    StatementKind.RETURN: "it returns",
    StatementKind.DECISION: "it decides where control goes",
    StatementKind.OTHER: "tests execute it, and at most read what the next ones define",
}


@dataclass(frozen=True, eq=False, kw_only=True)
class EvidenceReport(RankedReport):
    """A ranking by all evidence."""

    # the keys of each level, in the order of the module's docstring; the first two in multiples of 1e-10; shape (levels
    # of what failing tests execute, 5)
    keys: Ints
    statements: StatementProperties  # their kinds, functions and branches, from the program
    weights: FailureWeights  # the weights of the failing tests
    # K of each edge, in multiples of 1e-10; 0 for an edge that no failing test traverses; shape (edges,)
    edge_score: Ints

    @property
    def without(self) -> tuple[str, ...]:
        """Branches, tracebacks, kinds of statements, functions: what the evidence says nothing of."""
        known, spectrum = self.statements, self.spectrum
        missing = {
            "branches": spectrum.edges is None,
            "tracebacks": spectrum.raised is None,
            "kinds of statements": not known.kinds_known,
            "functions": not known.functions_known,
        }
        return tuple(name for name, lacks in missing.items() if lacks)

    @cached_property
    def first_of_level(self) -> Ints:
        """The first element of each level that failing tests execute; shape (levels,)."""
        first = np.zeros(len(self.keys), np.int64)
        elements = np.flatnonzero((self.level >= 0) & (self.level < len(self.keys)))[::-1]
        first[self.level[elements]] = elements  # of several, the one assigned last holds
        return first

    @cached_property
    def size(self) -> Ints:
        """How many statements of each function failing tests execute, by the number of the function."""
        return _executed(self.statements, _suspected(self.spectrum))

    @cached_property
    def changed_first(self) -> frozenset[int]:
        """The statements that come first because they changed."""
        return frozenset(_changed_first(self.spectrum).tolist())

    @property
    def tie_of_level(self) -> Ints:
        """Levels that only the last three keys put in order are one tie: the tests leave them equal."""
        differs = np.ones(len(self.level_score), bool)
        differs[1 : len(self.keys)] = np.any(self.keys[1:, :_RAISED] != self.keys[:-1, :_RAISED], axis=1)
        return np.cumsum(differs) - 1

    def _with_levels(self, old: Ints) -> EvidenceReport:
        return replace(super()._with_levels(old), keys=self.keys[old[: len(self.keys)]])

    @classmethod
    def from_keys(
        cls,
        technique: Technique,
        spectrum: Spectrum,
        suspects: Ints,
        keys: Ints,
        statements: StatementProperties,
        weights: FailureWeights,
        edge_score: Ints,
    ) -> EvidenceReport:
        """Rank the elements that failing tests execute by keys; then those that only passing tests execute, then the
        rest.

        With the first key as score, from 0 to 2.3.
        """
        levels, number = _descending(keys)
        check()
        executed = spectrum.counts.ep > 0
        passing = spectrum.candidates & executed & (spectrum.counts.ef == 0)
        unexecuted = spectrum.candidates & ~executed & (spectrum.counts.ef == 0)
        level = np.full(len(spectrum.elements), -1, np.int32)
        level[suspects] = number
        count = len(levels)
        scores = [levels[:, _BEST] / _DIGITS]
        for rest in (passing, unexecuted):
            if rest.any():
                level[rest] = count
                scores.append(np.zeros(1))
                count += 1
        return cls(
            technique,
            spectrum,
            level,
            np.concatenate(scores),
            keys=levels,
            statements=statements,
            weights=weights,
            edge_score=edge_score,
        )


@dataclass(frozen=True)
class AllEvidence(Staged):
    """Rank statements by a measure of statements and branches, and break ties by further evidence.

    It works with whatever the evidence has, and notes what was missing.
    """

    info = INFO

    def localize(
        self, spectrum: Spectrum, program: Program | None = None, previous: RankedReport | None = None
    ) -> EvidenceReport:
        """Rank by all keys for which there is evidence."""
        require_failure(spectrum)
        graphs = program.graphs if program is not None else ()
        sources = SourcesAsRun.for_program(program)
        known = statements(spectrum.elements, spectrum.edges, graphs, sources)
        before = previous.spectrum if previous is not None else None
        # what a passing test alone executes in a file says little of what failing tests read
        # bincount, as `unique` would sort a million numbers to find a few files
        reading = np.flatnonzero(np.bincount(spectrum.elements.file[_suspected(spectrum)])).tolist()
        spectrum = with_uses(spectrum, definitions(spectrum.elements, sources, tuple(reading)), before)
        weights = FailureWeights.from_spectrum(
            spectrum, previous.weights if isinstance(previous, EvidenceReport) else None
        )
        check()
        suspects: Ints = np.flatnonzero(_suspected(spectrum))
        own = _measure(weights.of_elements, weights.total, spectrum.counts)
        best = own.copy()
        edge_score: Ints = np.zeros(0, np.int64)
        if spectrum.edges is not None:
            edge_score = _measure(weights.of_edges, weights.total, spectrum.edge_hit_counts)
            np.maximum.at(best, known.branches.element, edge_score[known.branches.edge])
        best += np.rint(_for_change(weights) * weights.share_of_change()).astype(np.int64)
        best[_changed_first(spectrum)] += _CHANGED_FIRST
        best[known.is_signature] = 0
        check()
        size = _executed(known, _suspected(spectrum))
        keys = np.zeros((len(suspects), 5), np.int64, order="F")  # they are compared column by column
        keys[:, _BEST], keys[:, _OWN] = best[suspects], own[suspects]
        keys[:, _RAISED] = _raised(spectrum)[suspects]
        keys[:, _KIND] = known.kind[suspects]
        if known.functions_known:
            keys[:, _SIZE] = -size[known.function[suspects]]
        if isinstance(spectrum, SpectrumWithUses):
            keys[spectrum.only_read[suspects], _KIND] = StatementKind.DEFINITION
            keys[spectrum.only_read[suspects], _SIZE] = 0
        ranked = EvidenceReport.from_keys(self, spectrum, suspects, keys, known, weights, edge_score)
        return ranked.with_first_function()

    def difference(self, report: RankedReport, better: int, worse: int) -> str:
        """The first key in which the two differ."""
        return _difference(own_report(report, EvidenceReport), better, worse)

    def explain(self, report: RankedReport, position: int) -> Explanation:
        """One sentence about the first key in which the statement differs from the next ones, then its counts."""
        ranked = own_report(report, EvidenceReport)
        suspect, spectrum = report.suspect(position), report.spectrum
        counts = in_words(suspect.ef, suspect.ep, spectrum.counts, only_read=suspect.only_read)
        level = int(ranked.level[suspect.element])
        if level >= len(ranked.keys):
            return Explanation(headline(report, suspect), (counts,))  # without a number to put into the formula
        reasons = [_reason(ranked, level, suspect.element)]
        if _by_branch(ranked, suspect.element):
            reasons.append(_for_branch(ranked, suspect.element))  # what the score follows from
        sentences = tuple(dict.fromkeys([*filter(None, reasons), counts]))
        return Explanation(headline(report, suspect), sentences, INFO.formula, _put_in(ranked, suspect.element))

    def reason(self, report: RankedReport, element: int) -> str:
        """The first key in which the statement differs from the next ones."""
        ranked = own_report(report, EvidenceReport)
        level = int(ranked.level[element])
        return _reason(ranked, level, element) if 0 <= level < len(ranked.keys) else ""


def _suspected(spectrum: Spectrum) -> Bools:
    return spectrum.candidates & (spectrum.counts.ef > 0)


def _measure(weight: Ints, total: int, counts: Counts) -> Ints:
    """K of each column, in multiples of 1e-10; 0 for one that no failing test executes."""
    score = np.zeros(len(counts.ef), np.int64)
    executed = np.flatnonzero(counts.ef)
    ef = counts.ef[executed]
    share, precision = weight[executed] / max(total, 1), ef / (ef + counts.ep[executed])
    score[executed] = np.rint(_DIGITS * (_OF_FAILING * share + (1 - _OF_FAILING) * precision))
    return score


def _for_change(weights: FailureWeights) -> int:
    """What a change adds to the first key if the statement changed for all failing tests for which anything did.

    It is small, so that it decides among similar scores alone, and does little harm where the change is not the fault.
    The fewer statements changed, the more probable it is that it is this one.
    """
    return max(_ONE_CHANGE // max(int(np.count_nonzero(weights.of_changed)), 1), _MANY_CHANGES)


def _changed_first(spectrum: Spectrum) -> Ints:
    """The statements that come before all others: those that changed since tests passed that fail now, if few did.

    Of shape (k,).
    """
    if not spectrum.changed:
        return np.zeros(0, np.int64)
    changed = spectrum.candidates & (spectrum.changed_for > spectrum.changed_by_git_for)
    found = np.flatnonzero(changed)
    most = max(_FEW, int(np.count_nonzero(_suspected(spectrum))) // _FEW_SHARE)
    return found if len(found) <= most else found[:0]


def _raised(spectrum: Spectrum) -> Ints:
    """How many tests failed in each element."""
    raised = spectrum.raised if spectrum.raised is not None else np.zeros(0, np.int32)
    return np.bincount(raised[raised >= 0], minlength=len(spectrum.elements))


def _executed(known: StatementProperties, suspected: Bools) -> Ints:
    """How many statements of each function failing tests execute."""
    return np.bincount(known.function[suspected], minlength=1 + int(known.function.max(initial=0)))


def _descending(keys: Ints) -> tuple[Ints, Ints]:
    """Return the distinct rows in descending order, and the index of each row among them; cancellable in between.

    Neighbours are often equal, such as statements of one basic block. Each run of equal rows is sorted as one row.
    """
    opens = _differs(keys)
    runs = keys[opens]
    order: Ints = np.arange(len(runs))
    # equal neighbours are sorted as one: statements of a block share all keys
    for column in reversed(runs.T):
        values = -column[order]
        if np.any(values[1:] < values[:-1]):
            check()
            order = order[np.argsort(values, kind="stable")]
    ordered = runs[order]
    first = _differs(ordered)
    number = np.empty(len(runs), np.int32)
    number[order] = np.cumsum(first) - 1
    return ordered[first], np.repeat(number, np.diff(np.flatnonzero(opens), append=len(keys)))


def _differs(keys: Ints) -> Bools:
    """Whether each row differs from the previous one; True for the first."""
    differs = np.zeros(len(keys), bool)
    differs[:1] = True
    for column in keys.T:
        differs[1:] |= column[1:] != column[:-1]
    return differs


def _reason(report: EvidenceReport, level: int, element: int) -> str:
    """Why a level ranks above the next one; empty where the counts explain it."""
    own = report.keys[level]
    if report.statements.is_signature[element]:
        return "It only opens or only closes its function, so all else that failing tests execute comes first."
    following = report.keys[level + 1] if level + 1 < len(report.keys) else np.full(len(own), -1)
    if own.tolist() < following.tolist():
        return f"Ahead of equal scores: {_for_function(report, element)}."
    differs = int(np.argmax(own != following))
    if differs == _BEST and _by_change(report, element, _first_of(report, level + 1)):
        if _is_first(report, element):
            return "Little else changed, so it comes first."
        return "Without the change it would not rank before the next statements."
    if differs == _BEST and _by_branch(report, element):
        return _for_branch(report, element)
    if differs in (_BEST, _OWN):
        return _for_weight(report, level, element)
    if differs == _RAISED:
        because = f"{_failing(int(own[_RAISED]), report.spectrum.counts.failed)} failed right here"
    elif differs == _KIND:
        because = _BY_KIND[StatementKind(own[_KIND])]
    else:
        because = f"failing tests execute only {many(-int(own[_SIZE]), 'statement')} of its function"
    return f"Ahead of equal scores: {because}."


def _difference(report: EvidenceReport, better: int, worse: int) -> str:
    """Why one statement ranks before another, whether failing tests execute that one or not."""
    first, second = int(report.level[better]), int(report.level[worse])
    if first == second or second >= len(report.keys):
        return score_difference(report, better, worse)
    own, other = report.keys[first], report.keys[second]
    differs = int(np.argmax(own != other))
    one, two = (report.spectrum.elements.location(element).short for element in (better, worse))
    if own.tolist() < other.tolist():
        return f"The scores are equal, but {one} comes before {two}: {_for_function(report, better)}."
    if differs == _BEST and _by_change(report, better, worse):
        little = ", and little else did" if _is_first(report, better) else ""
        return f"{one} changed before failing tests failed{little}. Without that it would not rank before {two}."
    if differs == _BEST and _by_branch(report, better):
        return f"{one} has the higher score because of a branch. {_for_branch(report, better)}"
    if differs == _BEST:
        return score_difference(report, better, worse)
    if differs == _OWN:
        a, b = (keys[_OWN] / _DIGITS for keys in (own, other))
        return f"With branches the scores are equal; without them that of {one} is {a:.4g} and that of {two} {b:.4g}."
    equal = "The scores are equal, but"
    if differs == _RAISED:
        raised = many(int(own[_RAISED]), "failing test")
        return f"{equal} {raised} failed right at {one}, and {int(other[_RAISED])} at {two}."
    if differs == _KIND and own[_KIND] == StatementKind.RETURN:
        return f"{equal} {one} returns, and statements that return come first."
    if differs == _KIND and own[_KIND] == StatementKind.OTHER:
        return f"{equal} tests execute {one}, and at most read what {two} defines."
    if differs == _KIND:
        return f"{equal} {one} decides where control goes, and {two} does not."
    sizes = many(-int(own[_SIZE]), "statement")
    return (
        f"{equal} failing tests execute only {sizes} of the function of {one},"
        f" and {-int(other[_SIZE])} of that of {two}."
    )


def _for_function(report: EvidenceReport, element: int) -> str:
    """Why the function of an element of the first tie comes first: the end of a sentence."""
    found = report.function_levels
    own = int(found.of[np.searchsorted(np.flatnonzero(_suspected(report.spectrum)), element)])
    if found.raised[own] > found.raised[found.level == 1 + found.level[own]].max(initial=0):
        return f"{_failing(int(found.raised[own]), report.spectrum.counts.failed)} failed in its function"
    have = "has" if found.tied[own] == 1 else "have"
    return f"{many(int(found.tied[own]), 'statement')} of its function {have} this score"


def _failing(count: int, total: int) -> str:
    """Some of the failing tests."""
    if count == total:
        return f"{every(total)} failing tests" if total > 1 else "the failing test"
    return f"{count} of {total} failing tests"


def _added(report: EvidenceReport, element: int) -> int:
    """What changes add to the first key of an element."""
    weights = report.weights
    return int(np.rint(_for_change(weights) * weights.share_of_change(element))) + (
        _CHANGED_FIRST if _is_first(report, element) else 0
    )


def _is_first(report: EvidenceReport, element: int) -> bool:
    """Whether a statement is one of few that changed."""
    return element in report.changed_first


def _by_branch(report: EvidenceReport, element: int) -> bool:
    """Whether a branch gives an element its score."""
    own = report.keys[report.level[element]]
    return bool(own[_BEST] - _added(report, element) > own[_OWN])


def _by_change(report: EvidenceReport, better: int, worse: int | None) -> bool:
    """Whether one statement would not rank before another without the change."""
    added = _added(report, better)
    own = int(report.keys[report.level[better]][_BEST]) - added
    if not added or worse is None or report.level[worse] >= len(report.keys):
        return added > 0 and own == 0
    return own <= int(report.keys[report.level[worse]][_BEST]) - _added(report, worse)


def _first_of(report: EvidenceReport, level: int) -> int | None:
    """The first element of a level, None behind the last one."""
    return int(np.argmax(report.level == level)) if level < len(report.keys) else None


def _for_branch(report: EvidenceReport, element: int) -> str:
    """The branch that gives a statement its score."""
    edges, counts = report.statements.branches.leaving(element), report.spectrum.edge_hit_counts
    scores = report.edge_score[edges]
    best = edges[scores == scores.max()].tolist()
    edge = next((edge for edge in best if _goes_elsewhere(report, edge, element)), best[0])
    ef, ep = int(counts.ef[edge]), int(counts.ep[edge])
    passing = f"{ep} of {counts.passed} passing ones" if ep else "no passing one"
    return f"{_branch(report, edge, element)} in {_failing(ef, counts.failed)} and in {passing}."


def _branch(report: EvidenceReport, edge: int, element: int) -> str:
    """What it means to take a branch of a statement."""
    edges = report.statements.edges
    assert edges is not None
    target = int(edges.target[edge])
    line, leaves = target, target < 0
    if edges.kind is EdgeKind.BLOCK:
        leaves, line = target == EXIT, report.statements.first_line_of_target(edge)
        goals = [report.statements.first_line_of_target(one) for one in report.statements.branches.leaving(element)]
        if line not in (0, _line(report, element)) and goals.count(line) > 1:  # as where a part of `a && b` is false
            return f"One of the ways from here to line {line} is taken"
    elif edges.kind is EdgeKind.OUTCOME:
        return f"Its decision has outcome {-target}"
    elif target >= FIRST_OUTCOME:
        return f"A condition in it is {'true' if target & 1 else 'false'}"
    if leaves:
        return "From here control leaves the function"
    elsewhere = line > 0 and line != _line(report, element)
    return f"From here control goes to line {line}" if elsewhere else "One of its branches is taken"


def _goes_elsewhere(report: EvidenceReport, edge: int, element: int) -> bool:
    """Whether a branch leads to another line, unlike one inside `a || b`."""
    edges = report.statements.edges
    assert edges is not None
    return edges.kind is not EdgeKind.BLOCK or report.statements.first_line_of_target(edge) != _line(report, element)


def _line(report: EvidenceReport, element: int) -> int:
    return int(report.statements.elements.line[element])


def _for_weight(report: EvidenceReport, level: int, element: int) -> str:
    """The failing test with the greatest weight, where the next statements have equal counts but other failing
    tests.
    """
    spectrum, counts = report.spectrum, report.spectrum.counts
    if level + 1 >= len(report.keys):
        return ""
    below = int(report.first_of_level[level + 1])
    if counts.ef[below] != counts.ef[element] or counts.ep[below] != counts.ep[element]:
        return ""
    names = spectrum.failing_tests(element)
    others = set(spectrum.failing_tests(below))
    own = [name for name in names if name not in others] or list(names)
    rows = {name: spectrum.rows[spectrum.failing_index[name]] for name in own}
    name = max(own, key=lambda name: weight_of(rows[name], spectrum))
    size = int(np.count_nonzero(spectrum.candidates[rows[name]]))
    share = weight_of(rows[name], spectrum) / max(report.weights.total, 1)
    return (
        f"{name} executes it and counts for {share:.0%} of the failures, as it executes only {many(size, 'statement')}."
    )


def _put_in(report: EvidenceReport, element: int) -> str:
    counts, weights = report.spectrum.counts, report.weights
    share = int(weights.of_elements[element]) / max(weights.total, 1)
    ef, ep = int(counts.ef[element]), int(counts.ep[element])
    own = _OF_FAILING * share + (1 - _OF_FAILING) * ef / (ef + ep)
    score = float(report.level_score[report.level[element]])
    two = f"{_OF_FAILING:g} * {share:.4g} + {1 - _OF_FAILING:g} * {ef} / ({ef} + {ep})"
    text = f"K = {two} = {own:.4g}, S = "
    if not (added := _added(report, element)):
        return f"{text}{score:.4g}"
    changed = float(weights.share_of_change(element))
    most = f"{_for_change(weights) / _DIGITS:.4g}"
    first = _is_first(report, element)
    terms = f"D + S + w C = {1 if first else 0} + S + {most} * {changed:.4g}"
    return f"{text}{score - added / _DIGITS:.4g}, {terms} = {score:.4g}"

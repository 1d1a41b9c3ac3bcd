"""`RankedReport`: the elements of a spectrum as a technique ranks them."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol, TypeVar

import numpy as np

from suspectra.base.arrays import Bools, Floats, Ints
from suspectra.base.cached_property import CachedProperty
from suspectra.base.errors import Problem
from suspectra.base.technique_info import TechniqueInfo
from suspectra.report.caveats import caveats_of
from suspectra.report.functions import MAX_LINES, FunctionLevels, SuspectFunction
from suspectra.report.levels import levels_of, round_significant
from suspectra.report.suspect import Explanation, Suspect
from suspectra.spectrum import Spectrum, is_only_read

ReportT = TypeVar("ReportT", bound="RankedReport")
_KEPT = 1_000  # largest number of entries that are cached together


class Explainer(Protocol):
    """The part of a technique that its report needs.

    Examples
    --------
    >>> from suspectra.techniques import make_technique
    >>> technique: Explainer = make_technique("ochiai")
    >>> technique.name, technique.clone_failed
    ('ochiai', False)
    >>> report = technique.localize(Spectrum.from_matrix([[1, 1, 0], [1, 0, 1]], failed=[True, False]))
    >>> technique.info.title, technique.explain(report, 0).headline
    ('Ochiai', 'Suspect 1 of 3: Ochiai 1')
    >>> technique.difference(report, 1, 0).partition(":")[0], technique.reason(report, 1)
    ('The score of program', '')
    """

    @property
    def name(self) -> str:
        """The name by which it is selected."""

    @property
    def info(self) -> TechniqueInfo:
        """A description for users."""

    @property
    def clone_failed(self) -> bool:
        """Whether it clones failed tests."""

    def difference(self, report: RankedReport, better: int, worse: int) -> str:
        """Say why one candidate ranks before another.

        Parameters
        ----------
        report : RankedReport
            One that this technique made.
        better, worse : int
            Elements; the second does not rank before the first.

        Returns
        -------
        str
            One sentence.
        """

    def explain(self, report: RankedReport, position: int) -> Explanation:
        """Explain the rank of the entry at a position of its report.

        Parameters
        ----------
        report : RankedReport
            A report of this technique.
        position : int
            Counted from 0, in the order of the report.

        Returns
        -------
        Explanation
            Sentences and numbers.
        """

    def reason(self, report: RankedReport, element: int) -> str:
        """Say in one sentence why an element ranks before those after it.

        Parameters
        ----------
        report : RankedReport
            One that this technique made.
        element : int
            Its column in the spectrum.

        Returns
        -------
        str
            Empty where the counts of tests say it.
        """


@dataclass(frozen=True, eq=False)
class RankedReport:
    """Elements in the order in which to examine them; what a technique ranks the same forms one level.

    Each element has an integer level. So most questions (which elements come first, which rank has this line) need no
    sorting; the full order is computed on demand.

    Parameters
    ----------
    technique : Explainer
        What made the report, and explains it.
    spectrum : Spectrum
        What was ranked.
    level : ndarray of int32, shape (elements,)
        0 for the elements that rank highest, 1 for the next…, -1 for an element that is not a candidate.
    level_score : ndarray of float64, shape (levels,)
        Suspiciousness of each level; descending, but for a last level of elements no test executes.
    notes : tuple of Problem
        What the technique noticed and the user should know.

    Examples
    --------
    >>> from suspectra.techniques import make_technique
    >>> spectrum = Spectrum.from_matrix([[1, 1, 0], [1, 0, 1]], failed=[True, False])
    >>> report = make_technique("ochiai").localize(spectrum)
    >>> [(s.location.line, round(s.score, 2), s.rank_best) for s in report.suspects()]
    [(2, 1.0, 1), (1, 0.71, 2), (3, 0.0, 3)]
    >>> report.order.tolist(), report.position.tolist(), report.scores.round(2).tolist(), report.standard_rank.tolist()
    ([1, 0, 2], [1, 0, 2], [1.0, 0.71, 0.0], [0.5, 1.5, 2.5])
    >>> report.rank_worst.tolist(), report.rank_average.tolist(), report.tie_of_level.tolist(), report.without
    ([1, 2, 3], [1.0, 2.0, 3.0], [0, 1, 2], ())
    """

    technique: Explainer
    spectrum: Spectrum
    level: Ints
    level_score: Floats
    notes: tuple[Problem, ...] = ()

    @classmethod
    def from_scores(
        cls: type[ReportT], technique: Explainer, spectrum: Spectrum, scores: Floats, *, unexecuted_last: bool = True
    ) -> ReportT:
        """Rank the candidates by score, highest first.

        Parameters
        ----------
        technique : Explainer
            What made the scores.
        spectrum : Spectrum
            What was ranked.
        scores : ndarray of float64, shape (elements,)
            NaN is taken as the lowest score.
        unexecuted_last : bool
            Elements that no test executes rank last, together, whatever their score, and get the lowest score of the
            report. False ranks them by their score, as published tables do.

        Returns
        -------
        ReportT
            Scores that agree to 12 significant digits form one level.

        Examples
        --------
        >>> from suspectra import Spectrum, make_technique
        >>> spectrum = Spectrum.from_matrix([[1, 1, 0], [1, 0, 1]], failed=[True, False])
        >>> report = RankedReport.from_scores(make_technique("ochiai"), spectrum, np.array([0.5, 0.9, 0.5]))
        >>> report.order.tolist(), report.rank_worst.tolist()
        ([1, 0, 2], [1, 3, 3])
        """
        candidates, counts = spectrum.candidates, spectrum.counts
        known = np.nan_to_num(scores, nan=-np.inf, posinf=np.inf, neginf=-np.inf)
        ranked = candidates & (counts.ef + counts.ep > 0) if unexecuted_last else candidates
        level_score, of_ranked = levels_of(known[ranked])
        level = np.full(len(candidates), -1, np.int32)
        level[ranked] = of_ranked
        rest = candidates & ~ranked
        if rest.any():
            level[rest] = len(level_score)
            lowest = round_significant(known[np.argmax(rest)])
            level_score = np.append(level_score, np.min(level_score, initial=float(lowest)))
        return cls(technique, spectrum, level, level_score)

    def __len__(self) -> int:
        return int(self._level_end[-1]) if len(self._level_end) else 0

    @cached_property
    def _level_end(self) -> Ints:
        """How many elements are on each level or a better one."""
        return np.cumsum(np.bincount(self.level[self.level >= 0], minlength=len(self.level_score)))

    @cached_property
    def _level_start(self) -> Ints:
        return np.concatenate([[0], self._level_end[:-1]]).astype(np.int64)

    @CachedProperty
    def order(self) -> Ints:
        """The candidates, best first, int32, shape (m,); of a tie the first function, what changed, then by line."""
        return self._on_first_levels(len(self.level_score))

    def _on_first_levels(self, levels: int) -> Ints:
        """The elements of the first levels, in order."""
        chosen = np.flatnonzero(self.level.astype(np.int32, copy=False).view(np.uint32) < levels)  # -1 is the largest
        return self._in_order(chosen, self.level[chosen])

    def _in_order(self, elements: Ints, level: Ints) -> Ints:
        """Sort elements, given in the order of the columns, by their levels."""
        keys = [~self._in_first_function[elements], level]
        if self.spectrum.changed:
            keys.insert(0, -self.spectrum.changed_for[elements])
        return elements[np.lexsort(keys)].astype(np.int32)

    @cached_property
    def _in_first_function(self) -> Bools:
        """Whether each element is one of the first function that failing tests execute it of; shape (elements,)."""
        inside = np.zeros(len(self.level), bool)
        if len(self.function_levels):
            executed = self._executed_by_failing
            inside[executed[self.function_levels.of == np.argmin(self._place_of_function)]] = True
        return inside

    def with_first_function(self: ReportT) -> ReportT:
        """Return the same ranking, in whose first tie the statements of the first function come first.

        Returns
        -------
        ReportT
            Its first statement is the first one of the first function, so lists of both begin with the same.

        Examples
        --------
        >>> from suspectra import Spectrum, make_technique
        >>> spectrum = Spectrum.from_matrix([[1, 1, 0], [1, 0, 1]], failed=[True, False])
        >>> make_technique("ochiai").localize(spectrum).with_first_function().order.tolist()
        [1, 0, 2]
        """
        tied = np.arange(len(self.level_score)) < np.searchsorted(self.tie_of_level, 1)
        own = np.zeros(len(self.level_score), bool)
        own[self.level[self._in_first_function]] = True
        old = np.lexsort((tied & ~own, ~tied))
        return self if np.all(old[1:] > old[:-1]) else self._with_levels(old)

    def _with_levels(self: ReportT, old: Ints) -> ReportT:
        """The same ranking with its levels in another order."""
        level = np.where(self.level >= 0, np.argsort(old)[self.level], -1).astype(np.int32)
        return replace(self, level=level, level_score=np.minimum.accumulate(self.level_score[old]))

    def _first_elements(self, count: int) -> Ints:
        """The first `count` elements of the order, and the rest of the last one's tie; all if there are fewer."""
        return self._on_first_levels(int(np.searchsorted(self._level_end, count)) + 1)

    def top(self, count: int) -> Ints:
        """Return the first `count` elements of the order without sorting all of them.

        Parameters
        ----------
        count : int
            All elements if it is larger than their number.

        Returns
        -------
        ndarray of int32, shape (min(count, m),)
            Columns of the spectrum.

        Examples
        --------
        >>> from suspectra import Spectrum, make_technique
        >>> spectrum = Spectrum.from_matrix([[1, 1, 0], [1, 0, 1]], failed=[True, False])
        >>> make_technique("ochiai").localize(spectrum).top(2).tolist()
        [1, 0]
        """
        if RankedReport.order.peek(self) is not None or not len(self):
            return self.order[:count]
        if count > len(self._first[0]):
            self._first[0] = self._first_elements(count)
        return self._first[0][:count]

    @cached_property
    def _first(self) -> list[Ints]:
        """The longest part of the order that was computed so far, always with whole ties."""
        return [np.zeros(0, np.int32)]

    @property
    def scores(self) -> Floats:
        """Suspiciousness, by position."""
        return self.level_score[self.level[self.order]]

    @property
    def rank_best(self) -> Ints:
        """1 + the number of elements that rank higher, by position."""
        return self._level_start[self.level[self.order]] + 1

    @property
    def rank_worst(self) -> Ints:
        """The number of elements that rank higher or the same, by position."""
        return self._level_end[self.level[self.order]]

    @property
    def rank_average(self) -> Floats:
        """The mean of the best and the worst rank, by position."""
        return (self.rank_best + self.rank_worst) / 2

    @property
    def standard_rank(self) -> Floats:
        """Standard Rank Score (paper 003, Definition 17): #{higher} + #{equal}/2, by position."""
        return (self.rank_best - 1 + self.rank_worst) / 2

    @property
    def tie_of_level(self) -> Ints:
        """The number of the tie that each level is in, ascending; int, shape (levels,).

        A technique may put in order by other means what its score leaves equal. Such levels are one tie.
        """
        return np.arange(len(self.level_score))

    def ties_of(self, elements: Sequence[int] | Ints) -> Ints:
        """Return the number of the tie that each of some candidates is in.

        Parameters
        ----------
        elements : sequence or ndarray of int, shape (k,)
            Their columns in the spectrum.

        Returns
        -------
        ndarray of int, shape (k,)
            As in `tie_of_level`.

        Examples
        --------
        >>> from suspectra import Spectrum, make_technique
        >>> spectrum = Spectrum.from_matrix([[1, 1, 0], [1, 0, 1]], failed=[True, False])
        >>> make_technique("ochiai").localize(spectrum).ties_of([1, 2]).tolist()
        [0, 2]
        """
        return self.tie_of_level[self.level[np.asarray(elements, np.int64)]]

    @cached_property
    def position(self) -> Ints:
        """Position in the ranking by element, -1 for an element that is not a candidate."""
        position = np.full(len(self.spectrum.elements), -1, np.int32)
        position[self.order] = np.arange(len(self.order), dtype=np.int32)
        return position

    def suspect(self, position: int) -> Suspect:
        """Return the entry at a position.

        Parameters
        ----------
        position : int
            Counted from 0, in the order of the report.

        Returns
        -------
        Suspect
            With its ranks and counts.

        Examples
        --------
        >>> from suspectra import Spectrum, make_technique
        >>> spectrum = Spectrum.from_matrix([[1, 1, 0], [1, 0, 1]], failed=[True, False])
        >>> suspect = make_technique("ochiai").localize(spectrum).suspect(0)
        >>> suspect.location.line, suspect.failing_tests
        (2, ('t1',))
        """
        return self.suspect_of(int(self.top(position + 1)[position]))

    def suspect_of(self, element: int) -> Suspect:
        """Return the entry of an element.

        Parameters
        ----------
        element : int
            Its column in the spectrum.

        Returns
        -------
        Suspect
            With its ranks and counts.

        Raises
        ------
        ValueError
            When the element is not a candidate.

        Examples
        --------
        >>> from suspectra import Spectrum, make_technique
        >>> spectrum = Spectrum.from_matrix([[1, 1, 0], [1, 0, 1]], failed=[True, False])
        >>> report = make_technique("ochiai").localize(spectrum)
        >>> report.suspect_of(0).rank_best, report.position_of(0)
        (2, 1)
        """
        return self._known.get(element) or self._suspect(element, self.spectrum.failing_tests(element))

    @cached_property
    def _known(self) -> dict[int, Suspect]:
        """Cached entries: those that were requested together, as these are requested again."""
        return {}

    def _place(self, element: int) -> tuple[float, int, int]:
        """The score of an element, how many rank higher, and how many higher or the same."""
        level = self._level_of(element)
        return float(self.level_score[level]), int(self._level_start[level]), int(self._level_end[level])

    def _level_of(self, element: int) -> int:
        level = int(self.level[element])
        if level < 0:
            raise ValueError(f"element {element} is not a candidate")
        return level

    def _suspect(self, element: int, failing_tests: tuple[str, ...]) -> Suspect:
        score, start, end = self._place(element)
        elements, counts = self.spectrum.elements, self.spectrum.counts
        ef, ep = int(counts.ef[element]), int(counts.ep[element])
        return Suspect(
            element,
            elements.location(element),
            elements.function_name(element),
            score,
            start + 1,
            (start + 1 + end) / 2,
            end,
            (start + end) / 2,
            ef,
            ep,
            counts.failed - ef,
            counts.passed - ep,
            failing_tests,
            int(self.spectrum.changed_for[element]),
            is_only_read(self.spectrum, element),
            int(self.spectrum.changed_by_git_for[element]),
        )

    def suspects(self, top: int | None = None) -> list[Suspect]:
        """Return the first `top` entries, or all.

        Parameters
        ----------
        top : int, optional
            How many; all unless given.

        Returns
        -------
        list of Suspect
            Best first.
        """
        return self.suspects_of((self.order if top is None else self.top(top)).tolist())

    def suspects_of(self, elements: Sequence[int]) -> list[Suspect]:
        """Return the entries of several elements; quicker than one by one.

        Parameters
        ----------
        elements : sequence of int
            Their columns in the spectrum.

        Returns
        -------
        list of Suspect
            In the order of `elements`.

        Raises
        ------
        ValueError
            When one of them is not a candidate.

        Examples
        --------
        >>> from suspectra import Spectrum, make_technique
        >>> spectrum = Spectrum.from_matrix([[1, 1, 0], [1, 0, 1]], failed=[True, False])
        >>> [suspect.rank_best for suspect in make_technique("ochiai").localize(spectrum).suspects_of([0, 1])]
        [2, 1]
        """
        failing = self.spectrum.failing_tests_of(elements)
        found = [self._suspect(element, tests) for element, tests in zip(elements, failing, strict=True)]
        if len(found) <= _KEPT:
            self._known.update(zip(elements, found, strict=True))
        return found

    @cached_property
    def function_levels(self) -> FunctionLevels:
        """The functions that failing tests execute, and their order.

        Examples
        --------
        >>> from suspectra import Spectrum, make_technique
        >>> spectrum = Spectrum.from_matrix([[1, 1, 0], [1, 0, 1]], failed=[True, False])
        >>> make_technique("ochiai").localize(spectrum).function_levels.level.tolist()
        [0]
        """
        executed = self._executed_by_failing
        raised = self.spectrum.raised if self.spectrum.raised is not None else np.zeros(0, np.int32)
        failed = np.bincount(raised[raised >= 0], minlength=len(self.level))[executed]
        level = self.level[executed]
        tie = self.tie_of_level[level]
        if self.spectrum.changed:  # what changed wins every tie
            tie = 2 * tie + (self.spectrum.changed_for[executed] == 0)
        return FunctionLevels.from_statements(self.spectrum.elements, executed, level, tie, failed)

    @cached_property
    def _executed_by_failing(self) -> Ints:
        """The candidates that failing tests execute, in the order of the columns."""
        return np.flatnonzero((self.level >= 0) & (self.spectrum.counts.ef > 0))

    @property
    def first_suspect(self) -> int:
        """What every view names first: the first element of the first function.

        The first element of all where failing tests execute none.

        Examples
        --------
        >>> from suspectra import Spectrum, make_technique
        >>> spectrum = Spectrum.from_matrix([[1, 1, 0], [1, 0, 1]], failed=[True, False])
        >>> make_technique("ochiai").localize(spectrum).first_suspect
        1
        """
        first = self.functions(1)
        return first[0].elements[0] if first else int(self.top(1)[0])

    def function_ranks(self, elements: Sequence[int] | Ints) -> Ints:
        """Return the rank of the function of each of some statements that failing tests execute.

        Parameters
        ----------
        elements : sequence or ndarray of int, shape (k,)
            Their columns in the spectrum.

        Returns
        -------
        ndarray of int, shape (k,)
            1 + the number of functions that rank higher.

        Examples
        --------
        >>> from suspectra import Spectrum, make_technique
        >>> spectrum = Spectrum.from_matrix([[1, 1, 0], [1, 0, 1]], failed=[True, False])
        >>> make_technique("ochiai").localize(spectrum).function_ranks([1, 0]).tolist()
        [1, 1]
        """
        levels = self.function_levels.level
        return np.searchsorted(np.sort(levels), levels[self._functions_of(elements)]) + 1

    def reading_order(self, top: int) -> Ints:
        """Return statements that failing tests execute, in the order of a reader who takes functions as a whole.

        Three of four are the best of the first functions, three of each, so that the list has these functions however
        large their ties are; the others are the next ones by rank. First come the best three of each function, in the
        order of functions, and then what else there is of each.

        Parameters
        ----------
        top : int
            How many; all if it is larger than their number.

        Returns
        -------
        ndarray of int, shape (k,)
            Columns of the spectrum.

        Examples
        --------
        >>> from suspectra import Spectrum, make_technique
        >>> spectrum = Spectrum.from_matrix([[1, 1, 0], [1, 0, 1]], failed=[True, False])
        >>> make_technique("ochiai").localize(spectrum).reading_order(20).tolist()
        [1, 0]
        """
        leading = [one.elements[:MAX_LINES] for one in self.functions(max(1, top // (MAX_LINES + 1)))]
        chosen = dict.fromkeys([element for own in leading for element in own][:top])
        chosen.update(dict.fromkeys(self._first_executed(top)))
        elements = np.sort(np.fromiter(chosen, np.int64)[:top])
        elements = self._in_order(elements, self.level[elements]).astype(np.int64)
        function = self._place_of_function[self._functions_of(elements)]
        together = np.argsort(function, kind="stable")
        elements, function = elements[together], function[together]
        number = np.arange(len(elements)) - np.searchsorted(function, function)
        return elements[np.argsort(number >= MAX_LINES, kind="stable")]

    def _first_executed(self, top: int) -> list[int]:
        """The first `top` statements that a failing test executes, by rank."""
        wanted = top
        while True:
            first = self.top(wanted)
            executed = first[self.spectrum.counts.ef[first] > 0][:top]
            if len(executed) == top or len(first) < wanted:
                return [int(element) for element in executed]
            wanted *= 8

    def _functions_of(self, elements: Sequence[int] | Ints) -> Ints:
        """The functions of statements that failing tests execute, as indices of `function_levels`."""
        return self.function_levels.of[np.searchsorted(self._executed_by_failing, np.asarray(elements, np.int64))]

    @cached_property
    def _place_of_function(self) -> Ints:
        """The place of each function in their order; those of equal rank are sorted by file and line."""
        found = self.function_levels
        where = np.unique(found.of, return_index=True)[1]
        return np.argsort(np.lexsort((where, found.level)))

    def functions(self, top: int | None = None) -> list[SuspectFunction]:
        """Return the first `top` functions that failing tests execute, or all.

        Parameters
        ----------
        top : int, optional
            How many; all unless given.

        Returns
        -------
        list of SuspectFunction
            Best first; of equal rank, by file and line.

        Examples
        --------
        >>> from suspectra import Spectrum, make_technique
        >>> spectrum = Spectrum.from_matrix([[1, 1, 0], [1, 0, 1]], failed=[True, False])
        >>> [(one.file, one.rank_best) for one in make_technique("ochiai").localize(spectrum).functions()]
        [('program', 1)]
        """
        found, elements = self.function_levels, self.spectrum.elements
        by_function = np.argsort(found.of, kind="stable")
        own = np.split(self._executed_by_failing[by_function], np.cumsum(np.bincount(found.of))[:-1])
        higher = np.concatenate([[0], np.cumsum(np.bincount(found.level))])
        listed = []
        for index in np.argsort(self._place_of_function)[:top].tolist():
            ordered = self._in_order(own[index], self.level[own[index]]).tolist()
            number, level = int(found.number[index]), int(found.level[index])
            listed.append(
                SuspectFunction(
                    elements.files[elements.file[ordered[0]]],
                    elements.functions[number].name if number >= 0 else "",
                    self._place(ordered[0])[0],
                    int(higher[level]) + 1,
                    int(higher[level + 1]),
                    int(found.raised[index]),
                    int(found.tied[index]),
                    tuple(ordered),
                )
            )
        return listed

    def position_of(self, element: int) -> int:
        """Return the position of an element, counted from 0, without sorting all elements.

        Parameters
        ----------
        element : int
            Its column in the spectrum.

        Returns
        -------
        int
            In a tie comes first what is in the first function, then what changed for most failing tests; then they are
            sorted by file and line.

        Raises
        ------
        ValueError
            When it is not a candidate.

        Examples
        --------
        >>> from suspectra import Spectrum, make_technique
        >>> spectrum = Spectrum.from_matrix([[1, 1, 0], [1, 0, 1]], failed=[True, False])
        >>> make_technique("ochiai").localize(spectrum).position_of(2)
        2
        """
        if len(known := np.flatnonzero(self._first[0] == element)):
            return int(known[0])
        level = self._level_of(element)
        if RankedReport.order.peek(self) is not None:
            return int(self.position[element])
        changed, inside = self.spectrum.changed_for, self._in_first_function
        tie = self.level == level
        equal = tie & (inside == inside[element])
        first = equal & (changed > changed[element]) | tie & (inside > inside[element])
        first[:element] |= equal[:element] & (changed[:element] == changed[element])
        return int(self._level_start[level] + np.count_nonzero(first))

    def level_span(self, element: int) -> tuple[int, int]:
        """Return the positions between which the level of an element is, without sorting all elements.

        Parameters
        ----------
        element : int
            Its column in the spectrum.

        Returns
        -------
        start, end : int
            How many elements rank higher, and how many higher or the same.

        Raises
        ------
        ValueError
            When it is not a candidate.

        Examples
        --------
        >>> from suspectra import Spectrum, make_technique
        >>> spectrum = Spectrum.from_matrix([[1, 1, 0], [1, 0, 1]], failed=[True, False])
        >>> make_technique("ochiai").localize(spectrum).level_span(0)
        (1, 2)
        """
        return self._place(element)[1:]

    def suspiciousness(self, file: str, line: int) -> float:
        """How suspicious the statement is that includes a line.

        Parameters
        ----------
        file : str
            Relative to the workspace, with forward slashes.
        line : int
            From 1.

        Returns
        -------
        float
            Its score; minus infinity where no ranked statement includes the line.

        Examples
        --------
        >>> from suspectra.techniques import make_technique
        >>> matrix = [[1, 1, 0], [1, 0, 1]]
        >>> report = make_technique("ochiai").localize(Spectrum.from_matrix(matrix, failed=[True, False]))
        >>> elements = report.spectrum.elements
        >>> [round(report.suspiciousness(elements.files[0], int(line)), 2) for line in elements.line]
        [0.71, 1.0, 0.0]
        """
        element = self.spectrum.elements.at(file, line)
        if element is None or self.level[element] < 0:
            return -math.inf
        return float(self.level_score[self.level[element]])

    def explain(self, position: int) -> Explanation:
        """Explain the rank of the entry at a position.

        Parameters
        ----------
        position : int
            Counted from 0, in the order of the report.

        Returns
        -------
        Explanation
            Sentences and numbers from the technique.

        Examples
        --------
        >>> from suspectra import Spectrum, make_technique
        >>> spectrum = Spectrum.from_matrix([[1, 1, 0], [1, 0, 1]], failed=[True, False])
        >>> why = make_technique("ochiai").localize(spectrum).explain(1)
        >>> why.headline, why.substituted
        ('Suspect 2 of 3: Ochiai 0.7071', '1 / sqrt(1 * (1 + 1)) = 0.707107')
        """
        return self.technique.explain(self, position).with_badge(self.suspect(position).badge)

    @property
    def without(self) -> tuple[str, ...]:
        """The kinds of evidence that its technique would have used and had to do without."""
        return ()

    def caveats(self, explained: Collection[str] = ()) -> list[Problem]:
        """Return why this ranking can't single out the fault and what would help, then the notes of the technique.

        Parameters
        ----------
        explained : collection of str
            Failing tests of which it is known why they execute nothing.

        Returns
        -------
        list of Problem
            Each has a cause and a cure, and no file.

        Examples
        --------
        >>> from suspectra import Spectrum, make_technique
        >>> spectrum = Spectrum.from_matrix([[1, 1, 1]], failed=[True])
        >>> [caveat.cure for caveat in make_technique("ochiai").localize(spectrum).caveats()]
        ['run passing tests too, best those near the failing ones']
        """
        first = self.top(1)
        if len(first):
            first = self.top(self.level_span(int(first[0]))[1])
        return [*caveats_of(self.spectrum, first, explained), *self.notes]

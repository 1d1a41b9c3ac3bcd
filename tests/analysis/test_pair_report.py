"""Reports by pairs: however little of them is computed, they say what a report by scores of elements says."""

from dataclasses import replace
from functools import partial
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from suspectra.report import PairReport, RankedReport, pair_report
from suspectra.spectrum import Spectrum
from suspectra.techniques import make_technique

OCHIAI = make_technique("ochiai")
SCORES = st.sampled_from([0.0, -0.0, 0.5, 0.1 + 0.2, 0.3, -1.0, np.inf, -np.inf, np.nan])


@st.composite
def spectra(draw):
    """Some elements are no candidates, some are executed by no test, and some changed since a failing test passed."""
    elements, tests = draw(st.integers(1, 30)), draw(st.integers(1, 6))
    chance = np.random.default_rng(draw(st.integers(0, 2**32)))
    failed = np.arange(tests) < draw(st.integers(1, tests))
    spectrum = Spectrum.from_matrix(chance.random((tests, elements)) < chance.random(elements), failed=failed)
    spectrum.candidates[:] = chance.random(elements) < 0.8
    changed = {"t1": np.flatnonzero(chance.random(elements) < 0.3).astype(np.int32)}
    return replace(spectrum, changed=changed if draw(st.booleans()) else {})


@st.composite
def both(draw):
    """How to make a report by pairs, and the same report by elements."""
    spectrum, last = draw(spectra()), draw(st.booleans())
    pairs = spectrum.pairs
    scores = np.array(draw(st.lists(SCORES, min_size=len(pairs), max_size=len(pairs))), float)
    of_element = np.append(scores, 0.0)[pairs.of]
    return (
        partial(PairReport, OCHIAI, spectrum, scores, unexecuted_last=last),
        RankedReport.from_scores(OCHIAI, spectrum, of_element, unexecuted_last=last),
    )


@pytest.mark.slow
@given(both(), st.integers(1, 3), st.lists(st.integers(0, 30), max_size=5))
def test_it_equals_a_report_by_scores_of_elements(reports, first, counts):
    with mock.patch.object(pair_report, "_FIRST", first), mock.patch.object(pair_report, "_MORE", 2):
        make, theirs = reports
        for count in range(len(theirs) + 2):
            assert make().top(count).tolist() == theirs.top(count).tolist()
        ours = make()
        assert len(ours) == len(theirs)
        for count in counts:
            assert ours.top(count).tolist() == theirs.top(count).tolist()
            assert ours.suspects(count) == theirs.suspects(count)
            best = ours.top(count).tolist()
            assert ours.ties_of(best).tolist() == theirs.ties_of(best).tolist()
            assert [ours.position_of(element) for element in best] == list(range(len(best)))
        everything = theirs.order.tolist()
        assert [ours.suspect_of(element) for element in everything] == theirs.suspects()
        assert [ours.position_of(element) for element in everything] == list(range(len(everything)))
        assert ours.level.tolist() == theirs.level.tolist()
        assert ours.level_score.tolist() == theirs.level_score.tolist()
        assert ours.order.tolist() == everything
        assert ours.rank_worst.tolist() == theirs.rank_worst.tolist()


def test_what_is_no_candidate_has_no_place():
    spectrum = Spectrum.from_matrix([[1, 1, 1]], failed=[True])
    spectrum.candidates[1] = False
    report = OCHIAI.localize(spectrum)
    for question in (report.suspect_of, report.position_of, lambda element: report.ties_of([element])):
        with pytest.raises(ValueError, match="element 1 is not a candidate"):
            question(1)
    assert report.suspect_of(2).rank_worst == 2

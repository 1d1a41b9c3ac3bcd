"""One technique breaks another's ties."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from suspectra.base.technique_info import Need
from suspectra.report import RankedReport
from suspectra.spectrum import Spectrum
from suspectra.techniques import make_technique, technique_names
from suspectra.techniques.tie_breaking import TieBroken


def test_cp_breaks_the_ties_of_jaccard_in_figure_1(figure_1):
    plain = make_technique("jaccard").localize(*figure_1)
    broken = make_technique("jaccard", break_ties="cp").localize(*figure_1)
    assert plain.rank_worst[plain.position[1]] == 7  # b2 beside b3
    assert broken.rank_worst[broken.position[1]] == 4  # b2 before b3
    assert broken.scores.tolist() == plain.scores.tolist()
    explanation = broken.explain(int(broken.position[1]))
    assert explanation.headline == "Suspect 1 of 9, tied with 3 more: Jaccard 0.5"
    assert explanation.sentences[1] == "7 statements share the rank by Jaccard; CP orders them."
    assert "comes from here" in explanation.sentences[2]


def test_every_formula_can_have_its_ties_broken_by_cp(figure_1):
    for name in technique_names():
        technique = make_technique(name)
        if technique.info.family != "formula":
            continue
        plain, broken = technique.localize(*figure_1), make_technique(name, break_ties="cp").localize(*figure_1)
        inside = broken.level[:, None] < broken.level
        assert not (inside & (plain.level[:, None] > plain.level)).any(), name
        assert len(broken.level_score) >= len(plain.level_score)
        assert not np.isnan(broken.scores).any()


def test_what_it_is_called_and_what_it_needs():
    technique = make_technique("ochiai", clone_failed=True, break_ties="sober")
    assert (technique.name, technique.info.needs, technique.clone_failed) == (
        "ochiai+sober",
        {Need.LINES, Need.COUNTS},
        True,
    )
    assert technique == make_technique("ochiai", clone_failed=True, break_ties="sober")


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.booleans()), min_size=1, max_size=12))
def test_order_is_lexicographic(columns):
    first, second, executed = (np.array(column) for column in zip(*columns, strict=True))
    spectrum = Spectrum.from_matrix(np.stack([executed, np.zeros_like(executed)]), failed=[True, False])
    technique = TieBroken(make_technique("ochiai"), make_technique("jaccard"))
    own, other = (RankedReport.from_scores(technique, spectrum, scores.astype(float)) for scores in (first, second))
    report = technique.order(own, other)
    expected = sorted(
        range(len(columns)), key=lambda i: (not executed[i], *((-first[i], -second[i]) if executed[i] else ()), i)
    )
    assert report.order.tolist() == expected

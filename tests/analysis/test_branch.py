"""Branch: what the figure of paper 000 does not show."""

from __future__ import annotations

import pytest

from suspectra.techniques import make_technique


def test_a_statement_takes_the_worst_edge_at_its_block(figure_1):
    report = make_technique("branch").localize(*figure_1)
    assert set(report.rank_worst.tolist()) == {9}
    assert report.scores == pytest.approx([2**-0.5] * 9)


def test_explanation_names_the_edge(figure_1):
    report = make_technique("branch").localize(*figure_1)
    explanation = report.explain(int(report.position[0]))
    assert explanation.sentences[1] == (
        "The most suspicious edge here leads from line 1 to lines 2-5; 2 of 2 failing and 2 of 5 passing tests traverse"
        " it."
    )
    assert explanation.substituted == "2 / sqrt(2 * (2 + 2)) = 0.707107"

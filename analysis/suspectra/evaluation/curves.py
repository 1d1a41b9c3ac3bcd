"""EXAM curves as SVG: the share of faults found against the share of code examined (paper 000, Figure 2)."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np

from suspectra.evaluation.study import Result
from suspectra.evaluation.summary import Run, by_run, found_within

# Distinguishable with colour blindness; the dashes distinguish the curves without any colour.
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#999999")
_DASHES = ("", "7 3", "2 2", "9 3 2 3", "12 4", "4 4", "1 3", "14 3 3 3")
_SIZE, _LEFT, _TOP, _GAP, _ROW = 320, 52, 34, 76, 20
_STEPS = 200


def exam_curves(results: Sequence[Result]) -> str:
    """Draw the curves of all techniques: over all the code, and over the first 20 % of it."""
    groups = by_run(results)
    rows = -(-len(groups) // 3)
    width = _LEFT + 2 * _SIZE + _GAP + 24
    height = _TOP + _SIZE + 56 + rows * _ROW
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
        ' font-family="sans-serif" font-size="12" role="img">',
        "<title>Faults found by the share of the code that is examined</title>",
        f'<rect width="{width}" height="{height}" fill="white"/>',
    ]
    for panel, most in enumerate((1.0, 0.2)):
        left = _LEFT + panel * (_SIZE + _GAP)
        parts += _axes(left, most)
        parts += [_curve(left, most, own, i) for i, own in enumerate(groups.values())]
    parts += [_legend(i, run) for i, run in enumerate(groups)]
    return "\n".join([*parts, "</svg>\n"])


def _axes(left: int, most: float) -> list[str]:
    bottom = _TOP + _SIZE
    parts = [f'<rect x="{left}" y="{_TOP}" width="{_SIZE}" height="{_SIZE}" fill="none" stroke="#888"/>']
    for step in range(6):
        x, y = left + step * _SIZE / 5, bottom - step * _SIZE / 5
        parts += [
            f'<path d="M{x:g} {_TOP}V{bottom}M{left} {y:g}H{left + _SIZE}" stroke="#ddd" stroke-width="0.5"/>',
            f'<text x="{x:g}" y="{bottom + 16}" text-anchor="middle">{step * most * 20:g} %</text>',
            f'<text x="{left - 6}" y="{y + 4:g}" text-anchor="end">{step * 20} %</text>',
        ]
    middle = left + _SIZE / 2
    parts.append(f'<text x="{middle:g}" y="{bottom + 34}" text-anchor="middle">code examined</text>')
    parts.append(f'<text x="{left}" y="{_TOP - 10}">faults found</text>')
    return parts


def _curve(left: int, most: float, results: Sequence[Result], number: int) -> str:
    shares = np.linspace(0, most, _STEPS + 1)
    found = found_within(results, shares)
    x, y = left + shares / most * _SIZE, _TOP + _SIZE * (1 - found)
    points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x.tolist(), y.tolist(), strict=True))
    return f'<polyline points="{points}" fill="none" {_style(number)}/>'


def _legend(number: int, run: Run) -> str:
    x = _LEFT + (number % 3) * 240
    y = _TOP + _SIZE + 58 + (number // 3) * _ROW
    return (
        f'<path d="M{x} {y - 4}h28" fill="none" {_style(number)}/>'
        f'<text x="{x + 34}" y="{y}">{escape(title(run))}</text>'
    )


def _style(number: int) -> str:
    colour = _COLOURS[number % len(_COLOURS)]
    dash = _DASHES[(number + number // len(_COLOURS)) % len(_DASHES)]
    return f'stroke="{colour}" stroke-width="1.6"' + (f' stroke-dasharray="{dash}"' if dash else "")


def title(run: Run) -> str:
    """The name of a technique in tables and figures."""
    technique, clone = run
    return f"{technique}, cloned" if clone else technique

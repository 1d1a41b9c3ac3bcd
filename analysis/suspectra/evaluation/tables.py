"""The results of a study as CSV, Markdown and HTML."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import replace
from html import escape

from suspectra.base.errors import Problem
from suspectra.evaluation.curves import exam_curves, title
from suspectra.evaluation.study import Result, StudyResult
from suspectra.evaluation.summary import (
    DIFFERENCES,
    TOP,
    TOP_PERCENT,
    CloningEffect,
    Run,
    Summary,
    TechniqueComparison,
    by_run,
    cloning_effects,
    compare,
    summarize,
)

FIELDS = ("family", "subject", "technique", "clone", "n", "rank_best", "rank_avg", "rank_worst", "exam")

_SUMMARY = (
    "technique", "subjects", "mean EXAM", "median", "std. dev.", "min", "max",
    *(f"Top-{n} best/avg/worst" for n in TOP), f"Top-{TOP_PERCENT} % best/avg/worst",
)  # fmt: skip
_DIFFERENCES = ("technique", *(f"lower/within/higher than {n} %" for n in DIFFERENCES))
_CLONING = (
    "technique", "subjects", "increase ratio, Avg", "Max", "Min", "Top-5", f"Top-{TOP_PERCENT} %", "Wilcoxon p",
)  # fmt: skip
_COMPARISON = ("technique", "better", "equal", "worse", "Wilcoxon p", "mean EXAM ratio (95 %)", "Top-5 avg more (95 %)")

_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Suspectra study</title>
<style>
body {{ font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 62rem; padding: 0 1rem; color: #222 }}
table {{ border-collapse: collapse; margin: 1rem 0; display: block; overflow-x: auto }}
th, td {{ padding: .25rem .7rem; border-bottom: 1px solid #ddd; text-align: right; white-space: nowrap }}
th:first-child, td:first-child {{ text-align: left }}
thead th {{ border-bottom: 2px solid #888 }}
svg {{ max-width: 100%; height: auto }}
</style></head><body>
<h1>Study of {techniques} techniques on {subjects} subjects</h1>
{body}
</body></html>
"""


def to_csv(results: Sequence[Result]) -> str:
    """Write one row per result, with the columns of :data:`FIELDS`, and `t_score` if there are any."""
    out = io.StringIO()
    table = csv.writer(out, lineterminator="\n")
    searched = any(r.t_score is not None for r in results)
    table.writerow((*FIELDS, *(["t_score"] if searched else [])))
    for r in results:
        ranks = (r.rank_best, r.rank_average, r.rank_worst, r.exam, *([r.t_score] if searched else []))
        table.writerow((r.family, r.subject, r.technique, r.clone, r.n, *ranks))
    return out.getvalue()


def to_markdown(result: StudyResult, reference: Run | None = None) -> str:
    """Write the statistics of the techniques, over all subjects and by family, and comparisons with the reference."""
    parts = []
    for heading, columns, rows in _tables(result, reference):
        lines = [f"## {heading}", "", _row(columns), _row(["---", *["---:"] * (len(columns) - 1)])]
        parts.append("\n".join([*lines, *(_row(row) for row in rows)]))
    if result.problems:
        parts.append(
            "\n".join(["## What could not be ranked", "", *(f"- {line}" for line in _left_out(result.problems))])
        )
    return "\n\n".join(parts) + "\n"


def to_html(result: StudyResult, reference: Run | None = None) -> str:
    """Write a self-contained page with the curves, the statistics and every result."""
    parts = [exam_curves(result.results)]
    for heading, columns, rows in _tables(result, reference):
        parts.append(f"<h2>{escape(heading)}</h2>{_html_table(columns, rows)}")
    every = [
        [r.subject, r.family, title((r.technique, r.clone)), *_ranks(r)]
        for r in sorted(result.results, key=lambda r: (r.family, r.subject))
    ]
    columns = ("subject", "family", "technique", "statements", "best", "average", "worst", "EXAM")
    parts.append(f"<details><summary>Every result</summary>{_html_table(columns, every)}</details>")
    if result.problems:
        items = "".join(f"<li>{escape(line)}</li>" for line in _left_out(result.problems))
        parts.append(f"<h2>What could not be ranked</h2><ul>{items}</ul>")
    subjects = len({(r.family, r.subject) for r in result.results})
    return _PAGE.format(techniques=len(by_run(result.results)), subjects=subjects, body="\n".join(parts))


def _left_out(problems: Sequence[Problem]) -> list[str]:
    """Why results are missing. Subjects with the same problem share one line."""
    groups: dict[Problem, list[str]] = {}
    for problem in problems:
        groups.setdefault(replace(problem, file=""), []).append(problem.file)
    return [
        str(replace(problem, file=files[0] if len(files) == 1 else f"{len(files)} subjects, the first {files[0]}"))
        for problem, files in groups.items()
    ]


def _tables(result: StudyResult, reference: Run | None) -> list[tuple[str, Sequence[str], list[list[str]]]]:
    results = result.results
    searched = any(r.t_score is not None for r in results)
    columns = (*_SUMMARY, *(("mean T-score",) if searched else ()))
    families = list(dict.fromkeys(r.family for r in results))
    how = ", ranked by expected steps (HT_Rank)" if result.ht_rank else ""
    parts: list[tuple[str, Sequence[str], list[list[str]]]] = [
        (f"All subjects{how}", columns, [_summary_row(one, searched) for one in summarize(results)])
    ]
    if len(families) > 1:
        for family in families:
            own = [r for r in results if r.family == family]
            parts.append((family, columns, [_summary_row(one, searched) for one in summarize(own)]))
    against = compare(results, reference)
    if against:
        base = reference if reference in by_run(results) else next(iter(by_run(results)))
        heading = f"Against {title(base)}, subject by subject"
        parts.append((heading, _COMPARISON, [_comparison_row(one) for one in against]))
        heading = f"Differences in EXAM against {title(base)}"
        rows = [
            [title((one.technique, one.clone)), *("/".join(map(str, counts)) for counts in one.differences)]
            for one in against
        ]
        parts.append((heading, _DIFFERENCES, rows))
    if effects := cloning_effects(results):
        parts.append(("What cloning failed tests changes", _CLONING, [_cloning_row(one) for one in effects]))
    return parts


def _cloning_row(one: CloningEffect) -> list[str]:
    return [
        one.technique,
        str(one.subjects),
        *(f"{ratio:+.4f}" for ratio in (one.average, one.worst, one.best)),
        *(f"{before} → {after}" for before, after in (one.top_five, one.top_percent)),
        f"{one.p_value:.3g}",
    ]


def _summary_row(one: Summary, searched: bool) -> list[str]:
    figures = (one.mean, one.median, one.deviation, one.lowest, one.highest)
    return [
        title((one.technique, one.clone)),
        str(one.subjects),
        *(f"{figure:.4f}" for figure in figures),
        *("/".join(map(str, counts)) for counts in (*one.top, one.top_percent)),
        *(["" if one.t_score is None else f"{one.t_score:.4f}"] if searched else []),
    ]


def _comparison_row(one: TechniqueComparison) -> list[str]:
    counts = (one.better, one.equal, one.worse)
    ratio, more = one.ratio, one.top_five
    return [
        title((one.technique, one.clone)),
        *map(str, counts),
        f"{one.p_value:.3g}",
        f"{ratio.value:.2f} ({ratio.low:.2f} to {ratio.high:.2f})",
        f"{more.value:+.0f} ({more.low:+.0f} to {more.high:+.0f})",
    ]


def _ranks(r: Result) -> list[str]:
    return [str(r.n), str(r.rank_best), f"{r.rank_average:g}", str(r.rank_worst), f"{r.exam:.4f}"]


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"


def _html_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    head = "".join(f"<th>{escape(cell)}</th>" for cell in columns)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"

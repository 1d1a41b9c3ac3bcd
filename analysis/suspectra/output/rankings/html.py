"""The ranking as one self-contained HTML page: suspects, sources with heat colours, and what each test executed."""

from __future__ import annotations

import base64
import hashlib
import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from importlib import resources
from itertools import groupby
from typing import NamedTuple, TextIO

import numpy as np
from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from suspectra import __version__
from suspectra.base.arrays import Ints
from suspectra.base.english import enumeration
from suspectra.evidence.changes import besides
from suspectra.evidence.evidence import Evidence
from suspectra.evidence.failures import failure_sentence
from suspectra.evidence.sources import Sources, SourceUnreadable
from suspectra.failure_groups.ranking import RankedGroup
from suspectra.markov.debugging_model import DebuggingModel
from suspectra.output.pictures.chain import STYLE as CHAIN_STYLE
from suspectra.output.pictures.chain import Picture
from suspectra.output.rankings.ranking import (
    FunctionEntry,
    Listing,
    RankingEntry,
    change_in_words,
    function_in_words,
)
from suspectra.output.rankings.table import location_text, rank_text, score_text
from suspectra.output.terminal import safe
from suspectra.report import RankedReport

MAX_SOURCE = 8 * 2**20  # characters of source in one page
MAX_ROWS = 6 * 2**20  # characters of the rows of tests
MAX_CHAINS = 20  # suspects whose neighbourhood in the debugging model is drawn
_HOTTEST = 9
_FUNCTIONS_TOP, _GROUP_TOP = 10, 3  # functions listed over all failing tests, and for each failure group


def write_html(ranking: Listing, out: TextIO, sources: Sources, model: DebuggingModel | None = None) -> None:
    """Write the page.

    The page loads nothing from the network: its content security policy allows only its own style and script, by their
    hashes. It contains files with a listed suspect, and files that a failing test executed, best suspects first, up to
    a limit; and for each test the statements of these files that it executed, as runs.
    """
    report, evidence = ranking.report, ranking.evidence
    heat = _heat(report)
    files = _files(ranking, sources)
    style, script = _asset("page.css") + (CHAIN_STYLE if model else ""), _asset("page.js")
    page = _environment().from_string(_asset("page.html.jinja"))
    counts = report.spectrum.counts
    out.write(
        page.render(
            style=Markup(style),
            style_hash=_hash(style),
            script=Markup(script),
            script_hash=_hash(script),
            data=Markup(_json(_data(ranking, files, heat))),
            project=safe(sources.workspace.resolve().name) or "/",
            technique=report.technique.info,
            cloned=report.technique.clone_failed,
            without=enumeration(report.without) if report.without else "",
            failed=counts.failed,
            passed=counts.passed,
            uncounted=sum(not test.verdict.counted for test in evidence.tests),
            elements=len(report),
            shown=ranking.shown,
            cut=ranking.cut,
            problems=ranking.notices,
            besides=besides(evidence, ranking.report.spectrum),
            functions=[_function(one) for one in replace(ranking, top=_FUNCTIONS_TOP).functions()],
            groups=list(_groups(ranking, heat, sources)),
            failure_groups=[
                _failure_group(group, ranking.for_group(group, _GROUP_TOP)) for group, _ in ranking.sections
            ],
            chains=list(_chains(ranking, model, sources)) if model else [],
            evidence=evidence.source,
            version=__version__,
        )
    )


def _failure_group(ranked: RankedGroup, listing: Listing) -> dict[str, object]:
    return {
        "heading": ranked.heading,
        "reason": ranked.reason,
        "tests": ranked.group.tests,
        "functions": [_function(one) for one in listing.functions()],
    }


def _function(one: FunctionEntry) -> dict[str, object]:
    return {
        "rank": rank_text(one["rank_best"], one["rank_worst"]),
        "name": function_in_words(one),
        "lines": [{"line": entry["line"], "anchor": location_text(entry)} for entry in one["suspects"]],
    }


def _environment() -> Environment:
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters["safe_text"] = safe  # no control characters; escaping is done after it
    return environment


def _asset(name: str) -> str:
    return (resources.files("suspectra.output.rankings") / "page" / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _json(value: object) -> str:
    """JSON that can't end the script element around it."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _heat(report: RankedReport) -> list[int]:
    """The heat of each level, 0 to 9, by the logarithm of its rank, as scores of techniques can't be compared."""
    counts = report.spectrum.counts
    suspected = np.zeros(len(report.level_score), np.int64)
    executed = (report.level >= 0) & (counts.ef > 0)
    suspected += np.bincount(report.level[executed], minlength=len(suspected))
    total = max(int(suspected.sum()), 2)
    ends = np.cumsum(np.bincount(report.level[report.level >= 0], minlength=len(suspected)))
    heat = []
    for level, (end, some) in enumerate(zip(ends.tolist(), suspected.tolist(), strict=True)):
        best = 1 + (int(ends[level - 1]) if level else 0)
        share = 1 - math.log(min((best + end) / 2, total)) / math.log(total)
        if level == 0:
            share = 1.0
        heat.append(max(1, round(_HOTTEST * share)) if some else 0)
    return heat


def _groups(ranking: Listing, heat: Sequence[int], sources: Sources) -> Iterator[dict[str, object]]:
    """The listed suspects by tie, for the template."""
    level = ranking.report.level
    order = ranking.report.top(ranking.shown)
    numbered = zip(range(ranking.shown), order.tolist(), replace(ranking, groups=()).entries(), strict=True)
    for (best, worst), tied in groupby(numbered, lambda member: (member[2]["rank_best"], member[2]["rank_worst"])):
        members = list(tied)
        _, element, first = members[0]
        yield {
            "rank": rank_text(best, worst),
            "score": score_text(first["score"]),
            "heat": heat[int(level[element])],
            "size": worst - best + 1,
            "suspects": [_listed(number, entry, ranking.beside_counts(entry), sources) for number, _, entry in members],
        }


def _listed(number: int, entry: RankingEntry, reason: str, sources: Sources) -> dict[str, object]:
    folder, slash, name = entry["file"].rpartition("/")
    return {
        "number": number,
        "anchor": location_text(entry),
        "folder": folder + slash,
        "name": name,
        "line": entry["line"],
        "function": entry["function"],
        "source": sources.line(entry["file"], entry["line"]).strip(),
        "reason": reason,
        "ef": entry["ef"],
        "ep": entry["ep"],
        "changed": change_in_words(entry),
    }


def _chains(ranking: Listing, model: DebuggingModel, sources: Sources) -> Iterator[dict[str, object]]:
    """The pictures of the first suspects, with the same numbers."""
    elements = ranking.report.spectrum.elements

    def source(element: int) -> str:
        return sources.line(elements.files[elements.file[element]], int(elements.line[element]))

    for number, element in enumerate(ranking.report.top(min(ranking.shown, MAX_CHAINS)).tolist()):
        try:
            picture = Picture.around(model, element, source=source)
        except KeyError:  # it is in no subgraph
            continue
        yield {"number": number, "svg": Markup(picture.svg(styled=False, prefix=f"chain{number}"))}


class _ShownFile(NamedTuple):
    """A file of the page: its data for the script, and its statements in the table and on the page."""

    fields: dict[str, object]
    span: slice[int, int]
    start: int


def _files(ranking: Listing, sources: Sources) -> list[_ShownFile]:
    """The files to show, best suspect first, with statements numbered over all files from 0."""
    report, evidence = ranking.report, ranking.evidence
    elements, counts = report.spectrum.elements, report.spectrum.counts
    listed = elements.file[report.top(ranking.shown)]
    touched = elements.file[counts.ef > 0]
    by_rank = elements.file[report.order[counts.ef[report.order] > 0]]
    wanted = dict.fromkeys([*listed.tolist(), *by_rank.tolist(), *touched.tolist()])
    remaining, start = MAX_SOURCE, 0
    files: list[_ShownFile] = []
    listed_files = set(listed.tolist())
    for index in wanted:
        measured = evidence.files[index]
        text, note = _text(sources, measured.path, measured.digest)
        if len(text or "") > remaining and index not in listed_files:
            continue
        remaining -= len(text or "")
        span = elements.in_file(measured.path)
        fields: dict[str, object] = {
            "path": safe(measured.path),
            "text": text,
            "note": note,
            "test": measured.is_test,
            "start": start,
            "line": elements.line[span].tolist(),
            "end": elements.end_line[span].tolist(),
            "level": report.level[span].tolist(),
            "ef": counts.ef[span].tolist(),
            "ep": counts.ep[span].tolist(),
        }
        files.append(_ShownFile(fields, span, start))
        start += span.stop - span.start
    return files


def _text(sources: Sources, path: str, digest: str | None) -> tuple[str | None, str]:
    try:
        source = sources.get(path)
    except SourceUnreadable as error:
        return None, safe(f"{error.problem.cause}: lines are shown without their text")
    change = sources.change(path, digest)
    return "\n".join(safe(line) for line in source.lines), safe(change.cause) if change else ""


def _data(ranking: Listing, files: Sequence[_ShownFile], heat: Sequence[int]) -> dict[str, object]:
    """The data for the page's script."""
    report, evidence = ranking.report, ranking.evidence
    shown = np.full(len(report.spectrum.elements), -1, np.int64)
    for _, span, first in files:
        shown[span] = np.arange(first, first + span.stop - span.start)
    rows, numbers = _rows(evidence, shown)
    counts = report.spectrum.counts
    suspects = []
    for position, element in enumerate(report.top(ranking.shown).tolist()):
        why = report.explain(position)
        failed = failure_sentence(evidence, report.spectrum, element)
        suspects.append(
            {
                "statement": int(shown[element]),
                "headline": safe(why.headline),
                "sentences": [safe(sentence) for sentence in (*why.sentences, *([failed] if failed else []))],
                "formula": why.formula,
                "substituted": why.substituted,
            }
        )
    return {
        "failed": counts.failed,
        "passed": counts.passed,
        "levels": [
            {"rank": rank, "score": score_text(score), "heat": hot}
            for rank, score, hot in zip(_level_ranks(report), report.level_score.tolist(), heat, strict=True)
        ],
        "files": [file.fields for file in files],
        "suspects": suspects,
        "tests": [_test(evidence, i, numbers[i]) for i in _failing_first(evidence)],
        "rows": rows,
    }


def _level_ranks(report: RankedReport) -> list[str]:
    sizes = np.bincount(report.level[report.level >= 0], minlength=len(report.level_score))
    ends = np.cumsum(sizes)
    return [rank_text(end - size + 1, end) for end, size in zip(ends.tolist(), sizes.tolist(), strict=True)]


def _test(evidence: Evidence, index: int, row: int) -> dict[str, object]:
    test = evidence.tests[index]
    stack = evidence.stacks.get(test.name)
    return {
        "name": safe(test.name),
        "verdict": test.verdict.value,
        "failing": test.verdict.failing,
        "message": safe(test.message),
        "calls": [safe(str(frame)) for frame in reversed(stack.frames)] if stack is not None else [],
        "flaky": test.flaky,
        "row": row,
    }


def _failing_first(evidence: Evidence) -> list[int]:
    """The indices of the tests, sorted by verdict and name."""
    return sorted(
        range(len(evidence.tests)), key=lambda i: (not evidence.tests[i].verdict.failing, evidence.tests[i].name)
    )


def _rows(evidence: Evidence, shown: Ints) -> tuple[list[str], list[int]]:
    """The distinct rows, and the row of each test. If there are too many, those of failing tests are kept."""
    index_of: dict[str, int] = {"": 0}
    numbers = [0] * len(evidence.tests)
    remaining = MAX_ROWS
    for i in _failing_first(evidence):
        code = encode_runs(np.sort(shown[evidence.rows[i]]))
        if code not in index_of:
            remaining -= len(code)
            if remaining < 0:
                continue
            index_of[code] = len(index_of)
        numbers[i] = index_of[code]
    return list(index_of), numbers


def encode_runs(indices: Ints) -> str:
    """Encode sorted indices as runs: the gap before each run and its length, as LEB128 in base64."""
    indices = indices[indices >= 0]
    if not len(indices):
        return ""
    opens = np.flatnonzero(np.diff(indices, prepend=indices[0] - 2) != 1)
    first = indices[opens]
    last = indices[np.append(opens[1:], len(indices)) - 1] + 1
    values = np.empty(2 * len(opens), np.int64)
    values[0::2] = first - np.concatenate([[0], last[:-1]])
    values[1::2] = last - first
    return base64.b64encode(_varints(values)).decode("ascii")


def _varints(values: Ints) -> bytes:
    sizes = np.ones(len(values), np.int64)
    for k in range(1, 5):
        sizes += values >= 1 << 7 * k
    at = np.cumsum(sizes) - sizes
    out = np.zeros(int(sizes.sum()), np.uint8)
    for k in range(5):
        has = sizes > k
        out[at[has] + k] = (values[has] >> 7 * k & 127) | np.where(sizes[has] > k + 1, 128, 0)
    return out.tobytes()

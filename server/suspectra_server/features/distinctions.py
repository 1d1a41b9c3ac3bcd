"""Why not a line, and what would tell the lines of a tie apart: what the two commands say."""

from __future__ import annotations

from dataclasses import dataclass

from lsprotocol import types as lsp

from suspectra.distinctions.comparison import SuspectComparison
from suspectra.distinctions.tie import advise
from suspectra.output.distinctions import heading, sentences
from suspectra_server import messages
from suspectra_server.safe_text import markdown, plain
from suspectra_server.state.ranking import Ranking


@dataclass(frozen=True)
class DistinctionText:
    """A headline and some sentences, which contain names of tests."""

    headline: str
    sentences: tuple[str, ...]  # most important first
    element: int  # the statement that it is about

    @property
    def text(self) -> str:
        """For clients that show no Markdown."""
        return "\n".join(plain(part) for part in (self.headline, *self.sentences))

    def to_protocol(self, location: lsp.Location | None) -> messages.Answer:
        """For the client, with where the statement is now."""
        parts = [f"**{markdown(self.headline)}**", *(markdown(sentence) for sentence in self.sentences)]
        return {
            "markdown": "\n\n".join(parts),
            "headline": plain(self.headline),
            "sentences": [plain(sentence) for sentence in self.sentences],
            "change": None,
            "fix": None,
            "location": location,
        }


def why_not(ranking: Ranking, element: int) -> DistinctionText:
    """A statement against the first suspect; in a worker thread."""
    report, evidence = ranking.ranked, ranking.evidence
    location = report.spectrum.elements.location(element)
    if report.level[element] < 0:
        return DistinctionText(f"{location}", ("It is test code, which is not suspected.",), element)
    program = evidence.program if evidence is not None else None
    at_import = evidence.at_import if evidence is not None else None
    elsewhere = int(ranking.spectrum_over_all.counts.ef[element] - report.spectrum.counts.ef[element])
    comparison = SuspectComparison.from_report(report, element, program, at_import, elsewhere)
    found = [*_in_group(ranking), *comparison.sentences]
    if comparison.tie is not None:
        advice = advise(report, program, element)
        found += [heading(advice), *sentences(advice)]
    return DistinctionText(f"Why not {location}?", tuple(found), element)


def tell_apart(ranking: Ranking, element: int | None) -> DistinctionText:
    """The tie of a suspect, or the first one; in a worker thread."""
    evidence = ranking.evidence
    advice = advise(ranking.ranked, evidence.program if evidence is not None else None, element)
    first = int(advice.tie.members[0]) if element is None else element
    return DistinctionText(heading(advice), (*_in_group(ranking), *sentences(advice)), first)


def _in_group(ranking: Ranking) -> list[str]:
    """Which failure group's ranking it is about, if there are several."""
    return [f"In the ranking of {ranking.group.heading}."] if ranking.group is not None else []

"""What would tell the lines of a tie apart, worked out after each ranking, since a hover computes nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from suspectra.base.cancellation import check
from suspectra.distinctions.tie import advise
from suspectra_server.session.jobs import Jobs
from suspectra_server.state.ranking import Ranking

MAX_TIES = 10  # of which the best step is known ahead


class NextSteps:
    """The best step for the first ties of a ranking. All methods are called in the server's loop."""

    def __init__(self, key: str, jobs: Jobs, changed: Callable[[], None]):
        self._key = ("next steps", key)
        self._jobs = jobs
        self._changed = changed
        self._known: tuple[Ranking, Mapping[int, str]] | None = None
        self._wanted: Ranking | None = None

    def renew(self, ranking: Ranking) -> None:
        """Work out the steps of a ranking, unless they are known."""
        known = self._known is not None and self._known[0] is ranking
        if known or ranking is self._wanted or ranking.report is None or ranking.preliminary:
            return
        self._wanted = ranking
        self._jobs.submit(self._key, lambda token: next_steps(ranking), lambda steps: self._take(ranking, steps))

    def pause(self) -> None:
        """Stop working on steps, so that it does not delay a ranking."""
        self._jobs.cancel(self._key)
        self._wanted = None

    def for_ranking(self, ranking: Ranking) -> Mapping[int, str]:
        """For each suspect in one of the first ties the best step, in one sentence, as far as these are known."""
        return self._known[1] if self._known is not None and self._known[0] is ranking else {}

    def close(self) -> None:
        """Stop for good."""
        self.pause()

    def _take(self, ranking: Ranking, steps: Mapping[int, str] | Exception) -> None:
        if ranking is self._wanted and not isinstance(steps, Exception):
            self._known = ranking, steps
            self._changed()


def next_steps(ranking: Ranking) -> dict[int, str]:
    """For each suspect in one of the first ties the best step, in one sentence; in a worker thread."""
    report, evidence = ranking.ranked, ranking.evidence
    program = evidence.program if evidence is not None else None
    found, ties = dict[int, str](), dict[int, str]()
    tie_of = report.ties_of([suspect.element for suspect in ranking.suspects]).tolist()
    for suspect, tie in zip(ranking.suspects, tie_of, strict=True):
        if tie not in ties:
            if len(ties) == MAX_TIES:
                break
            check()
            advice = advise(report, program, suspect.element)
            tied = len(advice.tie.members) > 1 and advice.best is not None
            ties[tie] = advice.best.sentence(report.spectrum) if tied and advice.best else ""
        if ties[tie]:
            found[suspect.element] = ties[tie]
    return found

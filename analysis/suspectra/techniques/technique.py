"""What every localization technique is: hyper-parameters, a name, and `localize`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from suspectra.program import Program
    from suspectra.report import Explanation, RankedReport
    from suspectra.spectrum import Spectrum


@dataclass(frozen=True)
class TechniqueInfo:
    """What a user wants to know before choosing a technique.

    Parameters
    ----------
    name : str
        Lower case with hyphens, as it is selected.
    title : str
        As the literature writes it.
    family : str
    paper : str
        Who published it.
    formula : str
        The score as a formula, or one sentence where there is no closed form.
    needs : str
        ``lines``, ``edges`` or ``counts``: the least the evidence must hold.
    advice : str
        When to use it.
    group : str
        Formulas of one group rank a single fault alike (paper 004, Table 1); empty when in none.
    """

    name: str
    title: str
    family: str
    paper: str
    formula: str
    needs: str = "lines"
    advice: str = ""
    group: str = ""


class Technique(ABC):
    """A frozen object of hyper-parameters. Data comes in the call, so one object serves any spectrum."""

    info: TechniqueInfo
    needs_program: ClassVar[bool] = False

    @property
    def name(self) -> str:
        """The name it is selected by."""
        return self.info.name

    @property
    def clone_failed(self) -> bool:
        """Whether failed tests are cloned until they are as many as the passed ones."""
        return False

    @abstractmethod
    def localize(
        self, spectrum: Spectrum, program: Program | None = None, before: RankedReport | None = None
    ) -> RankedReport:
        """Score the spectrum's elements.

        Parameters
        ----------
        spectrum : Spectrum
        program : Program, optional
        before : RankedReport, optional
            Any report of a state before a change. It changes nothing but the time this takes: what a technique can
            take over from its own last report it does.

        Raises
        ------
        NothingToRank
            When the spectrum lacks what the technique needs.
        """

    @abstractmethod
    def explain(self, report: RankedReport, position: int) -> Explanation:
        """Say why the entry at a position of this technique's report stands there."""

"""Steps: what a reader can do to tell the statements of a tie apart, each in one sentence."""

from __future__ import annotations

import math
from dataclasses import dataclass

from suspectra.distinctions.executions import Pair
from suspectra.distinctions.words import listed
from suspectra.spectrum import Spectrum


def gain(part: int, whole: int) -> float:
    """What a test tells that executes some statements of a tie and not the others, on average.

    Parameters
    ----------
    part, whole : int
        Statements that it executes, and statements of the tie.

    Returns
    -------
    float
        Bits, from 0 to 1: the entropy of part/whole.

    Examples
    --------
    >>> gain(1, 2), round(gain(8, 9), 2), gain(3, 3)
    (1.0, 0.5, 0.0)
    """
    if not 0 < part < whole:
        return 0.0
    p = part / whole
    return -p * math.log2(p) - (1 - p) * math.log2(1 - p)


@dataclass(frozen=True)
class Twin:
    """A passing test that executes what a failing one does, so that no coverage tells what is different.

    Parameters
    ----------
    pair : Pair
        The two tests.

    Examples
    --------
    >>> spectrum = Spectrum.from_matrix([[1, 1], [1, 1]], failed=[True, False])
    >>> Twin(Pair(0, 1, 1.0)).sentence(spectrum)
    't2 passes and executes the same as the failing t1: compare the values in these two tests.'
    """

    pair: Pair
    kind = "twin"
    gain = None
    members = 0

    def sentence(self, spectrum: Spectrum) -> str:
        """What to do.

        Parameters
        ----------
        spectrum : Spectrum
            Whose tests they are.

        Returns
        -------
        str
            One sentence with names of tests in it.
        """
        passing, failing = spectrum.tests[self.pair.passing], spectrum.tests[self.pair.failing]
        return (
            f"{passing} passes and executes the same as the failing {failing}: compare the values in these two tests."
        )


@dataclass(frozen=True)
class MissingOutcome:
    """A way out of a decision that no test takes.

    Parameters
    ----------
    element : int
        The decision, a member of the tie.
    line : int or None
        Where the way leads; None out of the function.
    members : int
        How many members of the tie a test that goes this way is sure to execute.
    avoided : tuple of int
        Members of the same function that it need not execute.
    gain : float or None
        In bits; None where it is not known where the way leads.

    Examples
    --------
    >>> spectrum = Spectrum.from_matrix([[1, 1, 1, 1]], failed=[True])
    >>> MissingOutcome(0, 4, 2, (1, 2), 1.0).sentence(spectrum)
    'If possible, add a test that goes from program:1 to line 4, as none does: it need not execute program:2–3.'
    """

    element: int
    line: int | None
    members: int
    avoided: tuple[int, ...]
    gain: float | None
    kind = "missing outcome"

    def sentence(self, spectrum: Spectrum) -> str:
        """What to do.

        Parameters
        ----------
        spectrum : Spectrum
            Whose statements they are.

        Returns
        -------
        str
            One sentence.
        """
        name = spectrum.elements.location(self.element).short
        if self.gain is None:
            return f"If possible, add a test that takes the other outcome at {name}, as none does."
        way = f"goes from {name} to line {self.line}" if self.line else f"leaves the function at {name}"
        past = f": it need not execute {listed(spectrum.elements, self.avoided)}" if self.avoided else ""
        return f"If possible, add a test that {way}, as none does{past}."


@dataclass(frozen=True)
class DirectCall:
    """A test of a function that contains some members of the tie.

    Parameters
    ----------
    element : int
        The first member in it.
    members : int
        How many members it contains.
    tied : int
        How many members the tie has.
    gain : float
        In bits.

    Examples
    --------
    >>> from suspectra.spectrum import Elements, Function
    >>> import numpy as np
    >>> lines, zeros = np.arange(1, 4, dtype=np.int32), np.zeros(3, np.int32)
    >>> elements = Elements(("a.py",), zeros, lines, lines, zeros, (Function(0, "tax", 1, 3),))
    >>> spectrum = Spectrum.from_matrix([[1, 1, 1]], failed=[True], elements=elements)
    >>> DirectCall(1, 2, 5, 0.97).sentence(spectrum)
    'If possible, add a test that calls tax directly: it has 2 of these 5 statements.'
    """

    element: int
    members: int
    tied: int
    gain: float
    kind = "direct call"

    def sentence(self, spectrum: Spectrum) -> str:
        """What to do.

        Parameters
        ----------
        spectrum : Spectrum
            Whose statements they are.

        Returns
        -------
        str
            One sentence.
        """
        name = spectrum.elements.function_name(self.element)
        name = name or f"the function of {spectrum.elements.location(self.element).short}"
        part = f"{self.members} of these {self.tied} statements"
        return f"If possible, add a test that calls {name} directly: it has {part}."


@dataclass(frozen=True)
class NearestTest:
    """The passing test that is most like a failing one, and where the two part.

    Parameters
    ----------
    pair : Pair
        The two tests.
    element : int
        The decision where they part, or a statement that only the failing one executes; -1 where there is none.
    line : int or None
        Where the failing test goes from the decision; None where no branches are known.

    Examples
    --------
    >>> spectrum = Spectrum.from_matrix([[1, 1], [1, 0]], failed=[True, False])
    >>> NearestTest(Pair(0, 1, 0.5), 1, None).sentence(spectrum)
    't2 passes and is most like the failing t1: 50 % of what they execute is the same, but program:2 is not.'
    """

    pair: Pair
    element: int
    line: int | None
    kind = "nearest test"
    gain = None
    members = 0

    def sentence(self, spectrum: Spectrum) -> str:
        """What to do.

        Parameters
        ----------
        spectrum : Spectrum
            Whose tests they are.

        Returns
        -------
        str
            One sentence with names of tests in it.
        """
        passing, failing = spectrum.tests[self.pair.passing], spectrum.tests[self.pair.failing]
        begins = f"{passing} passes and is most like the failing {failing}: "
        share = f"{100 * self.pair.similarity:.0f} % of what they execute is the same"
        if self.element < 0:
            return f"{begins}{share}."
        name = spectrum.elements.location(self.element).short
        if self.line is None:
            return f"{begins}{share}, but {name} is not."
        return f"{begins}{share}, and they part at {name}, where only the failing one goes to line {self.line}."


Step = Twin | MissingOutcome | DirectCall | NearestTest


def in_bits(step: Step, whole: float) -> str:
    """The gain of a step, in words.

    Parameters
    ----------
    step : Step
        Any.
    whole : float
        What is missing, in bits.

    Returns
    -------
    str
        Such as ``0.50 of 3.17 bits``; empty where the gain is not known.

    Examples
    --------
    >>> in_bits(DirectCall(1, 8, 9, gain(8, 9)), math.log2(9))
    '0.50 of 3.17 bits'
    """
    return "" if step.gain is None else f"{step.gain:.2f} of {whole:.2f} bits"

"""Elimination of the states of a sparse Markov chain without subtractions.

The generator A = diag(row sums of the rates) - rates of a chain is a singular M-matrix. Without the row and the column
of its root it has an inverse M, and M[i, j] is the expected number of visits to j on the way from i to the root.
Eliminating a state (Grassmann, Taksar & Heyman 1985) replaces the paths through it by direct rates. Rates are only
added, multiplied and divided, so every entry of M has full relative accuracy, however badly A is conditioned. The same
holds for the entries of M on the pattern of the factors (Takahashi's selected inversion), and its diagonal needs no
others.

States that are not neighbours of each other are eliminated together, those with the fewest neighbours first. Each such
level takes a few numpy calls. After about ten levels the rest is dense, and is left to BLAS.

References
----------
W. K. Grassmann, M. I. Taksar, D. P. Heyman, "Regenerative analysis and steady state distributions for Markov
chains", Operations Research 33 (1985). K. Takahashi, J. Fagan, M.-S. Chen, "Formation of a sparse bus impedance
matrix and its application to short circuit study", PICA (1973).
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from suspectra.base.arrays import FloatMatrix, Floats, Ints
from suspectra.base.cancellation import check, checked
from suspectra.markov.elimination_plan import SMALL, EliminationPlan, Progress

# Check for cancellation after this many multiplications in a matrix product.
PRODUCT = 2_000_000_000


class Factors:
    """The rates of a chain after elimination."""

    def __init__(
        self,
        plan: EliminationPlan,  # the order of elimination
        forward: Floats,
        backward: Floats,
        pivots: Floats | None = None,  # the outflow of each state when it is eliminated
        progress: Progress | None = None,
    ):
        self.plan = plan
        has_pivots = pivots is not None
        self.pivots = np.ones(plan.states) if pivots is None else pivots
        self._out: list[Floats] = []  # by level and slot: flow from the node to the neighbour, per visit
        self._into: list[Floats] = []  # by level and slot: flow from the neighbour, per visit of the node
        for level in checked(plan.levels):
            out = np.where(level.flipped, backward[level.edge], forward[level.edge])
            into = np.where(level.flipped, forward[level.edge], backward[level.edge])
            if not has_pivots:
                self.pivots[level.nodes] = _sums(level.owner, out, len(level.nodes))
            pivot = self.pivots[level.nodes][level.owner]
            out /= pivot
            next_forward = _sums(level.pair_edge, into[level.left] * out[level.right], level.next_edges)
            next_backward = _sums(level.pair_edge, into[level.right] * out[level.left], level.next_edges)
            next_forward[level.kept_edge] += forward[level.kept]
            next_backward[level.kept_edge] += backward[level.kept]
            into /= pivot
            self._out.append(out)
            self._into.append(into)
            forward, backward = next_forward, next_backward
        if progress:
            progress(0.4)
        check()
        size = len(plan.top)
        rest = np.zeros((size, size))
        rest[plan.top_low, plan.top_high] = forward
        rest[plan.top_high, plan.top_low] = backward
        check()
        self._from_root = rest[0, 1:].copy()
        top_pivots = self.pivots[plan.top[1:]]
        inverse = _inverse(rest[1:, 1:], rest[1:, 0].copy(), top_pivots, has_pivots)
        self.pivots[plan.top[1:]] = top_pivots
        # the root's row and column stay zero, since a walk ends there
        self._top = rest
        self._top[0], self._top[:, 0] = 0, 0
        self._top[1:, 1:] = inverse
        if progress:
            progress(0.8)

    def solve(self, right: Floats) -> Floats:
        """Return the expected total gain from each state on the way to the root: M @ `right`.

        Of shape (states,).
        """
        plan = self.plan
        x = _rootless(right)
        for level, into in checked(zip(plan.levels, self._into, strict=True)):
            x += _sums(level.neighbour, into * x[level.nodes][level.owner], plan.states)
        x[plan.top] = self._top @ x[plan.top]
        for level, out in checked(zip(reversed(plan.levels), reversed(self._out), strict=True)):
            gathered = _sums(level.owner, out * x[level.neighbour], len(level.nodes))
            x[level.nodes] = x[level.nodes] / self.pivots[level.nodes] + gathered
        return x

    def solve_left(self, left: Floats) -> Floats:
        """Return the expected visits to each state on the way to the root, from a distribution over states: `left` @ M.

        Of shape (states,).
        """
        plan = self.plan
        y = _rootless(left)
        for level, out in checked(zip(plan.levels, self._out, strict=True)):
            y += _sums(level.neighbour, out * y[level.nodes][level.owner], plan.states)
        y[plan.top] = y[plan.top] @ self._top
        return self._back_left(y)

    def stationary(self) -> Floats:
        """Return the visits to each state per visit of the root: the stationary distribution times a constant.

        Of shape (states,).
        """
        y = np.zeros(self.plan.states)
        y[self.plan.top[1:]] = self._from_root @ self._top[1:, 1:]
        y[0] = 1
        return self._back_left(y)

    def _back_left(self, y: Floats) -> Floats:
        for level, into in checked(zip(reversed(self.plan.levels), reversed(self._into), strict=True)):
            gathered = _sums(level.owner, into * y[level.neighbour], len(level.nodes))
            y[level.nodes] = y[level.nodes] / self.pivots[level.nodes] + gathered
        return y

    @cached_property
    def diagonal(self) -> Floats:
        """The diagonal of M: visits to a state from itself on the way to the root (0 at the root)."""
        plan = self.plan
        diagonal = np.zeros(plan.states)
        diagonal[plan.top] = np.diagonal(self._top)
        forward = self._top[plan.top_low, plan.top_high]
        backward = self._top[plan.top_high, plan.top_low]
        factors = zip(reversed(plan.levels), reversed(self._out), reversed(self._into), strict=True)
        for level, out, into in checked(factors):
            slots, left, right = len(level.owner), level.left, level.right
            to_right, to_left = forward[level.pair_edge], backward[level.pair_edge]
            own = diagonal[level.neighbour]
            row = out * own  # entries of M from the node to each neighbour
            row += _sums(left, out[right] * to_left, slots)
            row += _sums(right, out[left] * to_right, slots)
            column = into * own  # entries of M from each neighbour to the node
            column += _sums(left, into[right] * to_right, slots)
            column += _sums(right, into[left] * to_left, slots)
            returns = _sums(level.owner, out * column, len(level.nodes))
            diagonal[level.nodes] = 1 / self.pivots[level.nodes] + returns
            previous_forward, previous_backward = np.empty(level.edges), np.empty(level.edges)
            previous_forward[level.kept] = forward[level.kept_edge]
            previous_backward[level.kept] = backward[level.kept_edge]
            previous_forward[level.edge] = np.where(level.flipped, column, row)
            previous_backward[level.edge] = np.where(level.flipped, row, column)
            forward, backward = previous_forward, previous_backward
        return diagonal


class CorrectedFactors:
    """Factors of a chain that differs in a few rows from an eliminated one (Sherman, Morrison & Woodbury).

    With M the old inverse, E the chosen columns of the identity and D the difference of the generators in these rows,
    the new inverse is M - M·E·(1 + D·M·E)⁻¹·D·M. This subtracts, so `reliable` is False where too many digits were
    lost.
    """

    def __init__(self, factors: Factors, before: FloatMatrix, after: FloatMatrix, rows: Ints):
        self._factors = factors
        self._from_root = after[[0]].toarray()[0]
        less = (before[rows] - after[rows]).toarray()
        less[np.arange(len(rows)), rows] -= less.sum(axis=1)
        less[:, 0] = 0
        n = factors.plan.states
        self._columns = np.stack([factors.solve(_unit(n, row)) for row in rows.tolist()], axis=1)
        changed = np.stack([factors.solve_left(row) for row in less])
        changed[:, 0] = 0
        self._rows = np.linalg.solve(np.eye(len(rows)) + changed[:, rows], changed)
        self.reliable = True

    def solve(self, right: Floats) -> Floats:
        """Solve as :meth:`Factors.solve` does.

        Of shape (n,).
        """
        return self._less(self._factors.solve(right), self._columns @ (self._rows @ _rootless(right)))

    def solve_left(self, left: Floats) -> Floats:
        """Solve as :meth:`Factors.solve_left` does.

        Of shape (n,).
        """
        return self._factors.solve_left(left) - (_rootless(left) @ self._columns) @ self._rows

    def stationary(self) -> Floats:
        """Return what :meth:`Factors.stationary` does.

        Of shape (n,).
        """
        whole = self._factors.solve_left(self._from_root)
        visits = self._less(whole, (_rootless(self._from_root) @ self._columns) @ self._rows)
        visits[0] = 1
        return visits

    @cached_property
    def diagonal(self) -> Floats:
        """The same as :attr:`Factors.diagonal`, for the new rates."""
        return self._less(self._factors.diagonal, (self._columns * self._rows.T).sum(axis=1))

    def _less(self, whole: Floats, part: Floats) -> Floats:
        rest = whole - part
        # at most three digits may be lost
        self.reliable &= bool((rest[1:] >= 1e-3 * np.abs(whole[1:])).all())
        return rest


def _sums(index: Ints, weight: Floats, n: int) -> Floats:
    """Sums of the weights by index; numpy's own are integers when there are none."""
    return np.bincount(index, weight, n).astype(float, copy=False)


def _unit(n: int, index: int) -> Floats:
    unit = np.zeros(n)
    unit[index] = 1
    return unit


def _rootless(values: Floats) -> Floats:
    values = values.astype(float)
    values[0] = 0
    return values


def _inverse(rates: Floats, to_root: Floats, pivots: Floats, given: bool) -> Floats:
    """The inverse of diag(row sums of rates and to_root) - rates, by halves, the second one first.

    All products are of non-negative numbers, and almost all work is matrix multiplication. `pivots` is filled in, or
    read if `given`. The diagonal of `rates` is ignored.
    """
    check()
    n = len(rates)
    if n <= SMALL:
        return _small_inverse(rates, to_root, pivots, given)
    m = n // 2
    a, b, c, d = rates[:m, :m], rates[:m, m:], rates[m:, :m], rates[m:, m:]
    inner = _inverse(d, to_root[m:] + c.sum(axis=1), pivots[m:], given)
    through, onward = _product(b, inner), _product(inner, c)
    outer = _inverse(a + _product(through, c), to_root[:m] + through @ to_root[m:], pivots[:m], given)
    whole = np.empty((n, n))
    whole[:m, :m] = outer
    _product(outer, through, whole[:m, m:])
    _product(onward, outer, whole[m:, :m])
    _product(onward, whole[:m, m:], whole[m:, m:])
    whole[m:, m:] += inner
    return whole


def rows_at_a_time(b: Floats) -> int:
    """Return how many rows to multiply by a matrix at once: fewer for a large matrix, but enough to keep BLAS busy."""
    return max(16, PRODUCT // max(1, b.size))


def _product(a: Floats, b: Floats, out: Floats | None = None) -> Floats:
    """Multiply matrices in blocks of rows; cancellable in between, since a large product takes seconds."""
    out = np.empty((len(a), b.shape[1])) if out is None else out
    rows = rows_at_a_time(b)
    for start in range(0, len(a), rows):
        check()
        np.matmul(a[start : start + rows], b, out=out[start : start + rows])
    return out


def _small_inverse(rates: Floats, to_root: Floats, pivots: Floats, given: bool) -> Floats:
    n = len(rates)
    rates, to_root = rates.copy(), to_root.copy()
    for k in range(n - 1, -1, -1):
        if not given:
            pivots[k] = rates[k, :k].sum() + to_root[k]
        out = rates[k, :k] / pivots[k]
        into = rates[:k, k]
        rates[:k, :k] += into[:, None] * out
        to_root[:k] += into * (to_root[k] / pivots[k])
    inverse = np.zeros((n, n))
    for k in range(n):
        out, into = rates[k, :k] / pivots[k], rates[:k, k] / pivots[k]
        inverse[k, :k] = out @ inverse[:k, :k]
        inverse[:k, k] = inverse[:k, :k] @ into
        inverse[k, k] = 1 / pivots[k] + out @ inverse[:k, k]
    return inverse

"""Search for a formula: a small sum of terms of the axes that predicts points left out.

A formula is a constant and at most two terms, none of them negative. With p the number of ranks and n each other axis,
a term is a product of

    n^i log2(n)^j                                i in {0, 1/2, 1, 3/2, 2, 3}, j in {0, 1}, of each n
    p^k log2(p)^l, p - 1, p (p - 1), 1 - 1/p     k in {-1, -1/2, 0, 1/2, 1, 3/2, 2}, l in {0, 1}
    p ceil(n/p) / n - 1                          in place of the second row: n parts that p ranks share unevenly

Coefficients are those of non-negative least squares on relative errors. Of all formulas the one with the smallest
mean error at points left out is best (each point, and the largest level of each axis). Of those within 10 % of it, or
within one standard error [1]_, the chosen one has the fewest coefficients, then the fewest logarithms and named
factors, then the slowest growth. Extra-P [2]_ searches like this, with other terms.

References
----------
.. [1] Breiman, Friedman, Olshen, Stone: "Classification and regression trees", 1984, 3.4.3: the rule of one error.
.. [2] Calotoiu, Hoefler, Poke, Wolf: "Using automated performance modeling to find scalability bugs in complex codes",
   SC 2013.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from smpy.analysis.result import import_optional
from smpy.analysis.scaling_fits import jackknife_error
from smpy.errors import UsageError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

RANKS: Final = "ranks"
"""The axis p."""

POINTS_MIN: Final = 4
"""Number of points that a formula of one term needs."""

PAIR_POINTS_MIN: Final = 6
"""Number of points that a formula of two terms needs."""

_HALF: Final = Fraction(1, 2)
_SIZE_POWERS: Final = (Fraction(0), _HALF, Fraction(1), 3 * _HALF, Fraction(2), Fraction(3))
_RANKS_POWERS: Final = (Fraction(-1), -_HALF, Fraction(0), _HALF, Fraction(1), 3 * _HALF, Fraction(2))
_OF_RANKS: Final[dict[str, Callable[[NDArray[np.float64]], NDArray[np.float64]]]] = {
    "(p - 1)": lambda p: p - 1,
    "p (p - 1)": lambda p: p * (p - 1),
    "(1 - 1/p)": lambda p: 1 - 1 / p,
}
_IMBALANCE: Final = "(p ceil(n/p)/n - 1)"
_SINGLES_MAX: Final = 300  # terms that pairs are made of
_JUDGED: Final = 20  # formulas of one term, and of two, that are judged by points left out
_FOLDS_MAX: Final = 24
_GROUPS_MAX: Final = 12  # subsets of a jackknife
_TIE: Final = 1.1
_NO_ERROR: Final = 1e-9
_ALIKE: Final = 1 - 1e-9  # cosine of two terms that points cannot tell apart
_NEGATIVE: Final = -1e-6  # of a coefficient before non-negative least squares, relative to the values
_RIDGE: Final = 1e-14  # keeps the equations of terms that are nearly alike solvable
_FAR: Final = 10.0
_CONFIDENCE: Final = 0.975


@dataclass(frozen=True, slots=True)
class GrowthTerm:
    """A product of powers and logarithms of the axes.

    Attributes
    ----------
    powers : tuple of (Fraction, int)
        Exponents of each axis: that of its value, and that of its logarithm.
    named : str
        Named factor; empty: none.
    imbalance_axis : int
        Axis of n in a named factor of p and n.
    """

    powers: tuple[tuple[Fraction, int], ...]
    named: str = ""
    imbalance_axis: int = 0

    def at(self, axes: Sequence[str], points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Values at points, [n_points, n_axes]."""
        values = np.ones(len(points))
        for column, (power, log_power) in zip(points.T, self.powers, strict=True):
            values = values * column ** float(power) * np.log2(column) ** log_power
        if self.named:
            p = points[:, axes.index(RANKS)]
            n = points[:, self.imbalance_axis]
            values = values * (p * np.ceil(n / p) / n - 1 if self.named == _IMBALANCE else _OF_RANKS[self.named](p))
        return values

    @property
    def n_special(self) -> int:
        """Number of logarithms and named factors."""
        return sum(log_power for _, log_power in self.powers) + bool(self.named)

    def text(self, names: Sequence[str]) -> str:
        """Text such as "n^2 log2(n) (1 - 1/ranks)"."""
        words = []
        for name, (power, log_power) in zip(names, self.powers, strict=True):
            words += [name if power == 1 else f"{name}^{_exponent(power)}"] if power else []
            words += [f"log2({name})"] if log_power else []
        named = self.named.replace("p", RANKS) if self.named != _IMBALANCE else _imbalance(names[self.imbalance_axis])
        return " ".join([*words, *([named] if self.named else [])])


def _exponent(power: Fraction) -> str:
    return str(power) if power.denominator == 1 and power > 0 else f"({power})"


def _imbalance(n: str) -> str:
    return f"({RANKS} ceil({n}/{RANKS})/{n} - 1)"


@dataclass(frozen=True, slots=True)
class GrowthFormula:
    """A sum of terms and a constant.

    Attributes
    ----------
    axes : tuple of str
        Names of the axes.
    constant : float
        The constant.
    terms : tuple of (float, GrowthTerm)
        Coefficients above 0, and their terms.
    """

    axes: tuple[str, ...]
    constant: float
    terms: tuple[tuple[float, GrowthTerm], ...]

    def at(self, points: ArrayLike) -> NDArray[np.float64]:
        """Values at points, [n_points, n_axes]."""
        rows = np.asarray(points, np.float64)
        values = np.full(len(rows), self.constant)
        for coefficient, term in self.terms:
            values = values + coefficient * term.at(self.axes, rows)
        return values

    @property
    def complexity(self) -> tuple[int, int]:
        """Number of coefficients, and of logarithms and named factors."""
        return len(self.terms) + bool(self.constant), sum(term.n_special for _, term in self.terms)

    @property
    def text(self) -> str:
        """Text such as "0.012 + 3.4e-09 n^2 ranks^(-1)"."""
        names = [plain_name(axis) for axis in self.axes]
        words = [f"{coefficient:.4g} {term.text(names)}" for coefficient, term in self.terms]
        return " + ".join([*([f"{self.constant:.4g}"] if self.constant or not words else []), *words])


def plain_name(axis: str) -> str:
    """Name of an axis in formulas: "n" of "args.--n"."""
    return axis.removeprefix("args.").lstrip("-") or axis


@dataclass(frozen=True, slots=True)
class FittedFormula:
    """The chosen formula, and those chosen when some points are left out.

    Attributes
    ----------
    formula : GrowthFormula
        Through all points.
    others : sequence of GrowthFormula
        Without each group of points.
    error : float
        Mean relative error at points left out.
    """

    formula: GrowthFormula
    others: Sequence[GrowthFormula]
    error: float


def half_width(fits: Sequence[FittedFormula], points: ArrayLike) -> NDArray[np.float64]:
    """Half the width of the 95 % interval of a sum of formulas, by a jackknife that repeats the choice.

    Parameters
    ----------
    fits : sequence of FittedFormula
        Formulas through the same points.
    points : (n_points, n_axes) array_like
        Points of the prediction.
    """
    groups = zip(*(fit.others for fit in fits), strict=True)
    totals = np.stack([np.sum([other.at(points) for other in others], axis=0) for others in groups])
    t = float(import_optional("scipy.stats").t.ppf(_CONFIDENCE, len(totals) - 1))
    return np.asarray(t * jackknife_error(totals), np.float64)


def fit_formula(
    axes: Sequence[str], points: ArrayLike, values: ArrayLike, scale: ArrayLike | None = None
) -> FittedFormula:
    """Find the formula that best predicts points left out.

    Parameters
    ----------
    axes : sequence of str
        Names of the axes; p is the one named "ranks".
    points : (n_points, n_axes) array_like
        Levels of the axes, above 0.
    values : (n_points,) array_like
        Measured values, of 0 or more.
    scale : (n_points,) array_like, optional
        Values that errors are relative to; by default the measured ones, which then have to be above 0.

    Raises
    ------
    UsageError
        If points are too few, axes cannot be told apart, or a value is not in its range.

    Examples
    --------
    >>> fit = fit_formula(["ranks"], [[1], [2], [4], [8]], [9.0, 5.0, 3.0, 2.0])
    >>> fit.formula.text
    '1 + 8 ranks^(-1)'
    """
    x, y = np.asarray(points, np.float64), np.asarray(values, np.float64)
    per = y if scale is None else np.asarray(scale, np.float64)
    _check(axes, x, y, per)
    search = _FormulaSearch(tuple(axes), x, y, per)
    formula, error = search.best(np.arange(len(x)))
    others = [search.best(rows)[0] for rows in search.subsets()]
    return FittedFormula(formula, others, error)


def _check(axes: Sequence[str], x: NDArray[np.float64], y: NDArray[np.float64], per: NDArray[np.float64]) -> None:
    n_points = len(np.unique(x, axis=0)) if len(x) else 0
    if not axes:
        raise UsageError("a formula needs an axis of numbers that varies (ranks, an argument such as --n)")
    if n_points < POINTS_MIN:
        raise UsageError(
            f"a formula needs {POINTS_MIN} different points or more, and {PAIR_POINTS_MIN} for two terms: "
            f"{'there is 1' if n_points == 1 else f'there are {n_points}'}"
        )
    if not (np.isfinite(x) & (x > 0)).all():
        raise UsageError("a formula has powers and logarithms of its axes: their levels have to be above 0")
    for name, column in zip(axes, x.T, strict=True):
        if np.ptp(column) == 0:
            raise UsageError(f"{plain_name(name)} is {column[0]:g} at all points: a formula needs several levels of it")
    for i, first in enumerate(axes):
        for j, other in enumerate(axes[:i]):
            n_pairs = len(np.unique(x[:, [i, j]], axis=0))
            if n_pairs == len(np.unique(x[:, i])) == len(np.unique(x[:, j])):
                names = f"{plain_name(other)} and {plain_name(first)}"
                raise UsageError(f"{names} change together: no formula can tell which of them matters; vary each alone")
    if not (np.isfinite(y) & (y >= 0)).all():
        raise UsageError("a formula is of values of 0 or more")
    if not (np.isfinite(per) & (per > 0)).all():
        raise UsageError("a value is 0, and an error relative to it means nothing: leave its point out")


def _terms(axes: Sequence[str]) -> Iterator[GrowthTerm]:
    """All products of the module's factors but the constant."""
    choices = [[*product(_RANKS_POWERS if name == RANKS else _SIZE_POWERS, (0, 1))] for name in axes]
    none = (Fraction(0), 0)
    yield from (GrowthTerm(powers) for powers in product(*choices) if any(power != none for power in powers))
    if RANKS not in axes:
        return
    at = axes.index(RANKS)
    choices[at] = [none]
    for powers in product(*choices):
        yield from (GrowthTerm(powers, named) for named in _OF_RANKS)
        yield from (GrowthTerm(powers, _IMBALANCE, i) for i, name in enumerate(axes) if name != RANKS)


class _Candidate(NamedTuple):
    """Numbers of its terms, and whether it has a constant."""

    terms: tuple[int, ...]
    has_constant: bool


class _FormulaSearch:
    """Formulas that are worth judging, and the choice among them for any subset of the points."""

    def __init__(
        self, axes: tuple[str, ...], x: NDArray[np.float64], y: NDArray[np.float64], per: NDArray[np.float64]
    ) -> None:
        self._axes, self._x, self._target = axes, x, y / per
        self._nnls = import_optional("scipy.optimize").nnls
        terms = list(_terms(axes))
        columns = np.stack([term.at(axes, x) for term in terms], axis=1) / per[:, None]
        norms = np.linalg.norm(columns, axis=0)
        is_varied = np.isfinite(norms) & (norms > 0)
        self._terms = [term for term, varies in zip(terms, is_varied, strict=True) if varies]
        self._norms = norms[is_varied]
        self._columns = columns[:, is_varied] / self._norms
        one = 1 / per
        self._one_norm = float(np.linalg.norm(one))
        self._one = one / self._one_norm
        far = np.stack([x.max(axis=0), _FAR * x.max(axis=0)])
        ends = np.stack([np.abs(term.at(axes, far)) for term in self._terms])
        self._growth = np.log(np.maximum(ends[:, 1], 1e-300)) - np.log(np.maximum(ends[:, 0], 1e-300))
        self._candidates = self._shortlist()

    def _shortlist(self) -> list[_Candidate]:
        """The constant, terms and pairs of terms of small residuals, with a constant and without."""
        singles = np.arange(len(self._terms))[:, None]
        candidates, residuals = [_Candidate((), has_constant=True)], np.full(len(singles), np.inf)
        for has_constant in (False, True):
            of_singles = self._residuals(singles, has_constant=has_constant)
            residuals = np.minimum(residuals, of_singles)
            candidates += self._smallest(singles, of_singles, has_constant=has_constant)
        if len(np.unique(self._x, axis=0)) < PAIR_POINTS_MIN:
            return candidates
        few = np.sort(np.argsort(residuals, kind="stable")[:_SINGLES_MAX])
        pairs = few[np.stack(np.triu_indices(len(few), 1), axis=1)]
        cosines = np.einsum("ij,ij->j", self._columns[:, pairs[:, 0]], self._columns[:, pairs[:, 1]])
        pairs = pairs[cosines < _ALIKE]
        for has_constant in (False, True):
            of_pairs = self._residuals(pairs, has_constant=has_constant)
            candidates += self._smallest(pairs, of_pairs, has_constant=has_constant)
        return candidates

    def _smallest(
        self, sets: NDArray[np.int64], residuals: NDArray[np.float64], *, has_constant: bool
    ) -> list[_Candidate]:
        order = np.argsort(residuals, kind="stable")[:_JUDGED]
        return [_Candidate(tuple(sets[i].tolist()), has_constant) for i in order if np.isfinite(residuals[i])]

    def _residuals(self, sets: NDArray[np.int64], *, has_constant: bool) -> NDArray[np.float64]:
        """Residual of each set of terms; infinite where a coefficient is negative."""
        columns = np.swapaxes(self._columns[:, sets], 0, 1)
        if has_constant:
            constant = np.broadcast_to(self._one[None, :, None], (len(sets), len(self._one), 1))
            columns = np.concatenate([columns, constant], axis=2)
        gram = np.einsum("spi,spj->sij", columns, columns) + _RIDGE * np.eye(columns.shape[2])
        coefficients = np.linalg.solve(gram, np.einsum("spi,p->si", columns, self._target)[..., None])[..., 0]
        rest = self._target - np.einsum("spi,si->sp", columns, coefficients)
        is_fine = (coefficients > _NEGATIVE).all(axis=1)
        return np.where(is_fine, (rest**2).sum(axis=1), np.inf)

    def best(self, rows: NDArray[np.int64]) -> tuple[GrowthFormula, float]:
        """Formula for some of the points, and its mean relative error at points left out."""
        folds = self._folds(rows)
        errors = np.array([self._left_out_errors(candidate, rows, folds) for candidate in self._candidates])
        means = errors.mean(axis=1)
        least = int(means.argmin())
        standard_error = float(errors[least].std(ddof=1)) / np.sqrt(len(folds))
        limit = max(_TIE * means[least], means[least] + standard_error, _NO_ERROR)
        formulas = [
            (self._formula(candidate, rows), float(mean), float(self._growth[list(candidate.terms)].max(initial=0.0)))
            for candidate, mean in zip(self._candidates, means, strict=True)
            if mean <= limit
        ]
        formula, error, _ = min(formulas, key=lambda each: (each[0].complexity, each[2], each[1]))
        return formula, error

    def _folds(self, rows: NDArray[np.int64]) -> list[NDArray[np.int64]]:
        """Points to leave out: one or a few at a time, and the largest level of each axis."""
        n_folds = min(len(rows), _FOLDS_MAX)
        folds = [rows[i::n_folds] for i in range(n_folds)]
        for column in self._x[rows].T:
            largest = rows[column == column.max()]
            if len(rows) - len(largest) >= POINTS_MIN - 1:
                folds.append(largest)
        return folds

    def _left_out_errors(
        self, candidate: _Candidate, rows: NDArray[np.int64], folds: Sequence[NDArray[np.int64]]
    ) -> list[float]:
        """Mean relative error in each fold."""
        columns = self._matrix(candidate)
        errors = []
        for fold in folds:
            kept = np.setdiff1d(rows, fold)
            coefficients, _ = self._nnls(columns[kept], self._target[kept])
            errors.append(float(np.abs(columns[fold] @ coefficients - self._target[fold]).mean()))
        return errors

    def _matrix(self, candidate: _Candidate) -> NDArray[np.float64]:
        columns = self._columns[:, list(candidate.terms)]
        return np.concatenate([columns, self._one[:, None]], axis=1) if candidate.has_constant else columns

    def _formula(self, candidate: _Candidate, rows: NDArray[np.int64]) -> GrowthFormula:
        coefficients, _ = self._nnls(self._matrix(candidate)[rows], self._target[rows])
        negligible = 1e-12 * float(np.linalg.norm(self._target[rows]))
        large = [float(c) if c > negligible else 0.0 for c in coefficients]
        constant = large.pop() / self._one_norm if candidate.has_constant else 0.0
        terms = [(c / float(self._norms[i]), self._terms[i]) for c, i in zip(large, candidate.terms, strict=True) if c]
        return GrowthFormula(self._axes, constant, tuple(terms))

    def subsets(self) -> list[NDArray[np.int64]]:
        """Rows that are left when each group of points is left out."""
        rows = np.arange(len(self._x))
        n_groups = min(len(rows), _GROUPS_MAX)
        return [np.setdiff1d(rows, rows[i::n_groups]) for i in range(n_groups)]

"""Least squares fit of a noisy function, with fitted parameters, their intervals, and inseparable parameters.

The function is a simulation. Each replication is noisy, and the noise hides the effect of small parameter steps. Every
evaluation uses the same random numbers, so the noise largely cancels in differences. Derivatives are central
differences over STEP. The trust region is SciPy's (`scipy.optimize.least_squares`, method `trf`), which respects the
bounds. Positive parameters are fitted by their logarithm, where a step is a factor.

Intervals are those of the linearised model (Seber and Wild, "Nonlinear Regression", section 2.1.2): covariance s²
(JᵀJ)⁻¹ of the measurement errors. The simulation's own noise, known from its replications, adds a second covariance in
the same way. The residuals contain part of that noise too, so intervals are slightly too wide. Degrees of freedom are
Welch's and Satterthwaite's.

A direction in which parameters change together without effect is a small singular value of the Jacobian (Belsley, Kuh
and Welsch, "Regression Diagnostics", chapter 3). A value is small if it is below SMALLEST of the largest, or within the
noise of the derivative. A value is also small if the interval in that direction is as wide as the bounds.

The search leaves a parameter without effect wherever chance brought it. `determined` therefore returns such a parameter
to its start value, and fits the others again. If the start value contradicts the data, the parameter remains fitted.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, stats

Array = NDArray[np.float64]

Function = Callable[[Sequence[Array]], Sequence[Array | None]]
"""Function from several parameter sets to an array of replications × cells for each, or None where it has no value."""

STEP = 0.05
"""Half-width of a central difference: a relative change, or a fraction of the range if the parameter can be zero."""

SMALLEST = 1e-3
"""Singular value, relative to the largest, below which a direction counts as without effect."""

NOISE_LEVEL = 0.99
"""Confidence with which a direction's effect must exceed the noise of the derivative."""

WIDEST = 0.5
"""Half-width of an interval, as a share of the distance of the bounds, from which the data count as uninformative."""

CORRELATED = 0.98
"""Correlation from which two estimates are reported as hard to separate."""

ALONE = 0.98
"""Fraction of a parameter's own axis in the directions without effect, above which the parameter has no effect."""

LEAST_PART = 0.15
"""Component of a direction, relative to its largest, from which a parameter takes part in it."""

TOLERANCE = 5e-4
"""Search ends when a step is below this share of the bounds, or improves the sum of squares by less."""

WORSE = 0.95
"""Confidence with which a fit must be worse than another to contradict the data."""

MATERIAL = 0.01
"""Rise of the root mean square of the residuals, in units of the error, below which two fits are equally good."""

EXACT = 1e-9
"""Residuals below this are rounding errors, in units of the measurement's error."""

HOPELESS = 1e3
"""Residual for parameters without a function value, in units of the measurement's error."""


@dataclass(frozen=True)
class Box:
    """Bounds of the parameters, and coordinates in which equal steps are equally large changes."""

    low: Array
    high: Array

    @property
    def logarithmic(self) -> NDArray[np.bool_]:
        """True for each positive parameter, whose coordinate is its natural logarithm. Other coordinates are a share of
        the range."""
        return self.low > 0

    def to_coordinate(self, values: Array) -> Array:
        """Return the coordinates of parameter values."""
        positive = np.where(self.logarithmic, values, 1.0)
        result: Array = np.where(self.logarithmic, np.log(positive), values / (self.high - self.low))
        return result

    def to_value(self, coordinates: Array) -> Array:
        """Return the parameter values of coordinates."""
        powers = np.exp(np.where(self.logarithmic, coordinates, 0.0))
        result: Array = np.where(self.logarithmic, powers, coordinates * (self.high - self.low))
        return result

    @property
    def ends(self) -> tuple[Array, Array]:
        """Coordinates of the bounds."""
        return self.to_coordinate(self.low), self.to_coordinate(self.high)

    @property
    def size(self) -> Array:
        """Distance between the bounds."""
        low, high = self.ends
        return high - low


@dataclass(frozen=True)
class Data:
    """Measurements: one cell per value, with its row."""

    measured: Array
    error: Array
    """Standard deviation of the error of each value, or a proportional value if the deviation is unknown."""
    known: bool
    """True if `error` is the standard deviation, false if it is only proportional."""
    rows: NDArray[np.int64]
    """Number of each cell's row. The function's noise is independent between rows."""


@dataclass(frozen=True)
class Direction:
    """Parameters that can change together without an effect on the measured values."""

    change: Array
    """Coordinates that change together, as relative changes for positive parameters."""
    members: tuple[int, ...]
    """Parameters that take part."""


@dataclass(frozen=True)
class Undetermined:
    """Direction without effect that a fit found, and what became of it."""

    direction: Direction
    values: Array
    """Values of all parameters at which the direction was found."""
    kept: int | None
    """Parameter that keeps its start value for it, or None if the start values of all members contradict the data."""


@dataclass(frozen=True)
class Fit:
    """Fitted parameters, and their confidence."""

    values: Array
    intervals: tuple[tuple[float, float] | None, ...]
    """95 % confidence intervals, or None if the data do not bound the parameter, or if the error is unknown."""
    at_bound: tuple[bool, ...]
    free_directions: tuple[Direction, ...]
    """Combinations that the data cannot separate, or an empty tuple if every parameter is identified."""
    correlations: tuple[tuple[int, int, float], ...]
    """Pairs of identified parameters whose estimates are correlated above CORRELATED."""
    predicted: Array
    """Mean of the function over replications, at the fitted values."""
    noise: Array
    """Standard error of each mean."""
    left_out: Array
    """Prediction of each cell by the linearised fit without its row, or NaN if the other rows do not determine it."""
    at_start: Array
    """Function at the start values."""
    error_scale: float
    """Standard deviation of the residuals, in units of the error."""
    errors_explain: bool | None
    """True if known errors and the noise of the function explain the residuals (χ² test, 95 %).

    It is None for unknown errors.
    """
    converged: bool
    evaluations: int
    degrees_of_freedom: int
    squares: float
    """Sum of the squared residuals, in units of the error."""
    undetermined: tuple[Undetermined, ...] = ()
    """Directions without effect that `determined` found."""

    @property
    def kept(self) -> frozenset[int]:
        """Parameters that keep their start values."""
        return frozenset(each.kept for each in self.undetermined if each.kept is not None)


class NoValueError(Exception):
    """Raised if the function has no value at the start, or at both neighbours of a point."""


class _OutOfEvaluations(Exception):  # noqa: N818
    pass


def fit(function: Function, start: Array, box: Box, data: Data, *, most_evaluations: int = 200) -> Fit:
    """Fit the parameters to the data, from `start` and within the box.

    Raises NoValueError if the function has no value at the start, and ValueError for more parameters than cells.
    """
    if data.measured.size < start.size:
        raise ValueError(f"{start.size} parameters and only {data.measured.size} measured values")
    search = _Search(function, box, data, most_evaluations)
    place, converged = search.run(np.clip(search.to_place(start), 0.0, 1.0))
    return _judged(search, place, search.place_of_start, converged)


def determined(function: Function, start: Array, box: Box, data: Data, *, most_evaluations: int = 200) -> Fit:
    """Fit the parameters that the data determine. The others keep their start values.

    One parameter after another is kept, the least determined one first, until the data determine the rest. A parameter
    without effect near the fitted values can have one at its start value. If that fit is worse, the parameter stays
    fitted. Raises the errors of `fit`.
    """
    found = first = fit(function, start, box, data, most_evaluations=most_evaluations)
    free, evaluations = list(range(start.size)), first.evaluations
    contradicted: set[int] = set()
    undetermined: list[Undetermined] = []
    while direction := next((each for each in found.free_directions if set(each.members) - contradicted), None):
        # of equally undetermined parameters, the last named one
        candidates = sorted(set(direction.members) - contradicted)
        dropped = max(candidates, key=lambda index: (round(abs(float(direction.change[index])), 1), index))
        rest = [index for index in free if index != dropped]
        most = max(1, most_evaluations - evaluations)
        tried = _refitted(function, start, box, data, rest, found.values, most)
        evaluations += tried.evaluations if tried else 1
        if tried is None or _contradicts(tried, found, data):
            contradicted.add(dropped)
            continue
        undetermined.append(Undetermined(direction, found.values, dropped))
        free, found = rest, tried
    undetermined += [Undetermined(direction, found.values, None) for direction in found.free_directions]
    return replace(found, at_start=first.at_start, evaluations=evaluations, undetermined=tuple(undetermined))


def _refitted(
    function: Function, start: Array, box: Box, data: Data, free: Sequence[int], place: Array, most: int
) -> Fit | None:
    """Return the fit of the free parameters from `place`, with the others at their start values.

    It is None if the function has no value there.
    """
    chosen = list(free)

    def within(places: Sequence[Array]) -> Sequence[Array | None]:
        return function([_filled(start, free, each) for each in places])

    try:
        found = fit(within, place[chosen], Box(box.low[chosen], box.high[chosen]), data, most_evaluations=most)
    except NoValueError:
        return None
    return _of_all(found, free, start)


def _filled(start: Array, free: Sequence[int], values: Array) -> Array:
    result = start.astype(np.float64)
    result[list(free)] = values
    return result


def _of_all(found: Fit, free: Sequence[int], start: Array) -> Fit:
    """Return a fit of the free parameters as one of all, in which the others have their start values."""
    places = {index: place for place, index in enumerate(free)}
    everything = range(start.size)
    return replace(
        found,
        values=_filled(start, free, found.values),
        intervals=tuple(found.intervals[places[index]] if index in places else None for index in everything),
        at_bound=tuple(index in places and found.at_bound[places[index]] for index in everything),
        free_directions=tuple(
            Direction(_filled(np.zeros(start.size), free, each.change), tuple(free[member] for member in each.members))
            for each in found.free_directions
        ),
        correlations=tuple((free[first], free[second], value) for first, second, value in found.correlations),
    )


def _contradicts(tried: Fit, found: Fit, data: Data) -> bool:
    """True if the first fit is worse than the second by more than the errors explain (F test of one parameter)."""
    rise = math.sqrt(tried.squares / data.measured.size) - math.sqrt(found.squares / data.measured.size)
    freedom = max(found.degrees_of_freedom, 1)
    variance = found.squares / freedom
    if data.known:
        variance = max(variance, 1.0) if found.errors_explain is False else 1.0
    allowed = float(stats.f.ppf(WORSE, 1, freedom)) * variance
    return rise > MATERIAL and tried.squares - found.squares > allowed


class _Search:
    """Evaluations by place: coordinates scaled so that the bounds are 0 and 1."""

    def __init__(self, function: Function, box: Box, data: Data, most: int) -> None:
        self.function, self.box, self.data, self.most = function, box, data, most
        self.seen: dict[bytes, Array | None] = {}
        self.best: tuple[float, Array] | None = None
        self.step = np.where(box.logarithmic, STEP / box.size, STEP)
        self.step = np.minimum(self.step, 0.25)
        self.place_of_start = np.empty(0)

    def to_place(self, values: Array) -> Array:
        low, _ = self.box.ends
        result: Array = (self.box.to_coordinate(values) - low) / self.box.size
        return result

    def to_value(self, place: Array) -> Array:
        low, _ = self.box.ends
        return np.clip(self.box.to_value(low + place * self.box.size), self.box.low, self.box.high)

    def evaluate(self, places: Sequence[Array]) -> list[Array | None]:
        """Return an array of replications × cells for each place. The function evaluates new places together."""
        new = {place.tobytes(): place for place in places if place.tobytes() not in self.seen}
        if new and len(self.seen) + len(new) > self.most:
            raise _OutOfEvaluations
        self.add(new)
        return [self.seen[place.tobytes()] for place in places]

    def add(self, new: dict[bytes, Array]) -> None:
        if new:
            found = self.function([self.to_value(place) for place in new.values()])
            for key, place, values in zip(new, new.values(), found, strict=True):
                self.seen[key] = values
                cost = math.inf if values is None else float(np.sum(self.weighted(values) ** 2))
                if values is not None and (self.best is None or cost < self.best[0]):
                    self.best = (cost, place)

    def weighted(self, values: Array) -> Array:
        result: Array = (values.mean(axis=0) - self.data.measured) / self.data.error
        return result

    def residuals(self, place: Array) -> Array:
        (values,) = self.evaluate([place])
        return np.full(self.data.measured.size, HOPELESS) if values is None else self.weighted(values)

    def neighbours(self, place: Array) -> list[tuple[Array, Array]]:
        """Return places below and above each parameter, within the bounds, for its difference."""
        pairs = []
        for index, step in enumerate(self.step):
            low, high = place.copy(), place.copy()
            low[index], high[index] = max(place[index] - step, 0.0), min(place[index] + step, 1.0)
            pairs.append((low, high))
        return pairs

    def slopes(self, place: Array) -> Array:
        """Return the change of each cell with the place of each parameter, in units of the error.

        The dimensions are replications × cells × parameters.
        """
        pairs = self.neighbours(place)
        here, *around = self.evaluate([place, *(each for pair in pairs for each in pair)])
        columns = []
        for index, pair in enumerate(pairs):
            # no value on one side: a one-sided difference
            (below, low), (above, high) = (
                (here, place) if values is None else (values, end)
                for values, end in zip(around[2 * index : 2 * index + 2], pair, strict=True)
            )
            if below is None or above is None or high[index] == low[index]:
                raise NoValueError
            columns.append((above - below) / (high[index] - low[index]) / self.data.error)
        return np.stack(columns, axis=-1)

    def run(self, start: Array) -> tuple[Array, bool]:
        self.place_of_start = start
        if self.evaluate([start])[0] is None:
            raise NoValueError
        if not start.size:
            return start, True
        try:
            # where no parameter has any effect, SciPy divides by slopes of 0
            with np.errstate(divide="ignore", invalid="ignore"):
                found = optimize.least_squares(
                    self.residuals,
                    start,
                    jac=lambda place: self.slopes(place).mean(axis=0),
                    bounds=(np.zeros_like(start) - 1e-12, np.ones_like(start) + 1e-12),
                    method="trf",
                    ftol=TOLERANCE,
                    xtol=TOLERANCE,
                    gtol=None,
                    x_scale=1.0,
                )
        except _OutOfEvaluations:
            return (self.best[1] if self.best else start), False
        return np.clip(found.x, 0.0, 1.0), bool(found.status > 0)

    def finish(self, place: Array) -> tuple[Array, Array]:
        """Return values and slopes at the place found, even beyond the limit of evaluations."""
        self.most += 1 + 2 * place.size
        (values,) = self.evaluate([place])
        if values is None:
            raise NoValueError
        return values, self.slopes(place) if place.size else np.empty((*values.shape, 0))


def _judged(search: _Search, place: Array, start: Array, converged: bool) -> Fit:
    data, box = search.data, search.box
    values, slopes = search.finish(place)
    predicted = values.mean(axis=0)
    residuals = (predicted - data.measured) / data.error
    replications = len(values)
    per_coordinate = slopes / box.size
    jacobian = per_coordinate.mean(axis=0)
    chance = values / data.error

    cells_moved, singular, directions = np.linalg.svd(jacobian, full_matrices=False)
    has_effect = np.array(
        [
            value > SMALLEST * singular[0] and value > 0 and _stands_out(per_coordinate @ direction)
            for value, direction in zip(singular, directions, strict=True)
        ],
        dtype=bool,
    )
    errors = _Errors.of(residuals, chance, int(has_effect.sum()), data.known)
    # so weak an effect that its interval would be as wide as the bounds
    for index, direction in enumerate(directions):
        if has_effect[index] and errors.scale is not None:
            half = errors.quantile(errors.freedom) * errors.scale / singular[index]
            across = float(np.min(box.size / np.maximum(np.abs(direction), 1e-12)))
            has_effect[index] = half < WIDEST * across
    rank = int(has_effect.sum())
    if rank != errors.rank:
        errors = _Errors.of(residuals, chance, rank, data.known)
    kept = directions[has_effect]
    # from measured values to estimates, within the directions that the data determine
    inverse = kept.T @ np.diag(1 / singular[has_effect]) @ cells_moved[:, has_effect].T
    least = SMALLEST * float(singular.max(initial=0.0))
    free = [
        _simplest(direction, search.to_value(place), box, per_coordinate, least)
        for direction in _free_directions(directions[~has_effect])
    ]
    lost = {member for direction in free for member in direction.members}
    intervals: list[tuple[float, float] | None] = [None] * start.size
    covariance = np.zeros((start.size, start.size))
    if errors.scale is not None:
        of_errors = errors.scale**2 * inverse @ inverse.T
        of_noise = np.zeros_like(of_errors)
        for row in np.unique(data.rows):
            cells = data.rows == row
            if replications > 1:
                spread = np.atleast_2d(np.cov(chance[:, cells], rowvar=False)) / replications
                of_noise += inverse[:, cells] @ spread @ inverse[:, cells].T
        covariance = of_errors + of_noise
        freedom_of_noise = max(1, np.unique(data.rows).size * (replications - 1))
        low, _ = box.ends
        coordinate = low + place * box.size
        for index in range(start.size):
            if index in lost:
                continue
            parts = (of_errors[index, index], of_noise[index, index])
            half = errors.quantile(_welch(parts, (errors.freedom, freedom_of_noise))) * math.sqrt(sum(parts))
            ends = []
            for sign in (-1, 1):
                moved = coordinate.copy()
                moved[index] += sign * half
                ends.append(float(box.to_value(moved)[index]))
            intervals[index] = (ends[0], ends[1])
    return Fit(
        values=search.to_value(place),
        intervals=tuple(intervals),
        at_bound=tuple(bool(each < TOLERANCE or each > 1 - TOLERANCE) for each in place),
        free_directions=tuple(free),
        correlations=tuple(_correlated(covariance, lost)),
        predicted=predicted,
        noise=values.std(axis=0, ddof=1) / math.sqrt(replications)
        if replications > 1
        else np.full(predicted.size, np.nan),
        left_out=_left_out(jacobian @ kept.T, residuals, predicted, data),
        at_start=_mean(search.seen[start.tobytes()]),
        error_scale=errors.observed,
        errors_explain=errors.explain,
        converged=converged,
        evaluations=len(search.seen),
        degrees_of_freedom=data.measured.size - rank,
        squares=float(np.sum(residuals**2)),
    )


def _mean(values: Array | None) -> Array:
    if values is None:
        raise NoValueError
    mean: Array = values.mean(axis=0)
    return mean


@dataclass(frozen=True)
class _Errors:
    """Size of the errors of measured values, in units of the given error."""

    rank: int
    scale: float | None
    """Standard deviation, or None if the number of parameters equals that of values."""
    observed: float
    """Root of the mean square of the residuals over degrees of freedom."""
    freedom: float
    """Degrees of freedom of the scale, or infinite if the errors are known."""
    explain: bool | None

    @staticmethod
    def of(residuals: Array, chance: Array, rank: int, known: bool) -> _Errors:
        freedom = residuals.size - rank
        squares = float(np.sum(residuals**2))
        observed = math.sqrt(squares / freedom) if freedom > 0 else 0.0
        if not known:
            scale = None if freedom <= 0 else max(observed, EXACT)
            return _Errors(rank, scale, observed, freedom, None)
        noise = chance.var(axis=0, ddof=1) / len(chance) if len(chance) > 1 else np.zeros(residuals.size)
        within = stats.chi2.ppf(0.95, freedom) if freedom > 0 else math.inf
        explained = bool(np.sum(residuals**2 / (1 + noise)) <= within)
        # residuals beyond the errors: the errors or the twin may be wrong; the residuals show by how much
        return _Errors(
            rank, 1.0 if explained else max(1.0, observed), observed, math.inf if explained else freedom, explained
        )

    @staticmethod
    def quantile(freedom: float) -> float:
        """Return the half-width of a 95 % interval divided by its standard error."""
        return float(stats.norm.ppf(0.975) if math.isinf(freedom) else stats.t.ppf(0.975, max(freedom, 1.0)))


def _welch(parts: tuple[float, float], freedoms: tuple[float, float]) -> float:
    """Return the degrees of freedom of a sum of variances, from those of each part."""
    below = sum(part**2 / freedom for part, freedom in zip(parts, freedoms, strict=True) if not math.isinf(freedom))
    return sum(parts) ** 2 / below if below > 0 else math.inf


def _stands_out(effect: Array) -> bool:
    """True if an effect, replications × cells, exceeds the noise of its replications."""
    replications, cells = effect.shape
    mean = effect.mean(axis=0)
    if replications < 2:
        return True
    chance = float(np.sum(effect.var(axis=0, ddof=1))) / replications
    size = float(np.sum(mean**2))
    # differences of rounding are neither noise nor effect
    return bool(size > chance * float(stats.f.ppf(NOISE_LEVEL, cells, cells * (replications - 1))))


def _free_directions(directions: Array) -> list[Direction]:
    """Return the directions without effect.

    Directions of single parameters come first, then combinations of the others.
    """
    if not len(directions):
        return []
    size = directions.shape[1]
    alone = [index for index in range(size) if np.linalg.norm(directions[:, index]) > ALONE]
    found = [Direction(np.eye(size)[index], (index,)) for index in alone]
    others = np.array([index for index in range(size) if index not in alone], dtype=int)
    if len(directions) > len(alone) and others.size:
        rest = directions.copy()
        rest[:, alone] = 0.0
        _, strength, left = np.linalg.svd(rest, full_matrices=False)
        basis = left[: len(directions) - len(alone)][strength[: len(directions) - len(alone)] > 0.1]
        for direction in _sparse(basis):
            scaled = direction / direction[np.argmax(np.abs(direction) > LEAST_PART * np.max(np.abs(direction)))]
            scaled /= np.max(np.abs(scaled))
            members = tuple(int(index) for index in np.flatnonzero(np.abs(scaled) > LEAST_PART))
            found.append(Direction(scaled, members))
    return found


def _simplest(direction: Direction, values: Array, box: Box, slopes: Array, least: float) -> Direction:
    """Return the direction of two parameters that keeps their product, ratio or sum, if it has no effect either.

    The direction itself is as noisy as the derivatives behind it.
    """
    if len(direction.members) != 2 or not box.logarithmic[list(direction.members)].all():
        return direction
    first, second = direction.members
    effects = []
    for change in ((1.0, -1.0), (1.0, 1.0), (1.0, -values[first] / values[second])):
        kept = np.zeros_like(values)
        kept[[first, second]] = np.array(change) / max(map(abs, change))
        effect = slopes @ kept
        size = float(np.linalg.norm(effect.mean(axis=0)) / np.linalg.norm(kept))
        if size <= least or not _stands_out(effect):
            effects.append((size, kept))
    return Direction(min(effects, key=lambda each: each[0])[1], direction.members) if effects else direction


def _sparse(basis: Array) -> Array:
    """Return a basis of the same space with as many zeros as elimination gives, for easy interpretation."""
    rows = basis.copy()
    done: list[int] = []
    for index in range(len(rows)):
        column = int(np.argmax(np.where(np.isin(np.arange(rows.shape[1]), done), 0.0, np.abs(rows[index]))))
        done.append(column)
        rows[index] /= rows[index, column]
        for other in range(len(rows)):
            if other != index:
                rows[other] -= rows[other, column] * rows[index]
    return rows


def _correlated(covariance: Array, lost: set[int]) -> list[tuple[int, int, float]]:
    spread = np.sqrt(np.diag(covariance))
    return [
        (first, second, float(covariance[first, second] / (spread[first] * spread[second])))
        for first in range(len(spread))
        for second in range(first + 1, len(spread))
        if not {first, second} & lost
        and spread[first] * spread[second] > 0
        and abs(covariance[first, second]) > CORRELATED * spread[first] * spread[second]
    ]


def _left_out(jacobian: Array, residuals: Array, predicted: Array, data: Data) -> Array:
    """Return the predictions of a fit without a row for the cells of that row.

    The function is linearised around the fit.
    """
    result = np.full(predicted.size, np.nan)
    if not jacobian.shape[1]:
        return result
    for row in np.unique(data.rows):
        cells = data.rows == row
        others = jacobian[~cells]
        if np.linalg.matrix_rank(others, tol=SMALLEST * np.linalg.norm(jacobian, 2)) < jacobian.shape[1]:
            continue
        change, *_ = np.linalg.lstsq(others, -residuals[~cells], rcond=None)
        result[cells] = predicted[cells] + jacobian[cells] @ change * data.error[cells]
    return result

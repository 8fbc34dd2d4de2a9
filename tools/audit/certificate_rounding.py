"""tools/audit/certificate_rounding.py - T0 of algorithms/privacy/THEOREMS.md: decides every weight of an exact release; see
verify_certificate.py.

Rows, weights and slopes are whole numbers times powers of two. They are cut into slices of 20 bits, of which NumPy's float64
products are exact, and the products are added up as Python's integers. Nothing is rounded but slopes, which come from decimals of
50 digits. What steers, Newton's steps by conjugate gradients, is float64 and is not believed.
"""
import decimal
import math
from decimal import Decimal

import numpy as np

from certificate_numerics import newton_step

SLICE = 20  # bits
BLOCK = 4096  # rows or features that meet in one product: 20 + 20 + 12 bits
POINT = 110  # weights are multiples of 2^-POINT
SLOPE = 120  # slopes are multiples of 2^-SLOPE
DIGITS = 50
MOST_STEPS = 8


class Undecided(Exception):
    """A weight too near to a boundary of the grid."""


def slices_of_floats(values, exponent):
    """Matrices of whole numbers with values = 2^exponent sum_k 2^(-20 (k + 1)) slice_k, and |values| <= 2^exponent."""
    slices = []
    while values.any():
        unit = SLICE * (len(slices) + 1) - exponent
        whole = np.rint(np.ldexp(values, unit))
        values = values - np.ldexp(whole, -unit)
        slices.append(whole)
    return slices


def slices_of_integers(values):
    """Matrices of whole numbers with values = sum_k 2^(20 k) slice_k, |slice_k| <= 2^19."""
    slices, half = [], 1 << SLICE - 1
    while values.any():
        low = (values + half & (1 << SLICE) - 1) - half
        slices.append(low.astype(float))
        values = values - low >> SLICE
    return slices


def product(left, right):
    """left @ right of whole numbers up to 2^20, exactly, as Python's integers."""
    total = 0
    for first in range(0, left.shape[1], BLOCK):
        total = total + (left[:, first:first + BLOCK] @ right[first:first + BLOCK]).astype(np.int64)
    return total.astype(object)


class Problem:
    """rows: float64, each number a float32; one objective of T0."""

    def __init__(self, rows, labels, head, mu, classes):
        self.rows, self.labels, self.head, self.mu, self.classes = rows, labels, head, mu, classes
        self.joint = head == "softmax"
        largest = np.abs(rows).max(initial=0.0)
        self.exponent = math.frexp(largest)[1] if largest > 0 else 0
        self.norms = np.linalg.norm(rows, axis=1) * (1 + 1e-9)

    def systems(self, matrix):
        """The norm of each column, or of all where they are one problem."""
        squares = (matrix**2).sum(axis=0)
        return np.sqrt(np.full(self.classes, squares.sum()) if self.joint else squares) * (1 + 1e-9)

    def slopes(self, margins, unit, label):
        """Multiples of 2^-SLOPE next to the slopes of a row whose margins are whole numbers of 2^-unit."""
        scale = Decimal(2) ** -unit
        m = [Decimal(value) * scale for value in margins]
        own = [1 if c == label else 0 for c in range(self.classes)]
        if self.joint:
            powers = [(value - max(m)).exp() for value in m]
            total = sum(powers)
            out = [power / total - is_own for power, is_own in zip(powers, own)]
        elif self.head == "logistic":
            out = []
            for value, is_own in zip(m, own):
                sign = 2 * is_own - 1
                power = (-abs(value)).exp()
                wrong = power / (1 + power) if value * sign >= 0 else 1 / (1 + power)
                out.append(-sign * wrong)
        else:
            out = [value - (2 * is_own - 1) for value, is_own in zip(m, own)]
        return [int((slope * 2**SLOPE).to_integral_value()) for slope in out]

    def gradient(self, point):
        """The gradient at point 2^-POINT (float64 of an exact sum), a bound of its error for each system, margins in float64."""
        weights = slices_of_integers(point)
        total, margins_out = np.zeros(point.shape, object), []
        most = 0
        unit = SLICE * 8 - self.exponent  # rows are multiples of 2^-unit: eight slices hold every float32 below the largest
        for first in range(0, len(self.rows), BLOCK):
            slices = slices_of_floats(self.rows[first:first + BLOCK], self.exponent)
            assert len(slices) <= 8
            count = len(self.rows[first:first + BLOCK])
            margins = np.zeros((count, self.classes), object)
            for a, z in enumerate(slices):
                for b, w in enumerate(weights):
                    margins += product(z, w) << SLICE * (7 - a + b)
            slopes = np.array([self.slopes(row, unit + POINT, label)
                               for row, label in zip(margins, self.labels[first:first + count])], object)
            for a, z in enumerate(slices):
                for b, r in enumerate(slices_of_integers(slopes)):
                    total += product(z.T, r) << SLICE * (7 - a + b)
            margins_out.append(np.array([[value / (1 << unit + POINT) for value in row] for row in margins], float))
            most = max(most, np.abs(slopes).max(initial=0))
        # mu = numerator / 2^power exactly.
        numerator, denominator = float(self.mu).as_integer_ratio()
        power = denominator.bit_length() - 1
        shift = max(0, POINT + power - unit - SLOPE)
        scaled = (total << shift) + (point * numerator << unit + SLOPE + shift - POINT - power)
        value = np.array([[x / (1 << unit + SLOPE + shift) for x in row] for row in scaled], float).reshape(point.shape)
        # A slope errs by half a step of 2^-SLOPE and by 10^(5 - DIGITS) of its size, if that is above 1.
        error = 2.0**-SLOPE + 10.0**(5 - DIGITS) * max(1.0, most / 2**SLOPE)
        bound = self.norms.sum() * error * math.sqrt(self.classes) * 1.01 + self.systems(value) * 2.0**-52
        margins = np.concatenate(margins_out) if margins_out else np.zeros((0, self.classes))
        return value, bound, margins


def rounded_minimiser(rows, labels, head, mu, start, bits):
    """The multiples of 2^-bits nearest to the minimiser, as whole numbers, from any start near it. Raises Undecided."""
    with decimal.localcontext() as context:
        context.prec = DIGITS
        problem = Problem(rows, labels, head, mu, start.shape[1])
        point = np.vectorize(lambda x: int(math.ldexp(x, POINT)), otypes=[object])(start)
        half, shift = 1 << POINT - bits - 1, POINT - bits
        for _ in range(MOST_STEPS):
            gradient, bound, margins = problem.gradient(point)
            radius = (problem.systems(gradient) + bound) / mu * (1 + 1e-9)
            whole = point + half >> shift
            distance = half - np.abs(point - (whole << shift))  # from the nearest boundary, in steps of 2^-POINT
            if all(distance[j, c] > radius[c] * 2**POINT for j in range(len(point)) for c in range(start.shape[1])):
                return whole
            step = newton_step(rows, margins, head, mu, gradient)
            point = point + np.vectorize(lambda x: int(math.ldexp(x, POINT)), otypes=[object])(step)
    raise Undecided(f"a weight lies within {radius.max():.1e} of a boundary of the grid")

"""tools/audit/certificate_numerics.py - what the independent verifier of certificates computes with; see verify_certificate.py."""
import math

import numpy as np

FALSE_ALARM = 21.5  # the published weights of a true release fall outside with probability below 2 e^-21.5
SURE_DEVIATIONS = 6.6  # a normal number, discrete or not, lies beyond with probability below 1e-10
MASK = 2**64 - 1
GOLDEN = 0x9E3779B97F4A7C15
UNIT_ROUNDOFF = 2.0**-53


def mixed(x):
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & MASK
    x = (x ^ x >> 27) * 0x94D049BB133111EB & MASK
    return x ^ x >> 31


def random_key(key, use):
    """A key of its own for each use of one key."""
    return mixed(mixed(key + GOLDEN & MASK) + use * GOLDEN & MASK)


def permuted(place, size, key):
    """A Feistel network over rows x columns, repeated while its result lies outside."""
    rows = math.isqrt(size - 1) + 1
    columns = -(-size // rows)
    while True:
        halves, bounds = list(divmod(place, columns)), (rows, columns)
        for turn in range(4):
            own = turn % 2
            bits = mixed(key + turn + (halves[1 - own] + 1) * GOLDEN & MASK)
            halves[own] = (halves[own] + (bits * bounds[own] >> 64)) % bounds[own]
        place = halves[0] * columns + halves[1]
        if place < size:
            return place


def clip_rows(rows, clip):
    """Rows above the norm are scaled down to it, in float64, and rounded to float32."""
    rows = rows.astype(np.float32).copy()
    for row in rows:
        shrink = 1.0
        while True:
            squares = np.cumsum(row.astype(float) ** 2)
            norm = math.sqrt(squares[-1]) * (1 + gamma(rows.shape[1] + 4))
            if norm <= clip:
                break
            row[:] = (shrink * clip / norm) * row.astype(float)
            shrink *= 1 - 2.0**-22
    return rows


def form_rows(rows, clip, intercept):
    """Rows as a learner sees them, float64: clipped and, with an intercept, followed by a value 1."""
    clipped = clip_rows(rows, clip).astype(float)
    return np.hstack([clipped, np.ones((len(clipped), 1))]) if intercept else clipped


def gamma(count):
    """Relative error of so many roundings."""
    return count * UNIT_ROUNDOFF / (1 - count * UNIT_ROUNDOFF)


def normal(x):
    return math.erfc(-x / math.sqrt(2)) / 2


def delta_of(shift, sigma, epsilon):
    a, b = shift / (2 * sigma), epsilon * sigma / shift
    return normal(a - b) - math.exp(epsilon) * normal(-a - b)


def epsilon_of(nu, delta):
    """The least epsilon at which two Gaussians nu standard deviations apart are (epsilon, delta)-close."""
    if nu == 0 or delta_of(nu, 1, 0) <= delta:
        return 0.0
    low, high = 0.0, 1.0
    while delta_of(nu, 1, high) > delta:
        low, high = high, 2 * high
        if high > 700:  # beyond what anybody asks for, and exp()
            return math.inf
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if delta_of(nu, 1, middle) > delta else (low, middle)
    return high


def sigma_of(shift, epsilon, delta):
    low, high = 1e-9 * shift, 1e9 * shift
    for _ in range(200):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if delta_of(shift, middle, epsilon) > delta else (low, middle)
    return high


def noise_factors(count):
    """x with (count / 2) (x - 1 - ln x) = FALSE_ALARM below and above 1: Chernoff's bound of chi-square / count."""
    bounds = []
    for outer in (math.exp(-2 * FALSE_ALARM / count - 1), 2 + 4 * FALSE_ALARM / count):
        inner = 1.0
        for _ in range(200):
            middle = (outer + inner) / 2
            far = count / 2 * (middle - 1 - math.log(middle)) > FALSE_ALARM
            outer, inner = (middle, inner) if far else (outer, middle)
        bounds.append(outer)
    return bounds


def slopes(margins, labels, head):
    own = np.equal.outer(labels, np.arange(margins.shape[1]))
    if head == "softmax":
        p = np.exp(margins - margins.max(axis=1, keepdims=True))
        return p / p.sum(axis=1, keepdims=True) - own
    sign = np.where(own, 1.0, -1.0)
    return margins - sign if head == "least-squares" else -sign / (1 + np.exp(sign * margins))


def newton_step(rows, margins, head, mu, gradient, tolerance=1e-9, most=2000):
    """-H^-1 gradient by conjugate gradients with the diagonal, in float64. The classes of softmax are one problem, of others one
    each."""
    joint = head == "softmax"
    if joint:
        p = np.exp(margins - margins.max(axis=1, keepdims=True, initial=-np.inf))
        p /= p.sum(axis=1, keepdims=True)
        curve = lambda v: p * (v - (p * v).sum(axis=1, keepdims=True))
        diagonal = (rows**2).T @ (p * (1 - p)) + mu
    else:
        s = np.ones_like(margins) if head == "least-squares" else 1 / (2 + np.exp(margins) + np.exp(-margins))
        curve = lambda v: s * v
        diagonal = (rows**2).T @ s + mu
    dots = lambda a, b: np.full(gradient.shape[1], (a * b).sum()) if joint else (a * b).sum(axis=0)
    step, rest = np.zeros_like(gradient), -gradient
    goal = tolerance**2 * dots(rest, rest)
    smooth = rest / diagonal
    way, energy = smooth.copy(), dots(rest, smooth)
    for _ in range(most):
        if (dots(rest, rest) <= goal).all():
            break
        image = rows.T @ curve(rows @ way) + mu * way
        bend = dots(way, image)
        length = np.divide(energy, bend, out=np.zeros_like(energy), where=bend > 0)
        step += length * way
        rest -= length * image
        smooth = rest / diagonal
        fresh = dots(rest, smooth)
        way = smooth + np.divide(fresh, energy, out=np.zeros_like(energy), where=energy > 0) * way
        energy = fresh
    return step


def gradient_of(rows, labels, head, mu, weights):
    return rows.T @ slopes(rows @ weights, labels, head) + mu * weights


def minimise(rows, labels, head, mu, classes):
    """The minimiser and the norm of the gradient there, by Newton steps halved until the gradient falls."""
    weights = np.zeros((rows.shape[1], classes))
    gradient = lambda at: gradient_of(rows, labels, head, mu, at)
    here = gradient(weights)
    for _ in range(100):
        step = newton_step(rows, rows @ weights, head, mu, here)
        scale = 1.0
        while scale > 1e-6 and not np.linalg.norm(gradient(weights + scale * step)) < np.linalg.norm(here):
            scale /= 2
        if scale <= 1e-6:
            break
        weights = weights + scale * step
        here = gradient(weights)
    return weights, float(np.linalg.norm(here))

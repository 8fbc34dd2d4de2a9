"""tools/audit/certificate_numerics.py - what the independent verifier of certificates computes with; see verify_certificate.py."""
import math

import numpy as np

FALSE_ALARM = 21.5  # the published weights of a true release fall outside with probability below 2 e^-21.5
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


def hessian(rows, margins, head, mu):
    """Of all weights, class after class."""
    features, classes = rows.shape[1], margins.shape[1]
    p = 1 / (1 + np.exp(-margins))
    if head == "softmax":
        p = np.exp(margins - margins.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
    out = mu * np.eye(features * classes)
    for c in range(classes):
        for k in range(classes if head == "softmax" else 0) or [c]:
            weight = {"softmax": p[:, c] * ((c == k) - p[:, k]), "logistic": p[:, c] * (1 - p[:, c]),
                      "least-squares": np.ones(len(rows))}[head]
            at = slice(c * features, (c + 1) * features), slice(k * features, (k + 1) * features)
            out[at] += (rows * weight[:, None]).T @ rows
    return out


def gradient_of(rows, labels, head, mu, weights):
    return rows.T @ slopes(rows @ weights, labels, head) + mu * weights


def minimise(rows, labels, head, mu, classes):
    """The minimiser and the norm of the gradient there, by Newton steps halved until the gradient falls."""
    weights = np.zeros((rows.shape[1], classes))
    gradient = lambda at: gradient_of(rows, labels, head, mu, at)
    here = gradient(weights)
    for _ in range(100):
        step = np.linalg.solve(hessian(rows, rows @ weights, head, mu), here.T.ravel()).reshape(classes, -1).T
        scale = 1.0
        while scale > 1e-6 and not np.linalg.norm(gradient(weights - scale * step)) < np.linalg.norm(here):
            scale /= 2
        if scale <= 1e-6:
            break
        weights = weights - scale * step
        here = gradient(weights)
    return weights, float(np.linalg.norm(here))

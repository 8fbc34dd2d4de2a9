#!/usr/bin/env python3
"""tests/verify_certificate.py - the newest certificate of a model, computed again by code of its own.

    unweave export STORE --labels labels.npy --train train.npy
    unweave export STORE --embeddings rows.npy --nodes train.npy
    tests/verify_certificate.py STORE SOLVER --rows rows.npy --labels labels.npy --train train.npy

Shares nothing with the program: reads models/SOLVER.model and certificates/SOLVER.jsonl (storage/FORMAT.md) and knows T1 and
T2 of algorithms/THEOREMS.md. From lambda, tau, n, C, F, epsilon and delta follow noise, distances and accounts; from the rows
a fresh minimiser, from which the published weights must stand where the noise puts them. Prints what is false, a line each,
and exits 1; 0 where all holds; 2 where something cannot be read or another theorem is named. Python 3.9 and NumPy.
"""
import argparse
import hashlib
import json
import math
import pathlib
import struct
import sys

import numpy as np

FALSE_ALARM = 21.5  # the published weights of a true release fall outside with probability below 2 e^-21.5
MASK = 2**64 - 1


class Verifier:
    def __init__(self, model, arrays, certificate, line, rows, labels):
        self.model, self.arrays, self.certificate, self.line = model, arrays, certificate, line
        self.labels, self.false = labels, []
        options = model["options"]
        self.head, self.lam, self.tau = options["head"], options["lambda"], options["tau"]
        self.epsilon, self.delta = options["epsilon"], options["delta"]
        self.features, self.classes = model["features"], model["classes"]
        self.published = arrays[0].reshape(self.features, self.classes)
        self.rows = clip_rows(rows, model["clip"]).astype(float)
        self.terms = certificate["terms"]

    def check(self, name, said, found):
        if said != found:
            self.false.append(f"{name} is {said}, it should be {found}")

    def near(self, name, said, found, tolerance=1e-9):
        if not abs(said - found) <= tolerance * abs(found):
            self.false.append(f"{name} is {said!r}, computed again it is {found!r}")

    def within(self, name, value, least, most):
        if not least <= value <= most:
            self.false.append(f"{name} is {value!r}, outside [{least!r}, {most!r}]")

    def run(self):
        self.check_digest()
        self.check_constants()
        theorem = self.certificate["theorem"]
        self.check("claim", self.certificate["claim"], theorem)
        self.check("standardized", self.model["options"]["standardized"], False)
        if len(self.rows) != self.model["trained_rows"]:
            self.check("training rows of the model", self.model["trained_rows"], len(self.rows))
        elif theorem == "T1":
            self.check_finished_weights()
        elif theorem == "T2":
            self.check_noisy_steps()
        return self.false

    def check_digest(self):
        text, _, rest = self.line.rpartition(',"digest":"')
        if rest != hashlib.blake2b(text.encode(), digest_size=32).hexdigest() + '"}':
            self.false.append("the digest is not that of the certificate")
        self.check("the certificate in the model file", self.model["certificate"], self.line)

    def check_constants(self):
        said, model, options = self.certificate, self.model, self.model["options"]
        for name in ("solver", "sequence"):
            self.check(name, said[name], model[name])
        self.check("release", said["release"], model["releases"])
        self.check("id", said["id"].rsplit("-", 1)[0], f"{model['solver']}-{model['releases']}")
        self.check("epsilon", said["epsilon"], self.epsilon)
        self.check("delta, target", said["delta"]["target"], self.delta)
        found = {name: options[name] for name in ("lambda", "tau", "alpha", "bound", "head")}
        found |= {name: model[name] for name in ("clip", "features", "classes", "weights")}
        found |= {name: model["propagation"][name] for name in ("levels", "rho", "scale_bits", "all_rows")}
        found["training_rows"] = model["trained_rows"]
        self.check("the names of the constants", sorted(said["constants"]), sorted(found))
        for name, value in found.items():
            self.check(name, said["constants"][name]["value"], value)

    # T1: finished to tau, discrete Gaussian noise on a grid.

    def check_finished_weights(self):
        terms, count = self.terms, self.published.size
        n = len(self.rows)
        mu = self.lam * max(1, n)
        distance = self.tau / mu
        wanted = self.epsilon * (1 - 1e-12), self.delta * (1 - 1e-9)
        grid = 2.0 ** (math.floor(math.log2(sigma_of(distance, *wanted))) - 23)
        sensitivity = distance + grid * math.sqrt(count)
        sigma = sigma_of(sensitivity, *wanted)
        for name, value in (("mu", mu), ("distance", distance), ("sensitivity", sensitivity), ("sigma", sigma)):
            self.near(name, terms[name], value)
        self.check("grid", terms["grid"], grid)
        variance = (terms["sigma"] / grid) ** 2
        self.near("the variance in grid steps", variance, round(variance), 1e-13)
        self.check("budget", self.certificate["budget"], self.tau)
        bound = self.certificate["residual_bound"]
        self.within("residual_bound", bound, 0, self.tau)
        self.near("residual_bound", bound, terms["residual"] + terms["float_error"] + terms["approximation"])
        for name in ("residual", "float_error", "approximation"):
            self.within(name, terms[name], 0, bound)
        reached = delta_of(sensitivity, math.sqrt(sigma**2 - 9 * grid**2), self.epsilon)
        self.near("delta, reached", self.certificate["delta"]["reached"], reached, 1e-7)
        self.within("delta, reached", self.certificate["delta"]["reached"], 0, self.delta)

        steps = self.published / grid
        if not np.array_equal(steps, np.rint(steps)):
            self.false.append("published weights lie off the grid")
        best, residual = minimise(self.rows, self.labels, self.head, mu, self.classes)
        shift = (bound + residual) / mu + grid * math.sqrt(count) / 2 + 2e-15 * (np.abs(self.published).sum())
        low, high = (math.sqrt(factor * count) * sigma for factor in noise_factors(count))
        self.within("the distance of the published weights from the minimiser", np.linalg.norm(self.published - best),
                    low - shift, high + shift)

    # T2: projected noisy SGD over slots.

    def check_noisy_steps(self):
        state, terms, given = self.model["langevin"], self.terms, self.model["options"]["parameters"]
        slots, lam, classes = state["slots"], self.lam, self.classes
        curvature, loss_at_zero = {"logistic": (0.25, classes * math.log(2)), "least-squares": (1, classes / 2),
                                   "softmax": (0.5, math.log(classes) if classes > 0 else 0)}[self.head]
        smoothness = curvature + lam
        radius = given.get("radius", math.sqrt(2 * loss_at_zero / lam))
        slope = {"logistic": math.sqrt(classes), "least-squares": radius + math.sqrt(classes),
                 "softmax": math.sqrt(2)}[self.head]
        batch = 32
        while slots // batch > 1024:
            batch *= 2
        if self.model["solver"] == "langevin-full" or slots <= 32:
            batch = max(1, slots)
        batch = int(given.get("batch-rows", batch))
        batches = max(1, -(-slots // batch))
        sgd = NoisySgd(given.get("step-size", 1 / smoothness), lam, given.get("sigma", 0.1 * math.sqrt(lam)), radius,
                       batches, self.delta)
        self.within("step_size", sgd.step, 0, 1 / smoothness)
        learning = int(given["epochs"]) if "epochs" in given else max(
            2 * sgd.fewest(self.epsilon, 2 * radius, None), math.ceil(math.log(1e-3) / (batches * sgd.log_c)))
        key = int(given.get("order-key", 1))
        found = {"step_size": sgd.step, "sigma": sgd.sigma, "radius": radius, "order_key": key, "slots": slots,
                 "batch_rows": batch}
        for name, value in found.items():
            self.near(f"{name} of the model", state[name], value)
        self.check("epochs of the model", state["epochs"], learning)
        found |= {"batches": batches, "learning_epochs": learning, "strong_convexity": lam, "smoothness": smoothness,
                  "gradient_bound": slope, "distance": state["distance"]}
        for name, value in found.items():
            self.near(name, terms[name], value)
        retrained = state["last_epochs"] == 0
        epochs = learning if retrained else state["last_epochs"]
        self.check("retrained", self.certificate["retrained"], retrained)
        self.check("epochs", terms["epochs"], epochs)
        self.check("budget", self.certificate["budget"], self.epsilon)
        self.check("delta, reached", self.certificate["delta"]["reached"], self.delta)
        reached = 0 if retrained else sgd.epsilon(state["distance"], epochs, learning)
        self.near("residual_bound", self.certificate["residual_bound"], reached)
        self.within("residual_bound", reached, 0, self.epsilon)
        self.check("adaptive requests", state["adaptive_requests"], False)
        if not retrained:
            self.check("the fewest epochs", epochs, sgd.fewest(self.epsilon, state["distance"], learning))
        if "own_distance" in terms:
            self.check_weights(sgd, batch, slope)
        self.check_run(sgd, batch, key, epochs, learning, retrained)

    def check_weights(self, sgd, batch, slope):
        """What is left of rows that are gone; only the digest holds these three numbers to the last digit."""
        terms = self.terms
        removed = terms["removed_weight"] / slope
        self.near("removed_weight in rows", removed, round(removed), 1e-9)
        weight = terms["removed_weight"] + terms["moved_weight"]
        most = sgd.step / batch * weight / -math.expm1(sgd.batches * sgd.log_c)
        least = most * math.exp((sgd.batches - 1) * sgd.log_c)
        self.within("own_distance", terms["own_distance"], min(2 * sgd.radius, least) * (1 - 1e-9), most * (1 + 1e-9))
        if not self.certificate["retrained"]:
            self.within("own_distance", terms["own_distance"], 0, terms["distance"] * (1 + 1e-12))

    def check_run(self, sgd, batch, key, epochs, learning, retrained):
        """A run with noise and one without stand within s sqrt(N / (1 - c^2)) and 6.6 deviations, but for e^-21.5."""
        nodes = self.arrays[4]
        filled = np.flatnonzero(nodes != 2**32 - 1)
        self.check("filled slots", len(filled), len(self.rows))
        if len(filled) != len(self.rows):
            return
        padded = sgd.batches * batch
        batch_of = [permuted(int(slot), padded, key) // batch for slot in filled]
        members = [np.flatnonzero(np.array(batch_of) == j) for j in range(sgd.batches)]
        still = np.zeros_like(self.published)
        for _ in range(learning):
            for rows in members:
                gradient = self.rows[rows].T @ slopes(self.rows[rows] @ still, self.labels[rows], self.head)
                still = (1 - sgd.step * sgd.lam) * still - sgd.step / batch * gradient
                still *= min(1, sgd.radius / max(np.linalg.norm(still), 1e-300))
        spread = math.sqrt(2 * sgd.step / -math.expm1(2 * sgd.log_c)) * sgd.sigma
        most = spread * (math.sqrt(still.size) + 6.6) + 1e-9 * sgd.radius
        if not retrained:
            most += sgd.power(epochs) * self.terms["distance"] + sgd.power(learning) * 2 * sgd.radius
        self.within("the distance of the published weights from a run without noise",
                    np.linalg.norm(self.published - still), 0, most)
        self.within("the norm of the weights", np.linalg.norm(self.published), 0, sgd.radius * (1 + 1e-12))


class NoisySgd:
    """Contraction and account of T2, with g(k) = c^2k (1 - c^2) / (1 - c^2k)."""

    def __init__(self, step, lam, sigma, radius, batches, delta):
        self.step, self.lam, self.sigma, self.radius = step, lam, sigma, radius
        self.batches, self.delta = batches, delta
        self.log_c = math.log1p(-step * lam)

    def power(self, epochs):
        return math.exp(epochs * self.batches * self.log_c)

    def epsilon(self, distance, epochs, learning):
        if learning is not None:
            distance += 2 * self.radius * self.power(learning - epochs)
        decay = math.expm1(2 * self.log_c) / math.expm1(2 * epochs * self.batches * self.log_c)
        nu = min(2 * self.radius, distance) * self.power(epochs) * math.sqrt(decay / (2 * self.step)) / self.sigma
        return nu * nu / 2 + nu * math.sqrt(2 * math.log(1 / self.delta))

    def fewest(self, epsilon, distance, learning):
        low, high = 0, 1
        while self.epsilon(distance, high, learning) > epsilon:
            low, high = high, 2 * high if learning is None else min(2 * high, learning)
            if low == high:
                return high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self.epsilon(distance, middle, learning) <= epsilon else (middle, high)
        return high


def mixed(x):
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & MASK
    x = (x ^ x >> 27) * 0x94D049BB133111EB & MASK
    return x ^ x >> 31


def permuted(place, size, key):
    """A Feistel network over rows x columns, repeated while its result lies outside."""
    rows = math.isqrt(size - 1) + 1
    columns = -(-size // rows)
    while True:
        halves, bounds = list(divmod(place, columns)), (rows, columns)
        for turn in range(4):
            own = turn % 2
            bits = mixed(key + turn + (halves[1 - own] + 1) * 0x9E3779B97F4A7C15 & MASK)
            halves[own] = (halves[own] + (bits * bounds[own] >> 64)) % bounds[own]
        place = halves[0] * columns + halves[1]
        if place < size:
            return place


def clip_rows(rows, clip):
    """Rows above the norm are scaled down to it, in float64, and rounded to float32."""
    rows = rows.astype(np.float32).copy()
    roundings = (rows.shape[1] + 4) * 2.0**-53
    for row in rows:
        shrink = 1.0
        while True:
            squares = np.cumsum(row.astype(float) ** 2)
            norm = math.sqrt(squares[-1]) * (1 + roundings / (1 - roundings))
            if norm <= clip:
                break
            row[:] = (shrink * clip / norm) * row.astype(float)
            shrink *= 1 - 2.0**-22
    return rows


def normal(x):
    return math.erfc(-x / math.sqrt(2)) / 2


def delta_of(shift, sigma, epsilon):
    a, b = shift / (2 * sigma), epsilon * sigma / shift
    return normal(a - b) - math.exp(epsilon) * normal(-a - b)


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


def minimise(rows, labels, head, mu, classes):
    """The minimiser and the norm of the gradient there, by Newton steps halved until the gradient falls."""
    weights = np.zeros((rows.shape[1], classes))
    gradient = lambda at: rows.T @ slopes(rows @ at, labels, head) + mu * at
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


def read_model(path):
    data = path.read_bytes()
    magic, _, count, text_bytes, length = struct.unpack_from("<8sIIQQ", data)
    if magic != b"UNWVMODL" or length != len(data):
        raise ValueError(f"{path} is no model")
    at = 48 + 8 * count
    lengths = struct.unpack_from(f"<{count}Q", data, 48)
    text = json.loads(data[at:at + text_bytes])
    at += -(-text_bytes // 8) * 8
    arrays = []
    for values in lengths:
        arrays.append(np.frombuffer(data, "<f8", values, at))
        at += 8 * values
    return text, arrays


def verify(store, solver, rows, labels, train):
    """What is false. Raises ValueError where there is nothing to check."""
    model, arrays = read_model(store / "models" / f"{solver}.model")
    line = (store / "certificates" / f"{solver}.jsonl").read_text().splitlines()[-1]
    certificate = json.loads(line)
    if not certificate["certified"] or certificate["theorem"] not in ("T1", "T2"):
        raise ValueError(f"{solver}: nothing is certified by T1 or T2")
    kept = labels[train]
    return Verifier(model, arrays, certificate, line, rows, kept).run()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("store", type=pathlib.Path)
    parser.add_argument("solver")
    for name in ("rows", "labels", "train"):
        parser.add_argument(f"--{name}", required=True)
    given = parser.parse_args()
    try:
        inputs = (np.load(getattr(given, name)) for name in ("rows", "labels", "train"))
        false = verify(given.store, given.solver, *inputs)
    except (OSError, ValueError, KeyError, IndexError) as error:
        print(f"verify_certificate: {error}", file=sys.stderr)
        return 2
    for text in false:
        print(text)
    return 1 if false else 0


if __name__ == "__main__":
    sys.exit(main())

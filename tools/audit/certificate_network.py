"""tools/audit/certificate_network.py - T0': the exact network, trained again by code of its own; see verify_certificate.py.

Rows, weights, units and slopes are whole numbers in float64, so small that no sum of their products exceeds 2^53: whatever order NumPy
takes, products are exact. Between them stand single operations of IEEE 754, in the order that algorithms/privacy/THEOREMS.md gives.
"""
import math

import numpy as np

from certificate_numerics import GOLDEN, MASK, mixed

ROW, WEIGHT, UNIT, SLOPE = 2.0**14, 2.0**18, 2.0**12, 2.0**20
STANDARD = {"steps": 300, "batches": 1, "rate": 0.01, "key": 0}
PARTS = 2**32  # the use of the key that parts the rows; layers have those from 0 on
TOGETHER = 4096  # rows whose products may meet in one float64
SERIES = [1.0]
for place in range(1, 14):
    SERIES.append(SERIES[-1] / place)


def random_keys(key, uses):
    """A key for each use of one key."""
    with np.errstate(over="ignore"):
        x = np.uint64(mixed(int(key) + GOLDEN & MASK)) + np.asarray(uses, np.uint64) * np.uint64(GOLDEN)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return x ^ (x >> np.uint64(31))


def exponential(x):
    """exp of numbers up to 0: sums and products in one order, of no library."""
    x = np.maximum(x, -80.0)
    power = np.rint(x * 1.4426950408889634)
    rest = (x - power * 0.693145751953125) - power * 1.4286068203094172e-06
    total = np.full_like(x, SERIES[-1])
    for term in reversed(SERIES[:-1]):
        total = total * rest + term
    return np.ldexp(total, power.astype(np.int64))


class ExactNetwork:
    """widths: features, units of the hidden layers, classes."""

    def __init__(self, widths, key):
        self.weights = [self.start(number, key, *widths[number:number + 2]) for number in range(len(widths) - 1)]
        self.mean = [0 * w for w in self.weights]
        self.square = [0 * w for w in self.weights]
        self.powers = [1.0, 1.0]

    @staticmethod
    def start(number, key, inputs, outputs):
        """Uniform numbers, and a last row of zeros for the bias."""
        own = int(random_keys(key, [number])[0])
        drawn = (random_keys(own, np.arange(inputs * outputs)) >> np.uint64(11)).astype(float) * 2.0**-53 - 0.5
        deviation = math.sqrt((1 if number else 2) / inputs)
        return np.vstack([np.rint(drawn * math.sqrt(12) * deviation * WEIGHT).reshape(inputs, outputs), np.zeros((1, outputs))])

    def forward(self, rows):
        """Inputs of each layer with what biases read, and the sums that the layer makes of them."""
        inputs, sums = [np.hstack([rows, np.full((len(rows), 1), ROW)])], []
        for number, weights in enumerate(self.weights):
            sums.append(inputs[-1] @ weights)
            units = np.minimum(np.rint(np.maximum(sums[-1], 0) * 2.0**(-18 if number else -20)), 2.0**20)
            inputs.append(np.hstack([units, np.full((len(rows), 1), UNIT)]))
        return inputs[:-1], sums

    def gradient(self, rows, labels):
        """Of some rows, whole numbers."""
        inputs, sums = self.forward(rows)
        margins = sums[-1] * 2.0**-30
        shares = exponential(margins - margins.max(axis=1, keepdims=True))
        total = shares[:, 0].copy()
        for number in range(1, shares.shape[1]):
            total = total + shares[:, number]
        shares = shares / total[:, None]
        shares[np.arange(len(rows)), labels] -= 1
        back = np.rint(shares * SLOPE)
        found = []
        for number in reversed(range(len(self.weights))):
            found.append((inputs[number].T @ back).astype(np.int64))
            if number:
                most = 2.0**24 if number == 1 else 2.0**20
                back = np.clip(np.rint((back @ self.weights[number][:-1].T) * 2.0**-18), -most, most)
                back[sums[number - 1] <= 0] = 0
        return found[::-1]

    def step(self, rows, labels, rate, decay):
        gradient = [np.zeros(w.shape, np.int64) for w in self.weights]
        for first in range(0, len(rows), TOGETHER):
            for held, more in zip(gradient, self.gradient(rows[first:first + TOGETHER], labels[first:first + TOGETHER])):
                held += more
        self.powers = [self.powers[0] * 0.9, self.powers[1] * 0.999]
        for number, whole in enumerate(gradient):
            unit = 1 / ((UNIT if number else ROW) * SLOPE)
            slope = whole.astype(float) * unit / max(1, len(rows)) + decay * (self.weights[number] / WEIGHT)
            self.mean[number] = 0.9 * self.mean[number] + 0.1 * slope
            self.square[number] = 0.999 * self.square[number] + 0.001 * (slope * slope)
            length = rate * (self.mean[number] / (1 - self.powers[0])) / (
                np.sqrt(self.square[number] / (1 - self.powers[1])) + 1e-8)
            self.weights[number] = np.clip(np.rint(self.weights[number] - length * WEIGHT), -2.0**22, 2.0**22)


def trained_weights(rows, labels, nodes, widths, decay, steps, batches, rate, key):
    """All weights in the order of a model's file. rows: float64 of float32, none longer than 1; nodes: the id of each row's node."""
    network = ExactNetwork(widths, key)
    whole = np.rint(rows * ROW)
    parts = int(random_keys(key, [PARTS])[0])
    for step in range(steps):
        epoch, batch = divmod(step, batches)
        taken = slice(None)
        if batches > 1:
            own = int(random_keys(parts, [epoch])[0])
            taken = random_keys(own, nodes) % np.uint64(batches) == np.uint64(batch)
        network.step(whole[taken], labels[taken], rate, decay)
    return np.concatenate([w.ravel() for w in network.weights]) / WEIGHT + 0.0  # no -0


def check_trained_weights(verifier):
    """T0': the weights that a training from the public start gives, bit for bit."""
    options = verifier.model["options"]
    plan = {**STANDARD, **options["parameters"]}
    for name in STANDARD:
        verifier.check(name, verifier.terms[name], plan[name])
    verifier.check("activation", options["activation"], "relu")
    verifier.check("releases", verifier.certificate["releases"], "all-later")
    for name in ("delta", "residual_bound", "budget"):
        said = verifier.certificate[name]
        verifier.check(name, said["reached"] if name == "delta" else said, 0)
    widths = [verifier.features, *options["hidden"], verifier.classes]
    if widths[0] > 2**17 or max(widths[1:]) > 2048 or len(verifier.rows) >= 2**23:
        verifier.false.append("no exact network has this shape, or so many rows")
        return
    found = trained_weights(verifier.rows, np.asarray(verifier.labels), np.asarray(verifier.train), widths, verifier.lam,
                            int(plan["steps"]), int(plan["batches"]), plan["rate"], int(plan["key"]))
    published = verifier.arrays[0]
    if found.shape != published.shape:
        verifier.check("the number of weights", len(published), len(found))
        return
    differ = int((found.view(np.uint64) != published.view(np.uint64)).sum())
    if differ:
        verifier.false.append(f"{differ} of {found.size} published weights are not those that training again gives")

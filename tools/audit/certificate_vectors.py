"""tools/audit/certificate_vectors.py - T3 of algorithms/privacy/THEOREMS.md: removal by vectors that were made while learning. Part of
verify_certificate.py."""
import math

import numpy as np

from certificate_numerics import gamma, permuted, random_key, sigma_of, slopes
from certificate_slots import CURVATURE, EMPTY

GRID = 2.0**-44  # of the weights without noise and of the vectors
THIRD = {"logistic": 1 / (6 * math.sqrt(3)), "least-squares": 0, "softmax": math.sqrt(2) / (3 * math.sqrt(3))}


def check_vectors(v):
    terms, numbers, arrays = v.terms, v.numbers, v.named
    run = Run(v, terms, numbers)
    for name in ("slots", "epochs", "batch_rows", "partition_rows", "step_size", "decay", "order_key", "s_max", "group_rows",
                 "bits", "retrain", "statistics"):
        v.near(name, terms[name], numbers[name], 1e-12)
    if numbers["statistics"]:
        v.check("backward", terms["backward"], numbers["backward"])
        check_costs(v, run)
    v.check("bound", v.model["options"]["bound"], "corrected")
    noise = v.check_output_noise(run.largest_shift, True)
    removed = arrays["removed"]
    v.check("removed_records", terms["removed_records"], len(removed))
    v.near("encoding_error", terms["encoding_error"], numbers["error"])
    v.near("budget", v.certificate["budget"], run.largest_shift)
    filled = run.filled(arrays)
    reached = run.distance(numbers, arrays, filled) + numbers["error"] + GRID * math.sqrt(v.published.size) \
        if len(removed) else 0
    v.near("residual_bound", v.certificate["residual_bound"], reached, 1e-7)
    v.within("residual_bound", reached, 0, run.largest_shift * (1 + 1e-7))
    if v.certificate["retrained"]:
        v.check("removed_records after a run of its own", len(removed), 0)
    if v.before is not None and "moved_rows" in terms:
        v.check("moved_rows", terms["moved_rows"], len(np.flatnonzero(v.change()[1])))
    clean = arrays["clean"].reshape(v.published.shape)
    if not np.array_equal(clean / GRID, np.rint(clean / GRID)):
        v.false.append("weights without noise lie off their grid")
    v.check_spread("the weights without noise", clean, 0, noise)
    end = run.learn(v, arrays["nodes"])
    if end is None:
        return
    weights, norm, counts = end
    v.within("the distance of the weights without noise from a run on the present rows", np.linalg.norm(clean - weights),
             0, reached + GRID * math.sqrt(clean.size) + 1e-10)
    if len(removed) == 0:
        v.near("the largest norm along the run", numbers["largest_norm"], norm)
        v.check("filled slots of the steps", list(filled), list(counts))


def check_costs(v, run):
    """Of statistics that were just made: multiply-adds forward and backward, bytes of their files."""
    terms, count, records = v.terms, v.published.size, -(-run.slots // run.group)
    if "statistics_bytes" not in terms:
        return
    per = 2 * run.epochs * len(v.rows) * count
    v.near("forward_multiply_adds", terms["forward_multiply_adds"], per * records)
    if run.group == 1:
        width = count if run.head == "softmax" else run.features
        v.near("backward_multiply_adds", terms["backward_multiply_adds"], per * width)
    record = 32 + 4 * run.group * run.epochs + int(terms["bits"]) // 8 * count
    v.check("statistics_bytes", terms["statistics_bytes"], 64 * -(-records // run.partition) + records * -(-record // 8) * 8)


class Run:
    """The public schedule, and the account of Lemmas 12 and 13."""

    def __init__(self, v, terms, numbers):
        given = v.model["options"]["parameters"]
        self.lam, self.head, self.norm = v.lam, v.head, v.norm
        self.features, self.classes = v.features, v.classes
        self.slots, self.key = int(numbers["slots"]), int(numbers["order_key"])
        batch = 32
        while self.slots // batch > 1024:
            batch *= 2
        self.batch = int(given.get("batch-rows", batch))
        self.epochs, self.group = int(given.get("epochs", 15)), int(given.get("group-rows", 1))
        self.partition = int(numbers["partition_rows"])
        self.step = given.get("step-size", 1 / (CURVATURE[v.head] * v.norm**2 + v.lam))
        self.steps = self.schedule()
        self.decay = given.get("decay", 0.1 ** (1 / max(1, len(self.steps))))
        self.largest_shift = given.get("s-max", 0.1 / sigma_of(1, v.epsilon, v.delta))
        found = {"batch_rows": self.batch, "epochs": self.epochs, "group_rows": self.group, "step_size": self.step,
                 "decay": self.decay, "s_max": self.largest_shift, "bits": given.get("bits", 16),
                 "own_hessian": given.get("own-hessian", 1), "retrain": given.get("retrain", 0), "order_key": 1}
        if found["own_hessian"] and numbers["backward"]:
            found["own_hessian"] = 0  # backward vectors always keep the curvature of their rows
        for name, value in found.items():
            v.near(name, terms[name], value)

    def schedule(self):
        """The slots of every step, of all epochs: partitions in an order, in each the places in an order."""
        slot_of = [permuted(place, self.slots, random_key(self.key, 0)) for place in range(self.slots)]
        parts, steps = -(-self.slots // self.partition), []
        for epoch in range(self.epochs):
            for turn in range(parts):
                part = permuted(turn, parts, random_key(random_key(self.key, 1), epoch))
                first = part * self.partition
                count = min(self.partition, self.slots - first)
                key = random_key(random_key(random_key(self.key, 2), epoch), part)
                slots = [slot_of[first + permuted(i, count, key)] for i in range(count)]
                steps += [slots[i:i + self.batch] for i in range(0, count, self.batch)]
        return steps

    def share(self, t):
        return self.step * self.decay**t / len(self.steps[t])

    def learn(self, v, nodes):
        """End of a run on the present rows, its largest norm, and the filled slots of each step."""
        filled = np.flatnonzero(nodes != EMPTY)
        v.check("filled slots", len(filled), len(v.rows))
        if len(filled) != len(v.rows):
            return None
        row_of = np.full(self.slots, -1)
        row_of[filled] = np.arange(len(filled))
        weights, norm, counts = np.zeros_like(v.published), 0.0, []
        for t, slots in enumerate(self.steps):
            rows = row_of[slots]
            rows = rows[rows >= 0]
            gradient = v.rows[rows].T @ slopes(v.rows[rows] @ weights, v.labels[rows], self.head)
            weights = weights - self.share(t) * (gradient + self.lam * len(rows) * weights)
            norm = max(norm, np.linalg.norm(weights))
            counts.append(len(rows))
        return weights, norm, counts

    def slots_of(self, record):
        if self.group == 1:
            return [permuted(int(record), self.slots, random_key(self.key, 0))]
        return range(int(record) * self.group, min(self.slots, (int(record) + 1) * self.group))

    def visited(self, arrays):
        """Of every slot of a removed record that was filled: what bounds its gradients, epoch by epoch."""
        found, per = {}, self.group * self.epochs
        for i, record in enumerate(arrays["removed"]):
            visits = arrays["visits"][i * per:(i + 1) * per].reshape(self.group, self.epochs)
            found |= {slot: norms for slot, norms in zip(self.slots_of(record), visits) if norms[0] >= 0}
        return found

    def filled(self, arrays):
        """Filled slots of each step when the run was learnt: those of now and of the removed records."""
        there = set(np.flatnonzero(arrays["nodes"] != EMPTY)) | set(self.visited(arrays))
        return [sum(slot in there for slot in slots) for slots in self.steps]

    def distance(self, numbers, arrays, filled):
        """E* of Lemma 12 with the rounding of Lemma 13, or the bound of the one record where that is smaller."""
        gone, norm, lam, curvature = self.visited(arrays), self.norm, self.lam, CURVATURE[self.head]
        n = gamma(self.features + self.batch + self.classes + 64) * math.sqrt(self.features * self.classes)
        at_zero = math.sqrt(2) if self.head == "softmax" else math.sqrt(self.classes)
        size = distance = 0.0
        per_epoch = len(self.steps) // self.epochs
        for t, slots in enumerate(self.steps):
            norms = [gone[slot][t // per_epoch] for slot in slots if slot in gone]
            rows, m, share = filled[t], len(norms), self.share(t)
            k = rows - m
            rho = max(1 - share * k * lam, share * (rows * lam + curvature * rows * norm**2) - 1)
            missed = k * norm * min(THIRD[self.head] / 2 * (norm * size)**2, curvature * norm * size)
            missed += m * (curvature * norm**2 + lam) * size
            reach = numbers["largest_norm"] + size + distance
            rounding = 8 * n * ((1 + share * rows * (lam + curvature * norm**2)) * reach + share * rows * norm * at_zero)
            distance = rho * distance + share * missed + rounding
            size = rho * size + share * sum(norms)
        return min(distance, numbers.get("single_bound", math.inf)) if len(arrays["removed"]) == 1 else distance

"""tools/audit/certificate_slots.py - T2 and T4 of algorithms/privacy/THEOREMS.md: projected SGD over slots, with noise at every step or on
the last iterate. Part of verify_certificate.py."""
import math

import numpy as np

from certificate_numerics import SURE_DEVIATIONS, UNIT_ROUNDOFF, delta_of, epsilon_of, gamma, noise_factors, permuted, sigma_of, slopes

EMPTY = 2**32 - 1
SHARES = (0.05, 0.1, 0.2, 0.5)  # f of T4
CURVATURE = {"logistic": 0.25, "least-squares": 1, "softmax": 0.5}


def run_of(v, slots, full):
    """The public constants of a run: those given, else the program's choice from public numbers."""
    given, classes = v.model["options"]["parameters"], v.classes
    loss_at_zero = {"logistic": classes * math.log(2), "least-squares": classes / 2,
                    "softmax": math.log(max(1, classes))}[v.head]
    radius = given.get("radius", math.sqrt(2 * loss_at_zero / v.lam))
    batch = 32
    while slots // batch > 1024:
        batch *= 2
    if full or slots <= 32:
        batch = max(1, slots)
    batch = int(given.get("batch-rows", batch))
    return Run(v, radius, max(1, -(-slots // batch)), batch, int(given.get("order-key", 1)),
               given.get("step-size", 1 / (CURVATURE[v.head] * v.norm**2 + v.lam)))


class Run:
    """N batches of b slots, c = 1 - eta lambda."""

    def __init__(self, v, radius, batches, batch, key, step):
        self.lam, self.head, self.radius, self.batches, self.batch = v.lam, v.head, radius, batches, batch
        self.key, self.step, self.curvature, self.norm = key, step, CURVATURE[v.head], v.norm
        slope = {"logistic": math.sqrt(v.classes), "least-squares": v.norm * radius + math.sqrt(v.classes),
                 "softmax": math.sqrt(2)}[v.head]
        self.slope = v.norm * slope  # G, of a row's gradient
        smoothness = self.curvature * v.norm**2 + v.lam
        self.log_c = math.log1p(-step * v.lam)
        v.within("step_size", step, 0, 1 / smoothness)
        self.terms = {"step_size": step, "radius": radius, "gradient_bound": self.slope, "order_key": key,
                      "smoothness": smoothness, "strong_convexity": v.lam, "batch_rows": batch,
                      "batches": batches}

    def power(self, epochs):
        return math.exp(epochs * self.batches * self.log_c)

    def batch_of(self, slot):
        return permuted(int(slot), self.batches * self.batch, self.key) // self.batch

    def shift(self, weights):
        """What an epoch adds to the distance, given the weight of every slot."""
        sums = np.zeros(self.batches)
        for slot in np.flatnonzero(weights):
            sums[self.batch_of(slot)] += weights[slot]
        later = np.arange(self.batches)[::-1]
        return self.step / self.batch * float(sums @ np.exp(later * self.log_c))

    def learn(self, v, nodes, epochs):
        """From 0 on the present rows, without noise; none where rows and filled slots differ."""
        filled = np.flatnonzero(nodes != EMPTY)
        v.check("filled slots", len(filled), len(v.rows))
        if len(filled) != len(v.rows):
            return None
        batch_of = np.array([self.batch_of(slot) for slot in filled])
        members = [np.flatnonzero(batch_of == j) for j in range(self.batches)]
        weights = np.zeros_like(v.published)
        for _ in range(epochs):
            for rows in members:
                gradient = v.rows[rows].T @ slopes(v.rows[rows] @ weights, v.labels[rows], self.head)
                weights = (1 - self.step * self.lam) * weights - self.step / self.batch * gradient
                weights *= min(1, self.radius / max(np.linalg.norm(weights), 1e-300))
        return weights

    def check_change(self, v):
        """The weights of what the newest batch changed: from the rows before it, where they are given."""
        removed = v.terms["removed_weight"] / self.slope
        v.near("removed_weight in rows", removed, round(removed), 1e-9)
        if v.before is None:
            return
        gone, moved = v.change()
        v.check("rows removed, by removed_weight", round(removed), gone)
        v.near("moved_weight", v.terms["moved_weight"], float(np.sum(self.moved_weights(moved))))

    def moved_weights(self, distances):
        return np.minimum(2 * self.slope, (self.slope / self.norm + self.curvature * self.norm * self.radius) * distances)


# T2: noise at every step.


def check_noisy_steps(v):
    state, places = v.numbers, v.named["slots"]
    terms, given = v.terms, v.model["options"]["parameters"]
    slots = int(state["slots"])
    run = run_of(v, slots, v.model["solver"] == "langevin-full")
    account = NoisySgd(run, given.get("sigma", 0.1 * math.sqrt(v.lam)), v.delta)
    # Where the account covers no request, each runs as many epochs as any start needs.
    anywhere = bool(state["adaptive_requests"] or state["lazy_rows"])
    learning = int(given["epochs"]) if "epochs" in given else max(
        2 * account.fewest(v.epsilon, 2 * run.radius, None), math.ceil(math.log(1e-3) / (run.batches * run.log_c)))
    found = {"step_size": run.step, "sigma": account.sigma, "radius": run.radius, "order_key": run.key, "slots": slots,
             "batch_rows": run.batch, "epochs": learning}
    for name, value in found.items():
        v.near(f"{name} of the model", state[name], value)
    found = run.terms | {"sigma": account.sigma, "slots": slots, "learning_epochs": learning, "distance": state["distance"]}
    for name, value in found.items():
        v.near(name, terms[name], value)
    retrained = state["last_epochs"] == 0
    epochs = learning if retrained else int(state["last_epochs"])
    v.check("retrained", v.certificate["retrained"], retrained)
    v.check("epochs", terms["epochs"], epochs)
    v.check("budget", v.certificate["budget"], v.epsilon)
    v.check("delta, reached", v.certificate["delta"]["reached"], v.delta)
    shared = None if anywhere else learning
    reached = 0 if retrained else account.epsilon(state["distance"], epochs, shared)
    v.near("residual_bound", v.certificate["residual_bound"], reached)
    v.within("residual_bound", reached, 0, v.epsilon)
    if not retrained:
        v.check("the fewest epochs", epochs, account.fewest(v.epsilon, state["distance"], shared))
        if anywhere:
            v.check("distance", terms["distance"], 2 * run.radius)
        else:
            v.check("requests", v.certificate["requests"], "non-adaptive")
            v.check("releases", v.certificate["releases"], "this")
    if "own_distance" in terms:
        check_own_distance(v, run, anywhere)
    still = run.learn(v, places, learning)
    if still is None:
        return
    # A run with noise and one without stand within s sqrt(d / (1 - c^2)) and 6.6 deviations, but for e^-21.5.
    spread = math.sqrt(2 * run.step / -math.expm1(2 * run.log_c)) * account.sigma
    most = spread * (math.sqrt(still.size) + SURE_DEVIATIONS) + 1e-9 * run.radius
    if not retrained:
        most += run.power(epochs) * terms["distance"] + run.power(learning) * 2 * run.radius
    # Nor nearer than the noise of one step leaves it (Anderson's inequality).
    step = math.sqrt(2 * run.step) * account.sigma
    least = step * math.sqrt(still.size * noise_factors(still.size)[0])
    v.within("the distance of the published weights from a run without noise", np.linalg.norm(v.published - still), least,
             most)
    check_unseen(v, run, step, run.batches * (learning if retrained else epochs))
    v.within("the norm of the weights", np.linalg.norm(v.published), 0, run.radius * (1 + 1e-12))


def check_unseen(v, run, step, steps):
    """In directions in which no present row points a step is W <- c W + s xi: a Gaussian of known variance is left there, around a
    point that nobody knows, and no nearer to any point than to that one (Anderson)."""
    if len(v.rows) == 0:
        seen = np.zeros((v.features, 0))
    else:
        left, sizes, _ = np.linalg.svd(v.rows.T, full_matrices=False)
        seen = left[:, sizes > 1e-9 * sizes[0]]
    count = (v.features - seen.shape[1]) * v.classes
    if count == 0 or np.linalg.norm(v.published) > run.radius / 2:
        return
    unseen = v.published - seen @ (seen.T @ v.published)
    variance = step**2 * math.expm1(2 * steps * run.log_c) / math.expm1(2 * run.log_c)
    least = math.sqrt(count * variance * noise_factors(count)[0])
    v.within("the part of the published weights that no row sees", np.linalg.norm(unseen), least, math.inf)


def check_own_distance(v, run, anywhere):
    """Between what its weights give in the first and in the last batch; and the account goes on from the release before."""
    terms = v.terms
    run.check_change(v)
    weight = terms["removed_weight"] + terms["moved_weight"]
    most = run.step / run.batch * weight / -math.expm1(run.batches * run.log_c)
    least = most * math.exp((run.batches - 1) * run.log_c)
    v.within("own_distance", terms["own_distance"], min(2 * run.radius, least) * (1 - 1e-9), most * (1 + 3e-9))
    if v.certificate["retrained"] or anywhere:
        return
    v.check("the release before", v.previous["release"] if v.previous else None, v.certificate["release"] - 1)
    left = 0
    if v.previous and not v.previous["retrained"]:
        left = run.power(v.previous["terms"]["epochs"]) * v.previous["terms"]["distance"]
    v.near("distance", terms["distance"], min(2 * run.radius, left + terms["own_distance"]))


class NoisySgd:
    """The account of T2, with g(k) = c^2k (1 - c^2) / (1 - c^2k)."""

    def __init__(self, run, sigma, delta):
        self.run, self.sigma, self.delta = run, sigma, delta

    def epsilon(self, distance, epochs, learning):
        run = self.run
        if learning is not None:
            distance += 2 * run.radius * run.power(learning - epochs)
        decay = math.expm1(2 * run.log_c) / math.expm1(2 * epochs * run.batches * run.log_c)
        nu = min(2 * run.radius, distance) * run.power(epochs) * math.sqrt(decay / (2 * run.step)) / self.sigma
        return epsilon_of(nu, self.delta)

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


# T4: noise on the last iterate.


def check_last_iterate(v):
    numbers, arrays, terms, given = v.numbers, v.named, v.terms, v.model["options"]["parameters"]
    slots, sampling = int(numbers["slots"]), given.get("sampling", 0)
    run = run_of(v, slots, False)
    v.check("bound", v.model["options"]["bound"], "corrected")
    distance = given.get("sigma", 0.01) / sigma_of(1, v.epsilon, v.delta)
    v.near("distance", terms["distance"], distance)
    noise = v.check_output_noise(distance, sampling == 0)
    learning = int(given.get("epochs", numbers["epochs"]))
    found = {"slots": slots, "batch_rows": run.batch, "epochs": learning, "step_size": run.step, "radius": run.radius,
             "order_key": run.key, "sampling": sampling, "sigma": given.get("sigma", 0.01),
             "capacity": given.get("capacity", 0.1), "retention": given.get("retention", 1.5)}
    for name, value in found.items():
        v.near(f"{name} of the model", numbers[name], value)
    account = LastIterate(v, run, learning, sampling, noise)
    found = run.terms | {"learning_epochs": learning, "rounding": account.rounding, "slots": slots, "sampling": sampling,
                         "iterates": len(arrays["kept"])}
    found |= {name: numbers[name] for name in ("capacity", "retention")}
    for name, value in found.items():
        v.near(name, terms[name], value)
    epochs = int(numbers["last_epochs"])
    retrained = epochs == 0
    v.check("retrained", v.certificate["retrained"], retrained)
    v.check("epochs", terms["epochs"], epochs or learning)
    v.within("epochs", epochs, 0, learning - 1)
    v.near("budget", v.certificate["budget"], distance)
    v.check("lazy rows", numbers["lazy_rows"], 0)
    if sampling != 0:
        v.check("adaptive requests", numbers["adaptive_requests"], 0)
    weights, empty = arrays["weights"], arrays["slots"] == EMPTY
    v.within("the weights of filled slots", weights[~empty].max(initial=0), 0, 2 * run.slope)
    v.within("the weights of empty slots", np.minimum(weights[empty], abs(weights[empty] - run.slope)).max(initial=0), 0,
             1e-9 * run.slope)
    if "removed_weight" in terms:
        run.check_change(v)
    reached = 0
    if not retrained:
        reached = account.residual(weights, epochs)
        v.near("distance_bound", terms["distance_bound"], account.distance(weights, epochs), 3e-9)
        v.within("rows removed, by removed_weight", terms["removed_weight"], 0, weights[empty].sum() * (1 + 1e-9))
        if not given.get("capacity") == 0:
            check_fewest(v, account, weights, epochs)
        if v.before is not None:
            moved = run.moved_weights(v.change()[1])
            v.within("what the moved rows weigh less than by the account", (moved - weights[~empty]).max(initial=0), -np.inf,
                     1e-9 * run.slope)
    v.near("residual_bound", v.certificate["residual_bound"], reached, 3e-9 if sampling == 0 else 1e-5)
    v.within("residual_bound", reached, 0, distance * (1 + 1e-9))
    still = run.learn(v, arrays["slots"], learning) if sampling == 0 else None
    if still is not None:
        v.check_spread("a run without noise", still, reached + account.rounding, noise)


def check_fewest(v, account, weights, epochs):
    """No smaller K would do: of those whose iterates are kept for `rewind`."""
    smaller = [epochs - 1] if account.descend else [int(k) for k in v.named["kept"] if k < epochs]
    if not account.descend:
        v.check("the iterate of these epochs is kept", epochs in v.named["kept"], True)
    if smaller and smaller[-1] > 0:
        v.within("the residual bound of fewer epochs", account.residual(weights, smaller[-1]),
                 v.certificate["budget"] * (1 - 1e-9), math.inf)


class LastIterate:
    """The account of T4."""

    def __init__(self, v, run, learning, sampling, noise):
        self.run, self.learning, self.sampling, self.noise = run, learning, sampling, noise
        self.descend = v.model["solver"] == "descend"
        self.budget, self.epsilon, self.delta = v.terms["distance"], v.epsilon * (1 - 1e-12), v.delta * (1 - 1e-9)
        features, classes, radius, slope = v.features, v.classes, run.radius, run.slope
        row = (16 + classes) * UNIT_ROUNDOFF * slope + gamma(run.batch + 128) * slope
        row += run.curvature * (gamma(features + 1) + gamma(math.sqrt(classes))) * run.norm**2 * radius
        step = 2 * (run.step * row + (gamma(5) + gamma(features * classes + 4)) * (radius + run.step * slope))
        self.rounding = 2 * step / (run.step * run.lam)
        travel = min(radius, slope / run.lam * (1 - run.power(learning)))
        self.start = run.power(learning) * travel if self.descend else 0

    def distance(self, weights, epochs):
        """Z(K), or for drawn batches its mean."""
        run, left = self.run, self.learning - epochs
        if self.sampling == 0:
            apart = run.shift(weights) * math.expm1(left * run.batches * run.log_c) / math.expm1(run.batches * run.log_c)
            apart = run.power(epochs) * min(2 * run.radius, apart)
        else:
            apart = min(2 * run.radius, run.step * self.share(weights) * 2 * run.slope * self.powers(epochs).sum())
        return apart + self.start + self.rounding

    def residual(self, weights, epochs):
        """At most the budget where K suffices."""
        if self.sampling == 0:
            return self.distance(weights, epochs)
        rest = self.start + self.rounding + self.noise["sensitivity"] - self.budget
        if self.sampling == 2:
            apart = self.run.step * self.share(weights) * 2 * self.run.slope * self.powers(epochs).sum()
            sigma = largest(lambda s: delta_of(s, 1, self.epsilon) / s, 1e-6, 1e6) * (apart + rest) / self.delta
        else:
            def with_share(share):
                shift = self.tail(weights, epochs, share * self.delta) + rest
                return -sigma_of(1, self.epsilon, (1 - share) * self.delta) * shift
            sigma = -max(map(with_share, SHARES))
        return self.budget * sigma / self.noise["smoothed"]

    def share(self, weights):
        """p of Lemma R4."""
        return weights.sum() / (2 * self.run.slope * self.run.batches * self.run.batch)

    def powers(self, epochs):
        run = self.run
        return np.exp(np.arange(epochs * run.batches, self.learning * run.batches) * run.log_c)

    def tail(self, weights, epochs, failure):
        run, p = self.run, self.share(weights)
        unit = 2 * run.slope * run.step / run.batch * self.powers(epochs)
        exponent = lambda x: run.batch * np.log1p(p * np.expm1(np.minimum(700, x * unit))).sum()
        return -largest(lambda x: -(exponent(x) - math.log(failure)) / x, 1e-6 / unit[0], 700 / unit[0])


def largest(value, low, high):
    """Maximum of a function with one peak over logarithms, by golden section."""
    low, high, ratio = math.log(low), math.log(high), (math.sqrt(5) - 1) / 2
    for _ in range(80):
        left, right = high - ratio * (high - low), low + ratio * (high - low)
        low, high = (low, right) if value(math.exp(left)) >= value(math.exp(right)) else (left, high)
    return value(math.exp((low + high) / 2))

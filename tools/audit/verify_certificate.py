#!/usr/bin/env python3
"""tools/audit/verify_certificate.py - the newest certificate of a model, computed again by code of its own.

    unweave export STORE --labels labels.npy --train train.npy
    unweave export STORE --rows rows.npy --name SOLVER
    tools/audit/verify_certificate.py STORE SOLVER --rows rows.npy --labels labels.npy --train train.npy

Shares nothing with the program: reads models/SOLVER.model, certificates/SOLVER.jsonl, its private parts and, of `exact` and `replay`, SOLVER.release
(storage/FORMAT.md) and knows the theorems T0, T0' and T1 to T4 of algorithms/privacy/THEOREMS.md. The whole log must be one signed chain
(certificate_trail.py). From lambda, tau, n, C, F, epsilon and delta follow noise, distances and accounts;
from the rows, whose program rows.py checks, a minimiser or a run, from which the published weights must stand where the noise puts them. What the newest batch
removed and moved is weighed again where --before-rows and --before-train give the same exports of a copy from before it; and weights of
T1 must not lean towards what was learnt on those rows. Labels of nodes that are no longer there come from --before-labels. Prints
what is false, a line each, and exits 1; 0 where all holds; 2 where something cannot be read or nothing is certified. Ids must
lie in the store's order (`--order none`). Python 3.9 and NumPy.
"""
import argparse
import math
import pathlib
import re
import struct
import sys

import numpy as np

import certificate_network
import certificate_slots
import certificate_trail
import certificate_vectors
from certificate_numerics import SURE_DEVIATIONS, delta_of, form_rows, gradient_of, minimise, noise_factors, sigma_of
from certificate_rounding import Undecided, rounded_minimiser


class Verifier:
    """model, arrays: read_model(); line, private_part: of the certificate; rows, labels: of the training nodes `train`;
    before: rows, nodes and their labels before the newest batch, or none; previous: the whole certificate before, or none. run() returns
    what is false."""

    def __init__(self, model, arrays, line, private_part, rows, labels, train=(), before=None, previous=None):
        self.model, self.arrays, self.line, self.private_part = model, arrays, line, private_part
        self.certificate = certificate = certificate_trail.merge(line, private_part)
        self.labels, self.train, self.previous, self.false = labels, train, previous, []
        options = model["options"]
        self.head, self.lam, self.tau = options["head"], options["lambda"], options["tau"]
        self.epsilon, self.delta = options["epsilon"], options["delta"]
        self.features, self.classes = model["features"], model["classes"]
        self.hidden = options.get("hidden", [])
        self.published = arrays[0] if self.hidden else arrays[0].reshape(self.features, self.classes)
        form = model["clip"], options["intercept"]
        self.norm = math.hypot(model["clip"], 1) if options["intercept"] else model["clip"]  # X: no row is longer
        self.rows = form_rows(rows, *form)
        self.before = before and (form_rows(before[0], *form), *before[1:])
        self.terms, self.numbers = certificate["terms"], model["state"]["numbers"]
        names = model["state"]["arrays"]
        self.named = dict(zip(names, arrays[len(arrays) - len(names):]))

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
        elif theorem == "T0":
            self.check_rounded_weights()
        elif theorem == "T0'":
            certificate_network.check_trained_weights(self)
        elif theorem == "T1":
            self.check_finished_weights()
        elif theorem == "T2":
            certificate_slots.check_noisy_steps(self)
        elif theorem == "T3":
            certificate_vectors.check_vectors(self)
        elif theorem == "T4":
            certificate_slots.check_last_iterate(self)
        else:
            self.false.append(f"{theorem} is no theorem")
        self.false += certificate_trail.composed_problems(self.certificate)
        return self.false

    def change(self):
        """Of the newest batch: how many rows left, and how far each row that is there has moved."""
        rows, train, _ = self.before
        place = {node: i for i, node in enumerate(train)}
        old = np.array([rows[place[node]] for node in self.train]).reshape(self.rows.shape)
        return len(train) - len(self.train), np.linalg.norm(self.rows - old, axis=1)

    def check_digest(self):
        problem = certificate_trail.sealed_problem(self.line)
        if problem:
            self.false.append(problem)
        self.check("the commitment to the private part", self.certificate["commitment"],
                   certificate_trail.blake(self.private_part.encode()).hex())
        if "weights_digest" in self.certificate:  # not in older lines
            self.check("the digest of the weights", self.certificate["weights_digest"],
                       certificate_trail.blake(self.arrays[0].tobytes(), bytes.fromhex(self.model["release_key"])).hex())
        self.check("the certificate in the model file", self.model["certificate"], self.line)
        self.check("the private part in the model file", self.model["private_part"], self.private_part)

    def check_constants(self):
        said, model, options = self.certificate, self.model, self.model["options"]
        self.check("sequence", said["sequence"], model["sequence"])
        self.check("solver and name", certificate_trail.whose(said), certificate_trail.whose(model))
        self.check("release", said["release"], model["releases"])
        self.check("id", said["id"].rsplit("-", 1)[0], f"{certificate_trail.whose(model)[1]}-{model['releases']}")
        self.check("epsilon", said["epsilon"], self.epsilon)
        self.check("delta, target", said["delta"]["target"], self.delta)
        found = {name: options[name] for name in ("lambda", "tau", "alpha", "bound", "head", "intercept")}
        found |= {name: model[name] for name in ("clip", "features", "classes", "weights")}
        found |= {name: model["propagation"][name] for name in ("levels", "rho", "scale_bits", "all_rows")}
        found["training_rows"] = model["trained_rows"]
        if self.hidden:
            found |= {"head": "mlp", "hidden": self.hidden, "activation": options["activation"]}
        if "rows" in model:  # more than weighted sums of levels; tools/audit/rows.py forms them again
            found["row_program"] = model["rows"]
        self.check("the names of the constants", sorted(said["constants"]), sorted(found))
        for name, value in found.items():
            self.check(name, said["constants"][name]["value"], value)
        self.check("rows", said.get("rows"), model["propagation"].get("rows"))
        if "delta_target" in said:
            self.check("delta_target", said["delta_target"], self.delta)
        if "parameters" in said:  # not in older lines
            self.check("parameters", said["parameters"], options["parameters"])
        self.check("where lambda was chosen", said["constants"]["lambda"]["chosen"], options["lambda_chosen"])
        chosen = options.get("weights_chosen", "propagation")
        self.check("where the weights were chosen", said["constants"]["weights"]["chosen"], chosen)
        if "rows" in model:
            self.check("where the program was chosen", said["constants"]["row_program"]["chosen"],
                       chosen if chosen.startswith("validation of rows") else "given")
        self.check("certified by noise from a seed", said["for_tests"] and said["certified"], False)

    def check_output_noise(self, distance, sure):
        """Discrete Gaussian noise on a grid that covers this distance; `sure`: delta is what this noise leaves."""
        terms, count = self.terms, self.published.size
        wanted = self.epsilon * (1 - 1e-12), self.delta * (1 - 1e-9)
        grid = 2.0 ** (math.floor(math.log2(sigma_of(distance, *wanted))) - 23)
        sensitivity = distance + grid * math.sqrt(count)
        sigma = sigma_of(sensitivity, *wanted)
        self.near("sensitivity", terms["sensitivity"], sensitivity)
        self.near("sigma", terms["sigma"], sigma)
        self.check("grid", terms["grid"], grid)
        variance = (terms["sigma"] / grid) ** 2
        self.near("the variance in grid steps", variance, round(variance), 1e-13)
        smoothed = math.sqrt(sigma**2 - 9 * grid**2)
        reached = delta_of(sensitivity, smoothed, self.epsilon) if sure else self.delta
        self.near("delta, reached", self.certificate["delta"]["reached"], reached, 1e-7)
        self.within("delta, reached", self.certificate["delta"]["reached"], 0, self.delta)
        steps = self.published / grid
        if not np.array_equal(steps, np.rint(steps)):
            self.false.append("published weights lie off the grid")
        return {"grid": grid, "sigma": sigma, "sensitivity": sensitivity, "smoothed": smoothed}

    def check_spread(self, name, center, distance, noise):
        """The published weights are within `distance` of the center, and the noise, but for 2 e^-21.5."""
        count = self.published.size
        shift = distance + noise["grid"] * math.sqrt(count) / 2 + 2e-15 * np.abs(self.published).sum()
        low, high = (math.sqrt(factor * count) * noise["sigma"] for factor in noise_factors(count))
        self.within(f"the distance of the published weights from {name}", np.linalg.norm(self.published - center),
                    low - shift, high + shift)

    def check_rounded_weights(self):
        """T0: every weight is decided here again, by whole numbers, and must be the one that was published."""
        mu, grid = self.lam * max(1, len(self.rows)), self.terms["grid"]
        bits = int(self.model["options"]["parameters"].get("grid", 24))
        self.check("mu", self.terms["mu"], mu)
        self.check("grid", grid, 2.0**-bits)
        self.check("releases", self.certificate["releases"], "all-later")
        self.check("delta, reached", self.certificate["delta"]["reached"], 0)
        self.check("residual_bound", self.certificate["residual_bound"], 0)
        steps = self.published / grid
        if not np.array_equal(steps, np.rint(steps)):
            self.false.append("published weights lie off the grid")
            return
        try:
            whole = rounded_minimiser(self.rows, self.labels, self.head, mu, self.published, bits)
        except Undecided as undecided:
            self.false.append(str(undecided))
            return
        differ = int((whole != steps).sum())
        if differ:
            self.false.append(f"{differ} of {steps.size} published weights are not those nearest to the minimiser")

    def check_finished_weights(self):
        """T1."""
        terms = self.terms
        mu = self.lam * max(1, len(self.rows))
        self.near("mu", terms["mu"], mu)
        self.near("distance", terms["distance"], self.tau / mu)
        noise = self.check_output_noise(self.tau / mu, True)
        self.check("budget", self.certificate["budget"], self.tau)
        bound = self.certificate["residual_bound"]
        self.within("residual_bound", bound, 0, self.tau)
        self.near("residual_bound", bound, terms["residual"] + terms["float_error"] + terms["approximation"])
        for name in ("residual", "float_error", "approximation"):
            self.within(name, terms[name], 0, bound)
        if "public_state" in terms:
            self.check("public_state", terms["public_state"], self.model["options"]["parameters"].get("public-state", 0))
        if "damping" in terms:
            self.check("damping", terms["damping"], self.model["options"]["parameters"].get("damping", 0))
        kept = self.named.get("clean", self.named.get("iterate"))  # of the solvers that keep what they finished
        if kept is not None:
            residual = np.linalg.norm(gradient_of(self.rows, self.labels, self.head, mu, kept.reshape(self.published.shape)))
            self.within("residual", terms["residual"], residual - terms["float_error"], residual + terms["float_error"])
        # Less may be said: after a threshold that left no residue, and of an order of nodes that follows the graph.
        if self.certificate["releases"] != "this":
            later = terms.get("public_state", "clean" not in self.named) and terms["approximation"] == 0
            self.check("releases", self.certificate["releases"], "all-later" if later else "this")
        best, residual = minimise(self.rows, self.labels, self.head, mu, self.classes)
        self.check_spread("the minimiser", best, (bound + residual) / mu, noise)
        if self.before is not None:
            self.check_lean(best, (bound + residual) / mu, noise)

    def check_lean(self, best, distance, noise):
        """Weights that were not unlearnt lean towards the minimiser of the rows before, by less than the norm of the noise hides. In
        this one direction the noise is a number of deviation sigma."""
        rows, _, labels = self.before
        if labels.min(initial=0) < 0:
            raise ValueError("a node from before has no label any more: give --before-labels")
        then, _ = minimise(rows, labels, self.head, self.lam * max(1, len(rows)), self.classes)
        direction = then - best
        length = np.linalg.norm(direction)
        if length > 0:
            lean = float((self.published - best).ravel() @ direction.ravel()) / length
            most = SURE_DEVIATIONS * noise["sigma"] + distance + noise["grid"] * math.sqrt(direction.size) / 2
            self.within("how far the published weights lean towards the minimiser of the rows before", lean, -most, most)


def read_file(path):
    """The text as it stands in the file, and the arrays."""
    data = path.read_bytes()
    magic, _, count, text_bytes, length = struct.unpack_from("<8sIIQQ", data)
    if magic != b"UNWVMODL" or length != len(data):
        raise ValueError(f"{path} is no model")
    at = 48 + 8 * count
    lengths = struct.unpack_from(f"<{count}Q", data, 48)
    text = data[at:at + text_bytes]
    at += -(-text_bytes // 8) * 8
    arrays = []
    for values in lengths:
        arrays.append(np.frombuffer(data, "<f8", values, at))
        at += 8 * values
    return text, arrays


def file_of_model(store, folder, name, extension):
    """A file of a model; the name of a model is no path."""
    if not re.fullmatch("[A-Za-z0-9_][A-Za-z0-9_-]{0,63}", name):
        raise ValueError(f"{name!r} cannot be the name of a model")
    return store / folder / (name + extension)


def read_model(store, solver):
    """The text, and the arrays. The file of a model of `exact` holds nothing of its history: certificates/SOLVER.release has it, of
    this file or of the one before."""
    raw, arrays = read_file(file_of_model(store, "models", solver, ".model"))
    text = certificate_trail.read_json(raw)
    if text.get("text", 1) < 3:
        return text, arrays
    digest = certificate_trail.blake(raw)
    for array in arrays:
        digest = certificate_trail.blake(array.tobytes(), digest)
    said = certificate_trail.read_json(read_file(file_of_model(store, "certificates", solver, ".release"))[0])
    for history in (said, said.get("before", {})):
        if history.get("model") == digest.hex():
            chosen = {name: history[name] for name in ("lambda_chosen", "weights_chosen") if name in history}
            options = {**text["options"], **chosen}
            return {**text, **history, "options": options}, arrays
    raise ValueError(f"{solver}: the model has no certificate")


def read_trail(store, solver):
    """The public lines and the private parts."""
    return [certificate_trail.read_lines(file_of_model(store, "certificates", solver, kind)) for kind in (".jsonl", ".private.jsonl")]


def verify(store, solver, rows, labels, train, before=None):
    """What is false; before: rows, nodes and the nodes' labels. Raises ValueError where there is nothing to check."""
    model, arrays = read_model(store, solver)
    lines, parts = read_trail(store, solver)
    previous = certificate_trail.merge(lines[-2], parts[-2]) if len(parts) > 1 else None
    verifier = Verifier(model, arrays, lines[-1], parts[-1], rows, labels[train], train, before, previous)
    if not verifier.certificate["certified"]:
        raise ValueError(f"{solver}: nothing is certified")
    return certificate_trail.check_log(lines) + verifier.run()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("store", type=pathlib.Path)
    parser.add_argument("solver")
    for name in ("rows", "labels", "train"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--before-rows")
    parser.add_argument("--before-train")
    parser.add_argument("--before-labels")
    given = parser.parse_args()
    if (given.before_rows is None) != (given.before_train is None):
        parser.error("--before-rows and --before-train go together")
    if given.before_labels and not given.before_rows:
        parser.error("--before-labels needs --before-rows")

    def check():
        inputs = [np.load(getattr(given, name)) for name in ("rows", "labels", "train")]
        before = None
        if given.before_rows:
            nodes = np.load(given.before_train)
            before = np.load(given.before_rows), nodes, np.load(given.before_labels or given.labels)[nodes]
        return verify(given.store, given.solver, *inputs, before)

    return certificate_trail.report("verify_certificate", check)


if __name__ == "__main__":
    sys.exit(main())
